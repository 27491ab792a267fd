"""From the command line to the cells of a grid; everything that is wrong with it is found, and named, before anything runs."""

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import Final

from pydantic import ValidationError

from libra_opt.adapters.files import STANDARD_STREAM, read_bytes
from libra_opt.cli.documents import title
from libra_opt.cli.duration import seconds_of
from libra_opt.cli.recorded import RECORDED_WORKLOAD, Recorded, read_traces
from libra_opt.domain import Workload, read_workload
from libra_opt.domain.base import Value
from libra_opt.domain.faults import fault_of
from libra_opt.errors import Fault, InputError
from libra_opt.experiments.cell import Cell
from libra_opt.experiments.run import Task
from libra_opt.simulation.registry import BOUND, POLICIES
from libra_opt.simulation.workloads import WORKLOADS, make

__all__ = ["Grid", "grid_of", "parameters_of", "process_faults", "seeds_of", "tasks_of", "values_of"]

_SEEDS: Final = re.compile(r"(\d+)(?:-(\d+))?")
_LARGEST_SEED: Final = 2**31 - 1
_MOST_CELLS: Final = 1_000_000


Source = Callable[[int, Mapping[str, object]], Workload]


@dataclass(frozen=True, slots=True)
class Grid:
    """What is crossed.

    Attributes
    ----------
    workload
        Name of a kind, or of a document.
    settings
        Parameters of the kind, one mapping per combination.
    source, digest
        Makes the workload of a seed and a setting where no worker can make it from its name, and what it is made from.
    policies, seeds, periods
        Who, which seeds, and which periods in seconds.
    """

    workload: str
    settings: tuple[Mapping[str, object], ...]
    source: Source | None
    digest: str
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    periods: tuple[float, ...]


def process_faults(arguments: argparse.Namespace) -> list[Fault]:
    """Return what is wrong with the rest of the command line that `simulate` and `sweep` share."""
    faults = []
    if arguments.workload is None:
        faults.append(Fault("WORKLOAD", f"is missing; choose one of {', '.join(WORKLOADS)}, name a file, or see --list"))
    if arguments.jobs < 1:
        faults.append(Fault("--jobs", f"{arguments.jobs} processes run nothing; give 1 or more"))
    if arguments.against not in POLICIES:
        faults.append(Fault("--against", f"{arguments.against!r} is no policy; known are {', '.join(POLICIES)}"))
    return faults


def grid_of(arguments: argparse.Namespace, *, is_sweep: bool, faults: Sequence[Fault] = ()) -> Grid:
    """Return the grid that a command line asks for; of several values and periods only for a sweep.

    Parameters
    ----------
    arguments
        What was given.
    is_sweep
        Several values of a parameter, and several periods, may be given.
    faults
        What was found to be wrong already.

    Raises
    ------
    InputError
        With everything that is wrong with it.
    """
    faults = list(faults)
    name = arguments.workload
    source, digest = (None, "") if name is None or name in WORKLOADS else _source(name, arguments.traces, faults)
    values = _parameters(arguments.set or (), faults, is_sweep=is_sweep)
    if name in WORKLOADS or name == RECORDED_WORKLOAD:
        if name in WORKLOADS and arguments.traces is not None:
            faults.append(Fault("--traces", f"is for the workload {RECORDED_WORKLOAD!r}, and {name!r} is generated; leave it out"))
    elif values and name is not None:
        faults.append(Fault("--set", "sets parameters of generated workloads, and this is a document; change it in there"))
    settings = tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
    for setting in settings:
        _check_parameters(name, setting, faults)
    policies = _policies(arguments.policies, faults)
    seeds = seeds_of(arguments.seeds, faults)
    periods = _periods(arguments, faults, is_sweep=is_sweep)
    if len(settings) * len(policies) * len(seeds) * max(1, len(periods)) > _MOST_CELLS:
        faults.append(Fault("", f"asks for more than {_MOST_CELLS:,} cells; ask for fewer"))
    if faults:
        raise InputError("the command line", tuple(dict.fromkeys(faults)))
    if not periods:
        example = make(name, seeds[0], **settings[0]) if source is None else source(seeds[0], settings[0])
        periods = (example.period_seconds,)
    return Grid(title(name), settings, source, digest, policies, seeds, periods)


def tasks_of(grid: Grid, *, timelines: str = "none") -> list[Task]:
    """Return a task for every cell: seeds outermost, so that what is done first can be compared.

    Parameters
    ----------
    grid
        What is crossed.
    timelines
        Of which runs a timeline is kept: ``none``, the ``first`` seed and period of every policy and setting, or ``all``.
    """
    tasks = []
    for seed, setting in product(grid.seeds, grid.settings):
        workload = None if grid.source is None else grid.source(seed, setting)
        for period, policy in product(grid.periods, grid.policies):
            is_first = seed == grid.seeds[0] and period == grid.periods[0]
            keep = policy != BOUND and (timelines == "all" or (timelines == "first" and is_first))
            cell = Cell.model_validate(
                {"workload": grid.workload, "parameters": setting, "digest": grid.digest, "policy": policy, "seed": seed, "period_seconds": period}
            )
            tasks.append(Task(cell, workload, keep))
    return tasks


