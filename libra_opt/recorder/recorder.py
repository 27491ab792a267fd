"""`Recorder`: `allocate`, and everything it was asked and answered on disk before the caller has the answer."""

import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self

from libra_opt.adapters.files import check_writable, sync_directory
from libra_opt.allocation import allocate
from libra_opt.domain import Plan, State
from libra_opt.errors import Fault, InputError
from libra_opt.recorder.pair import Pair, as_line, of_line
from libra_opt.recorder.parts import is_part, pack_parts, set_aside
from libra_opt.recorder.reading import last_pair, last_whole_line

__all__ = ["Recorder"]

_MOST_BYTES: Final = 64 << 20


class Recorder:
    """Calls `allocate` and appends each state and plan to a recording.

    A period is one line, written in one piece. A line that a crash cut off is cut away when the recording is opened again; what was returned
    before is never lost: unless `sync` is off, every line is on disk (fsync) before the plan is returned.

    Parameters
    ----------
    path
        The file to append to; its directory must be there. Beside it stand its full parts and ``<name>.lock``.
    plan
        What to call, `allocate` unless it is something that ends in it.
    most_bytes, most_pairs
        A file that holds so much is set aside and packed before the next period is written; no number of pairs: any.
    sync
        Off, a crash of the machine (not of the process) may lose the last periods.

    Raises
    ------
    InputError
        The file cannot be written, holds something else, or another process is recording to it.

    Examples
    --------
    >>> import tempfile
    >>> from libra_opt import State
    >>> state = State.model_validate({"pools": [{"name": "a100", "capacity": {"gpu": 8}}], "jobs": [{"id": "a", "demand": {"gpu": 6}}]})
    >>> with tempfile.TemporaryDirectory() as place, Recorder(Path(place) / "run.jsonl") as recorder:
    ...     plan = recorder(state)
    ...     recorder.last().plan() == plan
    True
    """

    def __init__(
        self,
        path: str | Path,
        *,
        plan: Callable[[State], Plan] = allocate,
        most_bytes: int = _MOST_BYTES,
        most_pairs: int | None = None,
        sync: bool = True,
    ) -> None:
        self.path: Final = Path(path)
        self._plan, self._most_bytes, self._most_pairs, self._sync = plan, most_bytes, most_pairs, sync
        self._one_at_a_time = Lock()
        check_writable(self.path)
        if is_part(self.path):
            raise _refusal(self.path, "is named as a full part of a recording is; name the recording itself")
        if self.path.suffix == ".gz":
            raise _refusal(self.path, "is written plain, only its full parts are packed; leave .gz out of its name")
        self._lock = _locked(self.path)
        try:
            self.cut_bytes: Final = _cut(self.path)
            pack_parts(self.path)
            last = self.last()
            self._n_pairs = last.number if last else 0
            self._file = _opened(self.path)
            self._n_before = self._first_number() - 1
        except BaseException:
            os.close(self._lock)
            raise

    def __call__(self, state: State) -> Plan:
        """Plan, record, return the plan.

        Raises
        ------
        InputError
            The period could not be written; the recording is as before.
        """
        plan = self._plan(state)
        self.append(state, plan)
        return plan

    def append(self, state: State, plan: Plan, note: Mapping[str, Any] | None = None) -> None:
        """Append one period that was planned elsewhere, with a note of JSON that `last` gives back; raises as a call does."""
        with self._one_at_a_time:
            if self._is_full():
                self._begin_another()
            self._write(as_line(self._n_pairs + 1, state, plan, note or {}))
            self._n_pairs += 1

    def last(self) -> Pair | None:
        """Return the last period on record, None for none; quick, however long the recording is."""
        return last_pair(self.path)

    def close(self) -> None:
        """Close the file and let others record to it."""
        os.close(self._file)
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _is_full(self) -> bool:
        n_here = self._n_pairs - self._n_before
        return n_here > 0 and (os.fstat(self._file).st_size >= self._most_bytes or (self._most_pairs is not None and n_here >= self._most_pairs))

    def _begin_another(self) -> None:
        try:
            os.fsync(self._file)
            if self.path.exists():
                set_aside(self.path)
            fresh = _opened(self.path)
        except OSError as error:
            raise _refusal(self.path, f"is full and cannot be set aside: {error.strerror}; make room") from error
        os.close(self._file)
        self._file, self._n_before = fresh, self._n_pairs
        with suppress(InputError):  # an unpacked part is read as well, and packed the next time
            pack_parts(self.path)

    def _write(self, line: bytes) -> None:
        size = os.fstat(self._file).st_size
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            if self._sync:
                os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, size)
            raise _refusal(self.path, f"cannot be written: {error.strerror}; the period is not on record, make room") from error

    def _first_number(self) -> int:
        with self.path.open("rb") as stream:
            first = stream.readline()
        return of_line(first, f"{self.path} line 1").number if first else self._n_pairs + 1


def _locked(path: Path) -> int:
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.read(lock, 32).decode(errors="replace").strip()
        os.close(lock)
        raise _refusal(path, f"is being written by process {owner or 'unknown'}; stop it or name another file") from error
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def _cut(path: Path) -> int:
    """Cut a torn end away, give a whole last line its end, and return how many bytes went."""
    if not path.exists():
        return 0
    with path.open("r+b") as stream:
        line, end = last_whole_line(stream)
        size = stream.seek(0, os.SEEK_END)
        if end < size:
            stream.truncate(end)
        if line and not line.endswith(b"\n"):
            stream.seek(end)
            stream.write(b"\n")
        stream.flush()
        os.fsync(stream.fileno())
        return size - end


def _opened(path: Path) -> int:
    stream = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    sync_directory(path.parent)
    return stream


def _refusal(path: Path, message: str) -> InputError:
    return InputError(str(path), (Fault("", message),))
