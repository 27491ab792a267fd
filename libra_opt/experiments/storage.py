"""Results in files: JSON Lines, one result a line, packed where the name ends in .gz; or Parquet, one row a result."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from libra_opt.adapters.files import check_writable, read_bytes, write_whole
from libra_opt.domain.faults import fault_of
from libra_opt.errors import Fault, InputError
from libra_opt.experiments.cell import Result

__all__ = ["as_lines", "check_results_file", "read_results", "write_results"]

_MOST_FAULTS = 20


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
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise InputError(str(path), (Fault("", "is a name that does not say the format; end it in .jsonl or .jsonl.gz"),))


def write_results(path: Path, results: Sequence[Result]) -> None:
    """Write results, the whole file or nothing."""
    write_whole({path: as_lines(results)})


def read_results(name: str) -> list[Result]:
    """Read results.

    Raises
    ------
    InputError
        The file cannot be read, or a line of it is no result; the lines are named.
    """
    lines = read_bytes(name).decode("utf-8", errors="replace").splitlines()
    results: list[Result] = []
    faults: list[Fault] = []
    for i, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            results.append(Result.model_validate_json(line))
        except ValidationError as error:
            for details in error.errors(include_url=False)[:3]:
                fault = fault_of(details, Result)
                faults.append(Fault(f"line {i}{f', {fault.path}' if fault.path else ''}", fault.message))
    if faults:
        more = [Fault("", f"and {len(faults) - _MOST_FAULTS} faults more")] if len(faults) > _MOST_FAULTS else []
        raise InputError(name, (*faults[:_MOST_FAULTS], *more))
    return results
