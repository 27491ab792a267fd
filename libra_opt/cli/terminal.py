"""Standard output and standard error: who says what where, and text that cannot upset a terminal."""

import ctypes
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

__all__ = ["Exit", "lenient_streams", "message", "printable", "result", "solvers_on_stderr"]


class Exit(IntEnum):
    """Exit codes: whose turn it is."""

    DONE = 0
    BROKEN = 1
    BAD_INPUT = 2
    OUR_FAULT = 3
    INTERRUPTED = 130
    NO_READER = 141


def lenient_streams() -> None:
    """Let a terminal that cannot show a character show its escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def solvers_on_stderr() -> Iterator[None]:
    """Send what a solver's C code prints to standard error, so that standard output holds results alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def result(text: str) -> None:
    """Write one result to standard output."""
    sys.stdout.write(f"{text}\n")


def message(text: str) -> None:
    """Write one message to standard error."""
    sys.stderr.write(f"libra-opt: {printable(text, keep_lines=True)}\n")


def printable(text: str, *, keep_lines: bool = False) -> str:
    r"""Return `text` with everything that would steer a terminal written as an escape.

    Examples
    --------
    >>> printable("job\x1b[2J")
    'job\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or (keep_lines and c == "\n") else c.encode("unicode_escape").decode() for c in text)
