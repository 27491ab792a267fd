"""Sandboxes of software-engineering agents (agentcgroup): cores and memory of each task's container, once a second.

The trap of this source: its CPU column is what `podman stats` prints, the running average since the container started, and not what
it uses now. A task's CPU seconds since the start are that average times the time since then; their differences are the use.
A sample of exactly 0 % between others is a dropout and not an idle container, which the average could not show anyway; so is 0 bytes.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.errors import Fault
from libra_opt.forecast.series import Series
from libra_opt.recordings.periods import mean_per_period, peak_per_period, shape_of
from libra_opt.recordings.recording import Measured, Recording
from libra_opt.recordings.table import Document, Table, read_table, refuse

__all__ = ["PATTERNS", "convert", "cores_in_use"]

PATTERNS: Final = {"samples": "agentcgroup/resources_1hz*.csv*"}
"""Where the documents of each part lie in a directory of traces."""

_PERIOD_SECONDS: Final = 10
_LEAST_PERIODS: Final = 24
_BYTES: Final = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1.0}
_GIB: Final = 1024**3


def convert(documents: Mapping[str, Sequence[Document]]) -> Recording:
    """Make the recording.

    Parameters
    ----------
    documents
        One document per part of `PATTERNS`.

    Raises
    ------
    InputError
        The document is not what it should be; every such line is named.
    """
    table = read_table(documents["samples"][0], "the 1 Hz samples of agentcgroup", numbers=("epoch",), texts=("group", "task", "mem_usage", "cpu_percent"))
    percent, used = _amounts(table)
    tasks = sorted(set(zip(table.texts["group"], table.texts["task"], strict=True)))
    number = {task: i for i, task in enumerate(tasks)}
    row = np.array([number[task] for task in zip(table.texts["group"], table.texts["task"], strict=True)], dtype=np.int64)
    order = np.lexsort((table.numbers["epoch"], row))
    row, epoch, percent, used = row[order], table.numbers["epoch"][order], percent[order], used[order]
    cores, since = np.full(len(row), np.nan), np.zeros(len(row))
    for i in range(len(tasks)):
        own = row == i
        since[own] = epoch[own] - epoch[own][0]
        cores[own] = cores_in_use(epoch[own], percent[own])
    shape = shape_of(table.name, len(tasks), float((since // _PERIOD_SECONDS).max(initial=-1)) + 1)
    period = (since // _PERIOD_SECONDS).astype(np.int64)
    names = tuple("/".join(task) for task in tasks)
    return Recording(
        name="agentcgroup",
        title=f"{len(tasks)} sandboxes of coding agents",
        source="yunwei37/agentcgroup, experiments/all_images_*/*/attempt_1/resources.json",
        period_seconds=_PERIOD_SECONDS,
        measured=(
            Measured("cpu", "cores", *_long_enough(mean_per_period(row, period, cores, shape), names), compressible=True),
            Measured("mem", "GiB", *_long_enough(peak_per_period(row, period, used, shape), names), compressible=False),
        ),
        recorded=(f"mem: the highest of the samples of a period of {_PERIOD_SECONDS} s",),
        derived=(
            "cpu: the column is the running average since the container's start; cores = difference of average x time since the start, below 0 clipped to 0",
            "samples of 0 % or 0 B are dropouts: not measured",
            f"tasks of fewer than {_LEAST_PERIODS} periods are left out",
        ),
        assumed=("a container starts one sampling interval before its first sample", "a job is the sandbox of one task"),
    )


def cores_in_use(epoch: NDArray[np.float64], percent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cores used since the sample before, from a running average.

    Parameters
    ----------
    epoch
        Shape ``(n_samples,)``: seconds, ascending.
    percent
        Same shape: CPU seconds since the start over seconds since the start, in per cent of a core; 0 is a dropout.

    Returns
    -------
    ndarray
        Same shape: NaN for dropouts. Over a dropout the difference spans both intervals.

    Examples
    --------
    A container that works for two seconds and then rests:

    >>> cores_in_use(np.array([1.0, 2.0, 3.0, 4.0]), np.array([100.0, 100.0, 66.666666667, 50.0])).round(6)
    array([1., 1., 0., 0.])
    """
    cores = np.full(len(epoch), np.nan)
    known = np.flatnonzero(percent > 0)
    if not len(known):
        return cores
    interval = float(np.median(np.diff(epoch))) if len(epoch) > 1 else 1.0
    since = epoch - epoch[0] + interval
    seconds = np.concatenate([[0.0], percent[known] / 100 * since[known]])
    elapsed = np.diff(np.concatenate([[0.0], since[known]]))
    cores[known] = np.maximum(np.diff(seconds), 0.0) / np.maximum(elapsed, interval / 2)
    return cores


def _amounts(table: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    faults: list[Fault] = []
    percent = np.array([_percent(text, line, faults) for text, line in zip(table.texts["cpu_percent"], table.lines, strict=True)], dtype=np.float64)
    used = np.array([_gib(text, line, faults) for text, line in zip(table.texts["mem_usage"], table.lines, strict=True)], dtype=np.float64)
    refuse(table.name, sorted(faults, key=lambda fault: int(fault.path.split(",")[0].removeprefix("line "))))
    return percent, np.where(used > 0, used, np.nan)


def _percent(text: str, line: int, faults: list[Fault]) -> float:
    value = _number(text.removesuffix("%"))
    if value is None or not text.endswith("%"):
        faults.append(Fault(f"line {line}, cpu_percent", f"{text!r} is not a percentage like '12.5%'; mend or remove the line"))
        return 0.0
    return value


def _gib(text: str, line: int, faults: list[Fault]) -> float:
    unit = next((unit for unit in _BYTES if text.endswith(unit)), "")
    value = _number(text.removesuffix(unit)) if unit else None
    if value is None:
        faults.append(Fault(f"line {line}, mem_usage", f"{text!r} is not a size like '184.7MB'; mend or remove the line"))
        return 0.0
    return value * _BYTES[unit] / _GIB


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < np.inf else None


def _long_enough(values: NDArray[np.float64], names: Sequence[str]) -> tuple[Series, tuple[str, ...]]:
    seen = np.flatnonzero((~np.isnan(values)).sum(axis=1) >= _LEAST_PERIODS)
    return Series(values[seen]), tuple(names[int(i)] for i in seen)
