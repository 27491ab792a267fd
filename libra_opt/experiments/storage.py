"""Results in files: JSON Lines, one result a line, packed where the name ends in .gz; or Parquet, one row a result (see `columns`)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from libra_opt.adapters.files import check_writable, read_bytes, write_whole
from libra_opt.errors import Fault, InputError
from libra_opt.experiments import columns
from libra_opt.experiments.cell import Result

__all__ = ["as_lines", "check_results_file", "read_lines", "read_results", "write_results"]

_SUFFIXES: Final = (".jsonl", ".jsonl.gz", ".parquet")
_PARQUET: Final = ".parquet"
_PARQUET_MAGIC: Final = b"PAR1"
_MOST_FAULTS: Final = 20


def as_lines(results: Iterable[Result]) -> str:
    """Return results as JSON Lines."""
    return "".join(f"{result.model_dump_json(exclude_none=True)}\n" for result in results)


def check_results_file(path: Path) -> None:
    """Refuse early a file that results could not be written to.

    Raises
    ------
    InputError
        Its directory is missing or not writable, or its name does not say which format it is.
    MissingExtraError
        It is Parquet, and pyarrow is not installed.
    """
    check_writable(path)
    if not path.name.endswith(_SUFFIXES):
        raise InputError(str(path), (Fault("", f"is a name that does not say the format; end it in {', '.join(_SUFFIXES)}"),))
    if path.suffix == _PARQUET:
        columns.require_pyarrow()


def write_results(path: Path, results: Sequence[Result]) -> None:
    """Write results, the whole file or nothing."""
    write_whole({path: columns.as_parquet(results) if path.suffix == _PARQUET else as_lines(results)})


def read_results(name: str) -> list[Result]:
    """Read results.

    Raises
    ------
    InputError
        The file cannot be read, or a line or row of it is no result; they are named.
    MissingExtraError
        It is Parquet, and pyarrow is not installed.
    """
    content = read_bytes(name)
    return columns.from_parquet(content, name) if content.startswith(_PARQUET_MAGIC) else read_lines(content, name)


def read_lines(content: bytes, source: str, *, may_end_early: bool = False) -> list[Result]:
    """Read JSON Lines.

    Parameters
    ----------
    content
        Of the file.
    source
        How messages call it.
    may_end_early
        Leave out a last line that has no end: whoever wrote it was stopped.
    """
    lines = content.split(b"\n")
    if may_end_early:
        lines = lines[:-1]
    results: list[Result] = []
    faults: list[Fault] = []
    for i, line in enumerate(lines, 1):
        if line.strip():
            try:
                results.append(Result.model_validate_json(line))
            except ValidationError as error:
                faults += columns.faults_in(error, f"line {i}")
    if faults:
        more = [Fault("", f"and {len(faults) - _MOST_FAULTS} faults more")] if len(faults) > _MOST_FAULTS else []
        raise InputError(source, (*faults[:_MOST_FAULTS], *more))
    return results
