"""The files of a recording: the one that is written, and those that were full.

`run.jsonl` is written. When it is full it becomes `run.jsonl.000001`, then, packed, `run.jsonl.000001.gz`, and a new `run.jsonl` is begun. Every step
is one renaming of a file that is whole and on disk, so whoever is killed between two of them leaves nothing half-done that the next cannot finish.
"""

import re
from pathlib import Path
from typing import Final

from libra_opt.adapters.files import sync_directory, write_whole
from libra_opt.errors import Fault, InputError

__all__ = ["full_parts", "is_part", "pack_parts", "set_aside"]

_PART: Final = re.compile(r"\.(?P<number>\d{6,})(?:\.gz)?$")


def is_part(path: Path) -> bool:
    """Tell whether this is a full part rather than the file that is written."""
    return _PART.search(path.name) is not None


def full_parts(path: Path) -> list[Path]:
    """Return the full parts of the recording whose written file is `path`, oldest first; where one is there packed and plain, the plain one.

    Raises
    ------
    InputError
        One in the middle is missing.
    """
    found: dict[int, Path] = {}
    for beside in sorted(path.parent.glob(f"{_escaped(path.name)}.*"), reverse=True):
        number = _number(beside.name.removeprefix(path.name))
        if number:
            found[number] = beside
    numbers = sorted(found)
    missing = sorted(set(range(numbers[0], numbers[-1])) - set(numbers)) if numbers else []
    if missing:
        raise InputError(str(path), (Fault("", f"has lost its part {missing[0]:06d} of {numbers[-1]:06d}; put it back, or move all parts before it away"),))
    return [found[number] for number in numbers]


def set_aside(path: Path) -> None:
    """Make a full file the next part."""
    parts = full_parts(path)
    number = _number(parts[-1].name.removeprefix(path.name)) + 1 if parts else 1
    path.rename(path.with_name(f"{path.name}.{number:06d}"))
    sync_directory(path.parent)


def pack_parts(path: Path) -> None:
    """Pack every part that is not packed yet; raises `InputError` where there is no room, and all parts are there still."""
    for part in full_parts(path):
        if part.suffix != ".gz":
            write_whole({part.with_name(f"{part.name}.gz"): part.read_bytes()})
            sync_directory(part.parent)
            part.unlink()


def _number(suffix: str) -> int:
    matched = _PART.fullmatch(suffix)
    return int(matched["number"]) if matched else 0


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)
