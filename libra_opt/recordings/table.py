"""Text to columns: comma-separated lines with a header, or one JSON object per line; every fault is named by its line.

Only the columns asked for are read. A cell is a number that is finite and not negative, or a text; what else a number must be is for
the converter to say. Nothing of a document with a fault is used.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from libra_opt.errors import Fault, InputError

__all__ = ["Document", "Table", "columns_of", "read_objects", "read_table", "refuse"]

_MOST_FAULTS: Final = 20
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file and how messages call it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of a document.

    Attributes
    ----------
    name
        The document's.
    numbers
        By column, shape ``(n_rows,)``, float64; NaN where an optional number is missing.
    texts
        By column, one text per row.
    lines
        Shape ``(n_rows,)``: the line each row ends in.
    """

    name: str
    numbers: Mapping[str, NDArray[np.float64]]
    texts: Mapping[str, Sequence[str]]
    lines: NDArray[np.int64]


def read_table(document: Document, what: str, *, numbers: Sequence[str] = (), texts: Sequence[str] = (), optional: Sequence[str] = ()) -> Table:
    """Read comma-separated values.

    Parameters
    ----------
    document
        The text; its first line names the columns.
    what
        What the document should be, for whoever gave another one.
    numbers, texts
        Columns that are needed.
    optional
        Columns of numbers in which a cell may be empty.

    Raises
    ------
    InputError
        A column is missing, a line has too few or too many cells, or a cell is not a number; the first faults are listed.
    """
    header = columns_of(document)
    reader = csv.reader(io.StringIO(document.text, newline=""))
    missing = [column for column in (*numbers, *texts, *optional) if column not in header]
    if missing:
        has = ", ".join(map(repr, header[:20])) if header else "none"
        message = f"this is not {what}: no column {', '.join(map(repr, missing))} (the first line names {has}); give that file, with its header"
        raise InputError(document.name, (Fault("line 1", message),))
    twice = sorted({column for column in header if header.count(column) > 1})
    faults = [Fault("line 1", f"names the column {column!r} more than once; rename one") for column in twice]
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        next(reader)
        for cells in reader:
            if len(cells) == len(header):
                rows.append(cells)
                lines.append(reader.line_num)
            elif cells:
                faults.append(Fault(f"line {reader.line_num}", f"has {len(cells)} cells where the header has {len(header)}; mend or remove the line"))
    except csv.Error as error:
        faults.append(Fault(f"line {reader.line_num}", f"is not comma-separated text ({error}); mend or remove the line"))
    if not rows and not faults:
        faults.append(Fault("", "holds no line below its header; there is nothing to read"))
    columns = dict(zip(header, zip(*rows, strict=True) if rows else [()] * len(header), strict=False))
    read = {name: _numbers(columns[name], lines, name, faults, empty=name in optional) for name in (*numbers, *optional)}
    refuse(document.name, faults)
    return Table(document.name, read, {name: columns[name] for name in texts}, np.array(lines, dtype=np.int64))


def columns_of(document: Document) -> list[str]:
    """Return the columns that the first line names; raises `InputError` where it is no comma-separated text."""
    try:
        return next(csv.reader(io.StringIO(document.text, newline="")), [])
    except csv.Error as error:
        raise InputError(document.name, (Fault("line 1", f"is not comma-separated text ({error}); give a file of such"),)) from error


def read_objects(document: Document, what: str, make: Callable[[Mapping[str, object]], _Made]) -> list[_Made]:
    """Read one JSON object per line.

    Parameters
    ----------
    what
        What the document should be.
    make
        Turns one object into a value; what it raises of `KeyError`, `TypeError` and `ValueError` is a fault of the line.

    Raises
    ------
    InputError
        A line is no JSON object or `make` refuses it; the first faults are listed.
    """
    faults: list[Fault] = []
    values: list[_Made] = []
    for line, text in enumerate(document.text.splitlines(), start=1):
        if not text.strip():
            continue
        try:
            values.append(make(_object(json.loads(text))))
        except KeyError as error:
            faults.append(Fault(f"line {line}", f"this is not {what}: no field {error}; give that file"))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            faults.append(Fault(f"line {line}", f"{error}; this should be a line of {what}: mend or remove it"))
    if not values and not faults:
        faults.append(Fault("", f"holds no line; this should be {what}"))
    refuse(document.name, faults)
    return values


def _object(held: object) -> Mapping[str, object]:
    if not isinstance(held, dict):
        raise TypeError(f"a JSON object is expected and this is {type(held).__name__}")
    return held


def refuse(name: str, faults: Sequence[Fault]) -> None:
    """Raise `InputError` if there are faults, with the first of them and the number of the others."""
    if len(faults) > _MOST_FAULTS:
        faults = [*faults[:_MOST_FAULTS], Fault("", f"and {len(faults) - _MOST_FAULTS:,} more")]
    if faults:
        raise InputError(name, tuple(faults))


def _numbers(cells: Sequence[str], lines: Sequence[int], column: str, faults: list[Fault], *, empty: bool) -> NDArray[np.float64]:
    values = np.array([_number(cell) for cell in cells], dtype=np.float64)
    wrong = ~((values >= 0) & (values < np.inf))
    if empty:
        wrong &= np.array([bool(cell) for cell in cells], dtype=np.bool_)
    faults.extend(
        Fault(f"line {lines[row]}, {column}", f"{cells[row]!r} is not a finite number of 0 or more; mend or remove the line")
        for row in np.flatnonzero(wrong)[: _MOST_FAULTS + 1]
    )
    return values


def _number(cell: str) -> float:
    try:
        return float(cell or "nan")
    except ValueError:
        return -1.0
