"""Alibaba's disaggregated recommendation services (cluster-trace-gpu-v2025): requests of the instances of each application, over 31 days.

A job is an application; its demand is what its living instances ask for together. Inference services, not reinforcement learning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.errors import Fault
from libra_opt.forecast.series import Series
from libra_opt.recordings.periods import overlap_per_period, shape_of
from libra_opt.recordings.recording import Measured, Recording
from libra_opt.recordings.table import Document, read_table, refuse

__all__ = ["PATTERNS", "convert"]

PATTERNS: Final = {"instances": "dlrm2025/disaggregated_DLRM_trace*.csv*"}
"""Where the documents of each part lie in a directory of traces."""

_PERIOD_SECONDS: Final = 3600
_DAY: Final = 24
_LEAST_PERIODS: Final = 24
_DECIMALS: Final = 6
_NIC_GBYTES: Final = 12.5
_COLUMNS: Final = (("gpu", "cards", True, "gpu_request", 1.0), ("cpu", "cores", True, "cpu_request", 1.0), ("mem", "GiB", False, "memory_request", 1.0))
_NET: Final = ("net", "GB/s", True, "rdma_request", _NIC_GBYTES / 100)


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
    document = documents["instances"][0]
    columns = (*_COLUMNS, _NET)
    table = read_table(
        document,
        "the instances of cluster-trace-gpu-v2025",
        numbers=[column for _, _, _, column, _ in columns],
        texts=("app_name",),
        optional=("creation_time", "deletion_time"),
    )
    created = np.nan_to_num(table.numbers["creation_time"], nan=0.0)
    deleted = table.numbers["deletion_time"]
    refuse(
        document.name,
        [
            Fault(f"line {table.lines[i]}, deletion_time", f"{deleted[i]:g} is before creation_time {created[i]:g}; mend or remove the line")
            for i in np.flatnonzero(deleted < created)
        ],
    )
    end = float(max(created.max(initial=0.0), np.nan_to_num(deleted).max(initial=0.0)))
    apps = sorted(set(table.texts["app_name"]))
    _, n_periods = shape_of(document.name, len(apps), end // _PERIOD_SECONDS)
    number = {app: i for i, app in enumerate(apps)}
    row = np.array([number[app] for app in table.texts["app_name"]], dtype=np.int64)
    life = (created, np.where(np.isnan(deleted), np.inf, deleted))
    measured = tuple(
        Measured(resource, unit, *_of_apps(table.numbers[column] * scale, row, life, apps, n_periods, peak=not compressible), compressible=compressible)
        for resource, unit, compressible, column, scale in columns
    )
    return Recording(
        name="dlrm2025",
        title=f"{len(apps)} recommendation services, 31 days by the hour",
        source="alibaba/clusterdata, cluster-trace-gpu-v2025: disaggregated_DLRM_trace.csv",
        period_seconds=_PERIOD_SECONDS,
        measured=tuple(replace(each, season=(_DAY,) * len(each.labels)) for each in measured if each.labels),
        recorded=("requests of cards, cores, GiB and share of a network card per instance; when it was created and deleted",),
        derived=(
            "demand of an application: sum of the requests of its instances; gpu, cpu, net: mean over the hour, mem: the highest moment of the hour",
            "no creation time: there before the start; no deletion time: there to the end",
            "hours in which an application is not there throughout, from its first instance to its last, are not measured; season: 24 hours",
            f"applications that never ask for a resource, or are there for fewer than {_LEAST_PERIODS} hours, have no series of it",
        ),
        assumed=(f"net: rdma_request % of a network card of {_NIC_GBYTES:g} GB/s (scales net, changes no ratio)", "requests are used in full"),
    )


def _of_apps(
    amount: NDArray[np.float64],
    app: NDArray[np.int64],
    life: tuple[NDArray[np.float64], NDArray[np.float64]],
    apps: Sequence[str],
    n_periods: int,
    *,
    peak: bool,
) -> tuple[Series, tuple[str, ...]]:
    gather = _peaks if peak else _means
    values = np.zeros((len(apps), n_periods))
    hours = np.arange(n_periods)
    for i in range(len(apps)):
        own = app == i
        values[i] = gather(amount[own], life[0][own], life[1][own], n_periods)
        whole = (hours * _PERIOD_SECONDS >= life[0][own].min()) & ((hours + 1) * _PERIOD_SECONDS <= life[1][own].max())
        values[i][~whole] = np.nan
    asked = np.flatnonzero(((~np.isnan(values)).sum(axis=1) >= _LEAST_PERIODS) & np.nan_to_num(values).any(axis=1))
    return Series(values[asked]), tuple(apps[int(i)] for i in asked)


def _means(amount: NDArray[np.float64], created: NDArray[np.float64], deleted: NDArray[np.float64], n_periods: int) -> NDArray[np.float64]:
    end = float(n_periods * _PERIOD_SECONDS)
    mean: NDArray[np.float64] = overlap_per_period(np.minimum(created, end), np.minimum(deleted, end), amount, _PERIOD_SECONDS, n_periods)
    return np.round(mean, _DECIMALS)


def _peaks(amount: NDArray[np.float64], created: NDArray[np.float64], deleted: NDArray[np.float64], n_periods: int) -> NDArray[np.float64]:
    """Return the highest level within each period: at its start, or after one of the changes in it."""
    moment = np.concatenate([created, deleted])
    change = np.concatenate([amount, -amount])
    order = np.lexsort((change, moment))  # at one moment deletions come first, so that a replacement is no peak
    moment, level = moment[order], np.cumsum(change[order])
    at_start = np.searchsorted(moment, np.arange(n_periods) * _PERIOD_SECONDS, side="right")
    peak = np.concatenate([[0.0], level])[at_start]
    inside = moment < n_periods * _PERIOD_SECONDS
    np.maximum.at(peak, (moment[inside] // _PERIOD_SECONDS).astype(np.int64), level[inside])
    rounded: NDArray[np.float64] = np.round(np.maximum(peak, 0.0), _DECIMALS)
    return rounded
