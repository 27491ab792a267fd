"""Where the loop keeps what it must not lose, and the lock that keeps a second loop out."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from libra_opt.controller.memory import Memory, read_memory
from libra_opt.controller.settings import Settings
from libra_opt.domain import Plan, State
from libra_opt.errors import Fault, InputError

__all__ = ["InRecording", "Keeper", "MemoryHere", "Recorder", "cluster_lock", "exclusive", "memory_in"]


_NOTE: Final = "loop"
"""Under this name the memory stands in the note of a pair."""


class Keeper(Protocol):
    """Keeps the memory of one loop, with what it planned."""

    def load(self) -> Memory | None:
        """Return what was kept last; None where nothing was."""
        ...

    def keep(self, memory: Memory, state: State, plan: Plan) -> None:
        """Keep the memory of a period with what was planned, whole or not at all, before any of it is done."""
        ...


class Recorder(Protocol):
    """What `libra_opt.recorder.Recorder` has that is needed here."""

    def append(self, state: State, plan: Plan, note: Mapping[str, Any] | None = None) -> None:
        """Append one pair and what else is to be found again."""
        ...

    def last(self) -> Any:
        """Return the last pair, None for none."""
        ...


class MemoryHere:
    """Memory that ends with the process: for a dry run, and for a loop without a recording."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = memory

    def load(self) -> Memory | None:
        """Return what was kept last."""
        return self._memory

    def keep(self, memory: Memory, _state: State, _plan: Plan) -> None:
        """Keep it."""
        self._memory = memory


class InRecording:
    """Memory as the note of every pair of a recording: one line, so that neither is ever there without the other."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def load(self) -> Memory | None:
        """Return the memory of the last pair; raises `InputError` where that is something else."""
        return memory_in(self._recorder.last())

    def keep(self, memory: Memory, state: State, plan: Plan) -> None:
        """Append all three."""
        self._recorder.append(state, plan, {_NOTE: memory.model_dump(mode="json", exclude_defaults=True)})


def memory_in(pair: Any) -> Memory | None:
    """Return the memory that a pair of a recording carries; None for no pair, and for one that a loop did not write.

    Raises
    ------
    InputError
        What stands there is something else.
    """
    if pair is None or _NOTE not in pair.note:
        return None
    return read_memory(pair.note[_NOTE], str(pair.source))


def cluster_lock(settings: Settings) -> Path:
    """Return the lock of the cluster that these settings speak of, the same for every loop of this user on this machine."""
    digest = hashlib.sha256(f"{settings.kind} {settings.scheduler.model_dump_json()}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"libra-opt-{os.getuid()}-{settings.kind}-{digest}.lock"


@contextmanager
def exclusive(path: Path, what: str) -> Iterator[None]:
    """Hold a lock, which the system takes back when the process ends, however it ends.

    Raises
    ------
    InputError
        Another loop holds it.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InputError(str(path), (Fault("", f"cannot be made or opened: {error.strerror}; check the directory and its permissions"),)) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(str(path), (Fault("", f"another loop is at work on {what}; stop it first, or name another"),)) from error
        yield
    finally:
        os.close(handle)
