"""`libra-opt replay`: recordings planned again, and every plan compared byte for byte."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping

from libra_opt.adapters.files import STANDARD_STREAM
from libra_opt.cli.progress import progress_bar
from libra_opt.cli.terminal import Exit, message, printable, result, solvers_on_stderr
from libra_opt.errors import Fault, InputError
from libra_opt.recorder import Pair, Replayed, read_pairs, replay

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Read all first, so that bad files and those that hold nothing are refused before anything is planned; then plan all again."""
    kept = {STANDARD_STREAM: list(_pairs(STANDARD_STREAM))} if STANDARD_STREAM in arguments.files else {}  # what can be read only once
    counts = [_count(name, kept) for name in arguments.files]
    found = [_replay_file(name, n, kept.get(name) or _pairs(name)) for name, n in zip(arguments.files, counts, strict=True)]
    if arguments.json:
        for name, (n, different) in zip(arguments.files, found, strict=True):
            result(json.dumps({"recording": name, "pairs": n, "different": len(different), "first": _first(different)}, ensure_ascii=False))
    else:
        for name, (n, different) in zip(arguments.files, found, strict=True):
            result(printable(_told(name, n, different), keep_lines=True))
    return Exit.BROKEN if any(different for _, different in found) else Exit.DONE


def _count(name: str, kept: Mapping[str, list[Pair]]) -> int:
    n = len(kept[name]) if name in kept else sum(1 for _ in read_pairs(name))
    if not n:
        raise InputError(name, (Fault("", "nothing is recorded in it, so there is nothing to compare; name a recording with at least one pair"),))
    return n


def _replay_file(name: str, n: int, pairs: Iterable[Pair]) -> tuple[int, list[Replayed]]:
    """Return how many periods were planned again, and those whose plan is another now."""
    different: list[Replayed] = []
    told: set[str] = set()
    done = 0
    with progress_bar(n) as (begin, advance), solvers_on_stderr():
        begin(f"{name}, {n} pairs")
        for each in replay(pairs):
            done += 1
            for library, (then, now) in each.other_versions.items():
                if library not in told:
                    message(f"{each.pair.source}: recorded with {library} {then}, here is {now}; plans may differ, of equal worth")
            told.update(each.other_versions)
            if each.difference is not None:
                different.append(each)
            advance()
    return done, different


def _pairs(name: str) -> Iterator[Pair]:
    return read_pairs(name, message)


def _first(different: list[Replayed]) -> dict[str, object] | None:
    if not different or different[0].difference is None:
        return None
    pair, found = different[0].pair, different[0].difference
    return {"pair": pair.number, "where": pair.source, "path": found.path, "recorded": found.recorded, "again": found.again}


def _told(name: str, n: int, different: list[Replayed]) -> str:
    if not different:
        return f"{name}: {n} pairs, every plan the same, byte for byte"
    first = different[0]
    return f"{name}: {len(different)} of {n} plans differ; the first is pair {first.pair.number} ({first.pair.source})\n  {first.difference}"
