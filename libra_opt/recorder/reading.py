"""Recordings in: every period of every part, in order; or the last one alone, which does not read the others."""

import gzip
import mmap
import os
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

from libra_opt.adapters.files import STANDARD_STREAM
from libra_opt.errors import Fault, InputError
from libra_opt.recorder.pair import RECORDING_FORMAT, Pair, of_line
from libra_opt.recorder.parts import full_parts, is_part

__all__ = ["is_recording", "last_pair", "last_whole_line", "pairs_in", "read_pairs"]

_START: Final = f'{{"format":"{RECORDING_FORMAT}"'.encode()


def is_recording(content: bytes) -> bool:
    """Tell whether a file that begins so is a recording."""
    return content[:200].replace(b" ", b"").startswith(_START)


def read_pairs(name: str, tell: Callable[[str], None] = lambda _: None) -> Iterator[Pair]:
    """Yield every period of a recording, oldest first; its writer may be at work meanwhile.

    Parameters
    ----------
    name
        The file that is or was written: its full parts come first. Or one part alone, or ``-`` for standard input.
    tell
        Is told of a last line that was cut off, and left out.

    Raises
    ------
    InputError
        There is no such recording, a part of it is missing or damaged, or a line is no period.
    """
    path = Path(name)
    if name == STANDARD_STREAM:
        yield from pairs_in(sys.stdin.buffer, "standard input", tell)
    elif is_part(path):
        with _opened(path) as stream:
            yield from pairs_in(stream, name, tell)
    else:
        yield from _all_parts(path, tell)


def pairs_in(lines: Iterable[bytes], source: str, tell: Callable[[str], None] = lambda _: None) -> Iterator[Pair]:
    """Yield every period of one part; arguments and errors as of `read_pairs`."""
    with _readable(source):
        for i, line in enumerate(lines, 1):
            if not line.endswith(b"\n") and not _is_pair(line):
                tell(f"{source}: its last line {i} was cut off and is left out")
                return
            yield of_line(line, f"{source} line {i}")


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """Turn what is wrong with packed data, or with the disk, into an `InputError`."""
    try:
        yield
    except EOFError as error:
        raise InputError(source, (Fault("", "the gzip data ends early; copy the file again"),)) from error
    except (OSError, zlib.error) as error:
        raise InputError(source, (Fault("", f"cannot be read: {error}; copy the file again"),)) from error


def _all_parts(path: Path, tell: Callable[[str], None]) -> Iterator[Pair]:
    done: set[str] = set()
    while True:
        fresh = [part for part in full_parts(path) if part.name.removesuffix(".gz") not in done]
        if fresh and not fresh[0].exists():
            continue  # it was packed between looking and opening
        if fresh:
            done.add(fresh[0].name.removesuffix(".gz"))
            with _opened(fresh[0]) as stream:
                yield from pairs_in(stream, str(fresh[0]), tell)
            continue
        if done and not path.exists():
            return
        with _opened(path) as stream:
            if any(part.name.removesuffix(".gz") not in done for part in full_parts(path)):
                continue  # it became a part between looking and opening, and what was opened comes after it
            yield from pairs_in(stream, str(path), tell)
            return


def last_pair(path: Path) -> Pair | None:
    """Return the last period of a recording, None where it has none; reads the end of one file.

    Raises
    ------
    InputError
        The last line is no period, or the file cannot be read.
    """
    for source in (path, *reversed(full_parts(path))):
        if source.exists() and (line := _last_line(source)):
            return of_line(line, str(source))
    return None


def _last_line(path: Path) -> bytes:
    with _opened(path) as stream, _readable(str(path)):
        if path.suffix == ".gz":
            return next(iter(deque(stream, maxlen=1)), b"")
        line, _ = last_whole_line(stream)
        return line


def last_whole_line(stream: IO[bytes]) -> tuple[bytes, int]:
    """Return the last whole line of a plain file, empty if there is none, and where in the file whole lines end.

    A last line without an end is whole when it is a period; one that holds zeros was never written out, for JSON has none.
    """
    end = stream.seek(0, os.SEEK_END)
    if not end:
        return b"", 0
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        while end:
            start = content.rfind(b"\n", 0, end - 1) + 1
            line = content[start:end]
            if b"\0" not in line and (line.endswith(b"\n") or _is_pair(line)):
                return line, end
            end = start
    return b"", 0


def _is_pair(line: bytes) -> bool:
    try:
        of_line(line, "")
    except InputError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        plain = path.open("rb")
    except OSError as error:
        remedy = "no such file; check the path" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise InputError(str(path), (Fault("", remedy),)) from error
    with plain:
        yield cast("IO[bytes]", gzip.GzipFile(fileobj=plain)) if path.suffix == ".gz" else plain
