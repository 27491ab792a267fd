"""Results as Parquet: one row a result, one column a measure, so that any data frame reads them; the only door to pyarrow, which is an extra.

Parameters and timeline are JSON in a column of text, as their shape differs from row to row; utilisation is a list of (resource, granted, used).
"""

import io
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import ValidationError

from libra_opt.domain.faults import fault_of
from libra_opt.errors import Fault, InputError, MissingExtraError
from libra_opt.experiments.cell import RESULT_FORMAT, Result
from libra_opt.simulation.measures import Measures

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_parquet", "faults_in", "from_parquet", "require_pyarrow"]

_CELL: Final = {"workload": "string", "parameters": "string", "digest": "string", "policy": "string", "seed": "int64", "period_seconds": "float64"}
_OTHERS: Final = {"synthetic": "bool", "error": "string", "timeline": "string"}
_BOUND: Final = ("bound_weighted_card_hours_per_hour", "bound_makespan_seconds")
_UTILISATION: Final = "utilisation"
_MOST_OF_ONE: Final = 3


def require_pyarrow() -> None:
    """Raise `MissingExtraError` where pyarrow is not installed."""
    try:
        import_module("pyarrow")
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow; install it with: pip install 'libra-opt[parquet]', or write .jsonl") from error


def as_parquet(results: Sequence[Result]) -> bytes:
    """Return results as the content of a Parquet file."""
    require_pyarrow()
    import pyarrow as pa  # noqa: PLC0415 - heavy, and an extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.Table.from_pylist([_row(result) for result in results], schema=_schema())
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def from_parquet(content: bytes, source: str) -> list[Result]:
    """Return the results in the content of a Parquet file; raises `InputError` where they are none."""
    require_pyarrow()
    import pyarrow as pa  # noqa: PLC0415 - heavy, and an extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        raise InputError(source, (Fault("", f"is damaged Parquet ({str(error).splitlines()[0]}); write it again"),)) from error
    missing = [name for name in _schema().names if name not in table.column_names]
    if missing:
        raise InputError(source, (Fault("", f"is Parquet without the columns {', '.join(missing[:_MOST_OF_ONE])}; give results of `simulate` or `sweep`"),))
    results: list[Result] = []
    faults: list[Fault] = []
    for i, row in enumerate(table.to_pylist(), 1):
        try:
            results.append(_result(row))
        except ValidationError as error:
            faults += faults_in(error, f"row {i}")
        except ValueError as error:
            faults.append(Fault(f"row {i}", f"is no result: {error}"))
    if faults:
        raise InputError(source, tuple(faults[:20]))
    return results


def faults_in(error: ValidationError, where: str) -> list[Fault]:
    """Return the first faults of one result, with the line or row they are in."""
    found = [fault_of(details, Result) for details in error.errors(include_url=False)[:_MOST_OF_ONE]]
    return [Fault(f"{where}{f', {fault.path}' if fault.path else ''}", fault.message) for fault in found]


def _schema() -> "pa.Schema":
    import pyarrow as pa  # noqa: PLC0415 - heavy, and an extra

    fields = [(name, pa.type_for_alias(kind)) for name, kind in (_CELL | _OTHERS).items()]
    fields += [(name, pa.float64()) for name in _BOUND]
    fields += [(name, pa.int64() if int in _kinds(name) else pa.float64()) for name in Measures.model_fields if name != _UTILISATION]
    share = pa.struct([("resource", pa.string()), ("granted", pa.float64()), ("used", pa.float64())])
    return pa.schema([*fields, (_UTILISATION, pa.list_(share))], metadata={"format": RESULT_FORMAT})


def _kinds(name: str) -> tuple[object, ...]:
    annotation = Measures.model_fields[name].annotation
    return get_args(annotation) or (annotation,)


def _row(result: Result) -> dict[str, Any]:
    row: dict[str, Any] = {**result.cell.model_dump(), "synthetic": result.synthetic, "error": result.error}
    row["parameters"] = json.dumps(row["parameters"])
    row["timeline"] = None if result.timeline is None else result.timeline.model_dump_json(exclude_none=True)
    if result.bound is not None:
        row |= dict(zip(_BOUND, result.bound.model_dump().values(), strict=True))
    if result.measures is not None:
        row |= result.measures.model_dump()
    return row


def _result(row: Mapping[str, Any]) -> Result:
    cell = {name: row[name] for name in _CELL}
    cell["parameters"] = json.loads(cell["parameters"] or "{}")
    fields: dict[str, Any] = {"cell": cell, "synthetic": row["synthetic"], "error": row["error"]}
    if row["timeline"] is not None:
        fields["timeline"] = json.loads(row["timeline"])
    if row["span_seconds"] is not None:
        fields["measures"] = {name: row[name] for name in Measures.model_fields}
    elif row["error"] is None:
        fields["bound"] = {name.removeprefix("bound_"): row[name] for name in _BOUND}
    return Result.model_validate(fields)