def parameters_of(kind: str, given: Sequence[str], faults: list[Fault]) -> dict[str, object]:
    """Return the parameters of one workload, each with its one value; what is wrong with them is entered in `faults`."""
    setting = {name: values[0] for name, values in _parameters(given, faults, is_sweep=False).items()}
    _check_parameters(kind, setting, faults)
    return setting


def seeds_of(text: str, faults: list[Fault]) -> tuple[int, ...]:
    """Return the seeds of a list such as ``1-8,11``; what is wrong with it is entered in `faults`."""
    seeds: list[int] = []
    for part in text.split(","):
        found = _SEEDS.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if first > last or last > _LARGEST_SEED or last - first >= _MOST_CELLS:
            faults.append(Fault("--seeds", f"{part!r} is neither a whole number nor a range of them; write such as 1-8 or 1,2,5"))
        else:
            seeds += range(first, last + 1)
    return tuple(dict.fromkeys(seeds))


def values_of(text: str) -> list[object]:
    """Return the values of a parameter: a JSON value, or several of them between commas; what is no JSON is text.

    Examples
    --------
    >>> values_of("0.9,1.2"), values_of("firm"), values_of("[1, 2]")
    ([0.9, 1.2], ['firm'], [[1, 2]])
    """
    try:
        return [json.loads(text)]
    except ValueError:
        return [_value(part.strip()) for part in text.split(",")]


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _source(name: str, traces: str | None, faults: list[Fault]) -> tuple[Source | None, str]:
    """Return where a workload that is no generated kind comes from, and the digest of that."""
    if name == RECORDED_WORKLOAD:
        if traces is None:
            faults.append(Fault("--traces", f"is missing; {RECORDED_WORKLOAD!r} is made from traces, name the directory that holds a directory per source"))
            return None, ""
        found = read_traces(traces)
        return found.workload, found.digest
    if traces is not None:
        faults.append(Fault("--traces", f"is for the workload {RECORDED_WORKLOAD!r}; leave it out"))
    if name != STANDARD_STREAM and not re.search(r"[./\\]", name):
        faults.append(
            Fault("WORKLOAD", f"{name!r} is no workload; choose one of {', '.join((*WORKLOADS, RECORDED_WORKLOAD))}, or name a file such as ./{name}.json")
        )
        return None, ""
    content = read_bytes(name)
    document = read_workload(content, title(name))
    return lambda _seed, _setting: document, f"sha256:{sha256(content).hexdigest()}"


def _parameters(given: Sequence[str], faults: list[Fault], *, is_sweep: bool) -> dict[str, list[object]]:
    values: dict[str, list[object]] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not equals or not name.strip():
            faults.append(Fault("--set", f"{each!r} is not NAME=VALUE; write such as load=1.2"))
        elif name.strip() in values:
            faults.append(Fault("--set", f"{name.strip()!r} is set twice; say it once"))
        else:
            values[name.strip()] = values_of(text)
            if len(values[name.strip()]) > 1 and not is_sweep:
                faults.append(Fault("--set", f"{each!r} has several values; give one, or call `libra-opt sweep`"))
    return values


def _check_parameters(kind: str | None, setting: Mapping[str, object], faults: list[Fault]) -> None:
    if kind is None or kind not in (*WORKLOADS, RECORDED_WORKLOAD):
        return
    parameters: type[Value] = Recorded if kind == RECORDED_WORKLOAD else WORKLOADS[kind].parameters
    try:
        parameters.model_validate(setting)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            fault = fault_of(details, parameters)
            faults.append(Fault(f"--set {fault.path}", fault.message))


def _policies(text: str, faults: list[Fault]) -> tuple[str, ...]:
    known = (*POLICIES, BOUND)
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = [name for name in names if name not in known]
    if unknown:
        faults.append(Fault("--policies", f"{', '.join(map(repr, unknown))}: known are {', '.join(known)}"))
    return names


def _periods(arguments: argparse.Namespace, faults: list[Fault], *, is_sweep: bool) -> tuple[float, ...]:
    if is_sweep:
        return tuple(dict.fromkeys(seconds_of(text, "--periods", faults) for text in arguments.periods.split(","))) if arguments.periods else ()
    return (seconds_of(arguments.period, "--period", faults),) if arguments.period else ()
