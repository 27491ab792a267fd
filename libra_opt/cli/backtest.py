"""`libra-opt backtest`: how well the forecast predicts recorded, generated or a user's own series."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

import numpy as np

from libra_opt.adapters import phase_switching, series_csv
from libra_opt.adapters.files import STANDARD_STREAM, check_writable, write_whole
from libra_opt.backtest import SetResult, Settings, backtest, document
from libra_opt.cli.backtest_table import show_backtest
from libra_opt.cli.documents import deliver, each
from libra_opt.cli.parser import GENERATED, RECORDED
from libra_opt.cli.terminal import Exit, message
from libra_opt.cli.traces import read_document, read_parts
from libra_opt.errors import Fault, InputError, MissingExtraError
from libra_opt.forecast.quantiles import METHODS
from libra_opt.forecast.statistical import STATISTICAL
from libra_opt.recordings import Recording

__all__ = ["run"]

_LIMITS: Final = {"horizon": (1, 1_000), "window": (2, 10_000), "origins": (1, 10_000), "seed": (0, 2**63 - 1)}
_PLOTS: Final = (".png", ".svg", ".pdf")


def run(arguments: argparse.Namespace) -> int:
    """Read everything, score everything, then write: the table, the JSON document, the plot."""
    settings, sets = _asked(arguments)
    for target in filter(None, (arguments.json, arguments.plot)):
        if target != STANDARD_STREAM:
            check_writable(Path(target))
    if arguments.plot is not None:
        _require_matplotlib()
    found = backtest(_recordings(arguments, sets), settings, message)
    if not any(resource.labels for one in found.sets for resource in one.resources):
        each(_refuse, found.sets)
    show_backtest(found, sys.stderr if arguments.json == STANDARD_STREAM else sys.stdout)
    if arguments.json is not None:
        deliver(json.dumps(document(found), indent=1, allow_nan=False), arguments.json)
    if arguments.plot is not None:
        from libra_opt.cli.backtest_plot import draw  # noqa: PLC0415 - matplotlib is heavy and an extra

        target = Path(arguments.plot)
        write_whole({target: draw(found, target.suffix.removeprefix("."))})
        message(f"plot written to {target}")
    return Exit.DONE


def _refuse(one: SetResult) -> None:
    n_flat, n_short = (sum(getattr(resource, name) for resource in one.resources) for name in ("constant", "short"))
    told = f"{n_flat} without two different values, {n_short} without a value to predict in the second half"
    raise InputError(one.recording.name, (Fault("", f"holds nothing that can be scored ({told}); give at least one series that changes"),))


def _asked(arguments: argparse.Namespace) -> tuple[Settings, tuple[str, ...] | None]:
    """Return how to test, and which sets were named; raises `InputError` with everything that is wrong on the command line."""
    faults: list[Fault] = []
    methods = _names("--methods", arguments.methods, (*METHODS, *STATISTICAL), faults) or METHODS
    sets = _names("--sets", arguments.sets, (*RECORDED, *GENERATED), faults)
    for name, (least, most) in _LIMITS.items():
        value = getattr(arguments, name)
        if not least <= value <= most:
            faults.append(Fault(f"--{name}", f"{value} is not from {least} to {most:,}"))
    if arguments.plot is not None and Path(arguments.plot).suffix not in _PLOTS:
        faults.append(Fault("--plot", f"{arguments.plot!r} ends in none of {', '.join(_PLOTS)}; name the file so"))
    if sets and set(sets) & set(RECORDED) and arguments.traces is None:
        faults.append(Fault("--sets", f"{', '.join(sorted(set(sets) & set(RECORDED)))}: recorded sets need --traces DIR"))
    if faults:
        raise InputError("the command line", tuple(faults))
    return Settings(methods, arguments.horizon, arguments.window, arguments.origins), sets


def _names(option: str, given: str | None, known: Sequence[str], faults: list[Fault]) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",")))
    unknown = [name for name in names if name not in known]
    if unknown:
        faults.append(Fault(option, f"{', '.join(map(repr, unknown))}: known are {', '.join(known)}"))
    return names


def _recordings(arguments: argparse.Namespace, sets: tuple[str, ...] | None) -> list[Recording]:
    """Return what to score, in the order files, recorded, generated; raises all faults of all files together."""
    chosen = sets if sets is not None else _all_there(arguments)
    made = each(_own, arguments.files)
    made += each(lambda name: _recorded(Path(arguments.traces), name), [name for name in chosen if name in RECORDED])
    if "phase_switching" in chosen:
        made.append(phase_switching.generate(np.random.default_rng(arguments.seed)))
    return made


def _all_there(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the sets whose directories are there, and say which are not."""
    generated = () if arguments.files else GENERATED
    if arguments.traces is None:
        return generated
    place = Path(arguments.traces)
    if not place.is_dir():
        raise InputError(arguments.traces, (Fault("", "is no directory; give the one that holds a directory per source"),))
    there = tuple(name for name in RECORDED if all((place / pattern).parent.is_dir() for pattern in _patterns(name).values()))
    if not there:
        raise InputError(arguments.traces, (Fault("", f"holds none of the directories of {', '.join(RECORDED)}; give the directory above them"),))
    absent = [name for name in RECORDED if name not in there]
    if absent:
        message(f"not in {place}, so left out: {', '.join(absent)}")
    return (*there, *generated)


def _own(name: str) -> Recording:
    return series_csv.convert(read_document(name))


def _recorded(place: Path, name: str) -> Recording:
    message(f"reading {name}")
    remedy = f"which {name} needs; put it there or leave the set out with --sets"
    documents = read_parts(place, _patterns(name), many=_many(name), remedy=remedy)
    made: Recording = import_module(f"libra_opt.adapters.{name}").convert(documents)
    return made


def _patterns(name: str) -> Mapping[str, str]:
    patterns: Mapping[str, str] = import_module(f"libra_opt.adapters.{name}").PATTERNS
    return patterns


def _many(name: str) -> tuple[str, ...]:
    many: tuple[str, ...] = getattr(import_module(f"libra_opt.adapters.{name}"), "MANY", ())
    return many


def _require_matplotlib() -> None:
    try:
        import_module("matplotlib")
    except ImportError as error:
        raise MissingExtraError("--plot needs matplotlib; install it with: pip install 'libra-opt[plot]'") from error
