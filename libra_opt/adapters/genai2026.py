"""Alibaba's pods of an image-generation service (cluster-trace-v2026-GenAI): duty of a card, its memory, host memory, every 57 s.

The publisher scaled values and shifted timestamps; the shape over time is real. A job is a pod.
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

__all__ = ["PATTERNS", "convert"]

PATTERNS: Final = {
    "duty": "genai2026/pod_gpu_duty_cycle_anon*.csv*",
    "memory": "genai2026/pod_gpu_memory_used_bytes_anon*.csv*",
    "host": "genai2026/pod_memory_util_anon*.csv*",
}
"""Where the documents of each part lie in a directory of traces."""

_SAMPLE_SECONDS: Final = 57
_SAMPLES: Final = 2
_LEAST_PERIODS: Final = 60
_HOST_GIB: Final = 64
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
        A document is not what it should be; every such line is named.
    """
    duty = _read(documents["duty"][0], "the card duty of genai2026 pods", most=100.0)
    memory = _read(documents["memory"][0], "the card memory of genai2026 pods", most=1e15)
    host = _read(documents["host"][0], "the host memory ratio of genai2026 pods", most=1.0)
    start = min((float(table.numbers["timestamp_anon"].min()) for table in (duty, memory, host) if len(table.lines)), default=0.0)
    pods = sorted({pod for pod in duty.texts["container_ip"] if pod})
    return Recording(
        name="genai2026",
        title=f"{len(pods)} pods of an image-generation service, 23 hours",
        source="alibaba/clusterdata, cluster-trace-v2026-GenAI: pod_gpu_duty_cycle, pod_gpu_memory_used_bytes, pod_memory_util",
        period_seconds=_SAMPLES * _SAMPLE_SECONDS,
        measured=(
            Measured("gpu", "cards", *_series(duty, pods, start, 0.01, peak=False), compressible=True),
            Measured("gpu_mem", "GiB", *_series(memory, pods, start, 1 / _GIB, peak=True), compressible=False),
            Measured("mem", "GiB", *_series(host, pods, start, _HOST_GIB, peak=True), compressible=False),
        ),
        recorded=("gpu_mem: bytes per pod (scaled by the publisher), the higher of the two samples of a period",),
        derived=(
            "gpu: duty / 100 x one card, mean of the two samples of a period",
            f"mem: ratio x {_HOST_GIB} GiB, the higher of the two samples of a period",
            f"period: {_SAMPLES} samples of {_SAMPLE_SECONDS} s; pods seen in fewer than {_LEAST_PERIODS} periods are left out",
        ),
        assumed=("one card per pod", f"a host-memory limit of {_HOST_GIB} GiB per pod (scales mem, changes no ratio)", "a job is one pod"),
    )


def _read(document: Document, what: str, most: float) -> Table:
    table = read_table(document, what, numbers=("timestamp_anon", "value"), texts=("container_ip",))
    high = np.flatnonzero(table.numbers["value"] > most)
    faults = [Fault(f"line {table.lines[i]}, value", f"{table.numbers['value'][i]:g} is above {most:g}; is this {what}?") for i in high]
    refuse(document.name, faults)
    return table


def _series(table: Table, pods: Sequence[str], start: float, scale: float, *, peak: bool) -> tuple[Series, tuple[str, ...]]:
    number = {pod: i for i, pod in enumerate(pods)}
    row = np.array([number.get(pod, -1) for pod in table.texts["container_ip"]], dtype=np.int64)
    place = (table.numbers["timestamp_anon"] - start) // (_SAMPLES * _SAMPLE_SECONDS)
    shape = shape_of(table.name, len(pods), float(place.max(initial=-1)) + 1)
    period = place.astype(np.int64)
    ours = row >= 0
    gather = peak_per_period if peak else mean_per_period
    values: NDArray[np.float64] = gather(row[ours], period[ours], table.numbers["value"][ours] * scale, shape)
    seen = np.flatnonzero((~np.isnan(values)).sum(axis=1) >= _LEAST_PERIODS)
    return Series(values[seen]), tuple(pods[int(i)] for i in seen)
