"""Alibaba's spot cards of 2026 (cluster-trace-v2026-spot-gpu): cards asked for per card model and hour, over 110 days.

Hourly tables that a third party computed from the trace. A job is all that asks for one card model.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from libra_opt.errors import Fault
from libra_opt.forecast.series import Series
from libra_opt.recordings.recording import Measured, Recording
from libra_opt.recordings.table import Document, read_table, refuse

__all__ = ["PATTERNS", "convert"]

PATTERNS: Final = {"hours": "spotgpu2026/hourly_concurrency_top_models*.csv*"}
"""Where the documents of each part lie in a directory of traces."""

MODELS: Final = ("A10", "A100-SXM4-80GB", "GPU-series-1", "H800", "GPU-series-2", "A800-SXM4-80GB")
"""Card models of the table, most wanted first."""

_DAY: Final = 24


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
    document = documents["hours"][0]
    table = read_table(document, "the hourly concurrency of spotgpu2026 by card model", numbers=("hour", *MODELS))
    hour = table.numbers["hour"]
    skips = np.flatnonzero(np.diff(hour, prepend=-1.0) != 1)[:1]
    refuse(
        document.name,
        [Fault(f"line {table.lines[i]}, hour", f"{hour[i]:g} does not follow the hour before it; the table counts up by 1 from 0") for i in skips],
    )
    values = np.stack([table.numbers[model] for model in MODELS])
    return Recording(
        name="spotgpu2026",
        title=f"cards asked for of {len(MODELS)} models, {values.shape[1]:,} hours",
        source="sultanul-ovi/GPU-Cluster-Spot-Resource-Dataset-Analysis: hourly_concurrency_top_models, of alibaba/clusterdata cluster-trace-v2026-spot-gpu",
        period_seconds=3600,
        measured=(Measured("gpu", "cards", Series(values), MODELS, compressible=True, season=(_DAY,) * len(MODELS)),),
        derived=("gpu: cards of the jobs whose submission and duration cover the hour; queueing is ignored, so peaks are too high", "season: 24 hours"),
        assumed=("a job is the demand for one card model",),
    )
