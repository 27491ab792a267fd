"""Files: documents in (``.gz`` too, ``-`` for standard input), documents out whole or not at all.

Whatever the file system refuses becomes an `InputError` that names the file and the remedy, so that no caller handles `OSError`.
"""

import gzip
import os
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from libra_opt.errors import Fault, InputError

__all__ = ["STANDARD_STREAM", "check_writable", "read_bytes", "sync_directory", "write_whole"]

STANDARD_STREAM: Final = "-"
"""The name that stands for standard input."""

_GZIP_MAGIC: Final = b"\x1f\x8b"


def read_bytes(name: str) -> bytes:
    """Return what the file holds, unpacked where it is gzip.

    Parameters
    ----------
    name
        Path of the file, or ``-`` for standard input.

    Raises
    ------
    InputError
        The file is missing, a directory, unreadable, or its gzip data is damaged or ends early.
    """
    try:
        content = sys.stdin.buffer.read() if name == STANDARD_STREAM else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise _refusal(name, _remedy(error)) from error
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except EOFError as error:
        raise _refusal(name, "the gzip data ends early; copy or download the file again") from error
    except (OSError, zlib.error) as error:
        raise _refusal(name, f"the gzip data is damaged ({error}); copy or download the file again") from error


def check_writable(path: Path) -> None:
    """Refuse early what `write_whole` would refuse late, so that no work is done for nothing.

    Raises
    ------
    InputError
        `path` is a directory, or the directory it is to stand in is missing or not writable.
    """
    parent = path.parent
    if path.is_dir():
        raise _refusal(str(path), "is a directory; name a file in it")
    if not parent.is_dir():
        raise _refusal(str(path), f"there is no directory {str(parent)!r}; create it first")
    if not os.access(path if path.exists() and not path.is_file() else parent, os.W_OK):
        raise _refusal(str(path), "is not writable; choose another place or change its permissions")


def write_whole(documents: Mapping[Path, str | bytes]) -> None:
    """Write every document, each whole or not at all, and none before all are on disk under temporary names.

    A name that ends in ``.gz`` is packed, always to the same bytes for the same text. A target that is no regular file (a pipe, a device) is
    written to directly.

    Raises
    ------
    InputError
        A file cannot be written; then no target has been touched unless the failure was in the last step, the renaming.
    """
    pending: list[tuple[Path, Path]] = []
    try:
        for path, document in documents.items():
            try:
                target = path.resolve()
                plain = document.encode() if isinstance(document, str) else document
                content = gzip.compress(plain, mtime=0) if path.suffix == ".gz" else plain
                if target.exists() and not target.is_file():
                    target.write_bytes(content)
                else:
                    pending.append((_write_beside(target, content), target))
            except OSError as error:
                raise _refusal(str(path), _remedy(error)) from error
        while pending:
            temporary, target = pending[-1]
            try:
                temporary.replace(target)
            except OSError as error:
                raise _refusal(str(target), _remedy(error)) from error
            pending.pop()
    finally:
        for temporary, _ in pending:
            with suppress(OSError):
                temporary.unlink()


def sync_directory(place: Path) -> None:
    """Have the names in a directory on disk: a file that was made or renamed is found again after a crash of the machine."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_beside(target: Path, content: bytes) -> Path:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return temporary


def _refusal(name: str, message: str) -> InputError:
    return InputError("standard input" if name == STANDARD_STREAM else name, (Fault("", message),))


def _remedy(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file; check the path"
    if isinstance(error, IsADirectoryError):
        return "is a directory; name a file in it"
    if isinstance(error, PermissionError):
        return "permission denied; check who may read or write it"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot be read or written: {reason}"
