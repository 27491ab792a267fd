"""`libra-opt replay`: recordings planned again, and every plan compared byte for byte."""

import argparse
import json
from collections.abc import Iterator

from libra_opt.cli.progress import progress_bar
from libra_opt.cli.terminal import Exit, message, printable, result, solvers_on_stderr
from libra_opt.recorder import Pair, Replayed, read_pairs, replay

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Count first, so that bad files are refused before anything is planned; then plan all again."""
    counts = [sum(1 for _ in read_pairs(name)) for name in arguments.files]
    found = [_replay_file(name, n) for name, n in zip(arguments.files, counts, strict=True)]
    if arguments.json:
        for name, (n, different) in zip(arguments.files, found, strict=True):
            result(json.dumps({"recording": name, "pairs": n, "different": len(different), "first": _first(different)}, ensure_ascii=False))
    else:
        for name, (n, different) in zip(arguments.files, found, strict=True):
            result(printable(_told(name, n, different), keep_lines=True))
    return Exit.BROKEN if any(different for _, different in found) else Exit.DONE


def _replay_file(name: str, n: int) -> tuple[int, list[Replayed]]:
    """Return how many periods were planned again, and those whose plan is another now."""
    different: list[Replayed] = []
    told: set[str] = set()
    done = 0
    with progress_bar(n) as (begin, advance), solvers_on_stderr():
        begin(f"{name}, {n} pairs")
        for each in replay(_pairs(name)):
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
