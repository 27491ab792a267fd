"""A user's own series: comma-separated lines of series, period and value, and what else is known of each.

Needed columns: ``series`` (a name), ``period`` (a whole number), ``value`` (empty where nothing was measured). Further columns that are
understood: ``resource`` (cpu, gpu_mem, ...; missing: one resource called ``value``), ``step`` and ``phase`` (whole numbers, empty where unknown). The order
of lines does not matter; periods that are missing were not measured.
"""

import csv
import io
from collections.abc import Collection
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain import DEFAULT_RESOURCES
from libra_opt.errors import Fault
from libra_opt.forecast.series import Series
from libra_opt.recordings.periods import shape_of
from libra_opt.recordings.recording import Measured, Recording
from libra_opt.recordings.table import Document, Table, columns_of, read_table, refuse

__all__ = ["convert", "write"]

_LARGEST: Final = 2**53
_KNOWN: Final = {resource.name: (resource.unit, resource.compressible) for resource in DEFAULT_RESOURCES}


def convert(document: Document, period_seconds: float = 0.0) -> Recording:
    """Make the recording; resources that are no default ones of a state count as compressible.

    Parameters
    ----------
    document
        The text, with a header.
    period_seconds
        Length of a period, 0 where it is not known; only told, never used.

    Raises
    ------
    InputError
        The document is not what it should be, or names a period of a series twice; every such line is named.
    """
    header = columns_of(document)
    extra = tuple(name for name in ("step", "phase") if name in header)
    texts = ("series", "resource") if "resource" in header else ("series",)
    table = read_table(document, "series for a backtest", numbers=("period",), texts=texts, optional=("value", *extra))
    faults = [
        Fault(f"line {table.lines[i]}, {name}", f"{table.numbers[name][i]:g} is not a whole number below 2^53; mend or remove the line")
        for name in ("period", *extra)
        for i in np.flatnonzero((np.mod(table.numbers[name], 1) > 0) | (table.numbers[name] >= _LARGEST))
    ]
    faults += [Fault(f"line {table.lines[i]}, {name}", "is empty; name it") for name in texts for i, text in enumerate(table.texts[name]) if not text.strip()]
    refuse(document.name, faults)
    resources = table.texts.get("resource", ["value"] * len(table.lines))
    return Recording(
        name=document.name,
        title="series of a file",
        source=document.name,
        period_seconds=period_seconds,
        measured=tuple(_measured(table, resource, np.array([each == resource for each in resources])) for resource in sorted(set(resources))),
        recorded=("all of it, as the file says",),
    )


def write(recording: Recording, labels: Collection[str], decimals: int = 4) -> str:
    """Return some series of a recording as such a file; values are rounded.

    Parameters
    ----------
    recording
        Where they are taken from.
    labels
        Whose series.
    decimals
        Digits after the point; a need or a demand is never finer than a quantum, so a few do.
    """
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    out.writerow(("series", "period", "resource", "value", "step", "phase"))
    for measured in recording.measured:
        for row in (i for i, label in enumerate(measured.labels) if label in labels):
            for period, value in enumerate(measured.series.measured[row]):
                codes = [codes[row, period] if codes is not None and codes[row, period] >= 0 else "" for codes in (measured.series.step, measured.series.phase)]
                out.writerow((measured.labels[row], period, measured.resource, "" if np.isnan(value) else f"{value:.{decimals}f}", *codes))
    return stream.getvalue()


def _measured(table: Table, resource: str, ours: NDArray[np.bool_]) -> Measured:
    places = np.flatnonzero(ours)
    names = [table.texts["series"][int(i)] for i in places]
    labels = tuple(sorted(set(names)))
    number = {label: i for i, label in enumerate(labels)}
    row = np.array([number[name] for name in names], dtype=np.int64)
    period = table.numbers["period"][places].astype(np.int64)
    period -= period.min()
    shape = shape_of(table.name, len(labels), float(period.max()) + 1)
    cell = row * shape[1] + period
    _, first = np.unique(cell, return_index=True)
    twice = np.setdiff1d(np.arange(len(cell)), first)
    refuse(table.name, [Fault(f"line {table.lines[places[i]]}", f"{names[i]!r} has this period already; keep one of the lines") for i in twice])
    unit, compressible = _KNOWN.get(resource, ("", True))
    values = np.full(shape, np.nan)
    values[row, period] = table.numbers["value"][places]
    known = {name: np.full(shape, -1, dtype=np.int64) for name in ("step", "phase") if name in table.numbers}
    for name, codes in known.items():
        codes[row, period] = np.nan_to_num(table.numbers[name][places], nan=-1).astype(np.int64)
    return Measured(resource, unit, Series(values, known.get("step"), known.get("phase")), labels, compressible=compressible)
