"""The results file of a sweep while it runs: what is done is kept at once, in a journal beside it, and what was done before is not done again."""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from libra_opt.errors import Fault, InputError
from libra_opt.experiments.cell import Result
from libra_opt.experiments.storage import as_lines, check_results_file, read_lines, read_results, write_results

__all__ = ["Journal", "journal_of", "open_journal"]


class Journal:
    """What is done, and where it is kept."""

    def __init__(self, stream: IO[bytes], results: Sequence[Result]) -> None:
        self._stream = stream
        self._found = {result.cell.key: result for result in results}

    @property
    def results(self) -> list[Result]:
        """The last result of every cell, those of earlier sweeps included."""
        return list(self._found.values())

    def done(self) -> set[str]:
        """Return the keys of the cells that need not run again: those that did not fail."""
        return {key for key, result in self._found.items() if result.error is None}

    def add(self, result: Result) -> None:
        """Keep one result, at once."""
        self._stream.write(as_lines([result]).encode())
        self._stream.flush()
        self._found[result.cell.key] = result


def journal_of(path: Path) -> Path:
    """Return where the journal of a results file is."""
    return path.with_name(f"{path.name}.partial")


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Open the results file of a sweep; at the end, also after an error or an interruption, it is written whole and the journal goes.

    Raises
    ------
    InputError
        The file or the journal is there and holds something else, cannot be written, or another sweep is writing it.
    """
    check_results_file(path)
    beside = journal_of(path)
    earlier = read_results(str(path)) if path.exists() else []
    torn = beside.read_bytes() if beside.exists() else b""
    kept = [*earlier, *read_lines(torn, str(beside), may_end_early=True)]
    with beside.open("ab") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(str(path), (Fault("", "is being written by another sweep; wait for it or name another file"),)) from error
        stream.truncate(torn.rfind(b"\n") + 1)
        journal = Journal(stream, kept)
        try:
            yield journal
        finally:
            if journal.results:
                write_results(path, journal.results)
            beside.unlink()
