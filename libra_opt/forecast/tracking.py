"""Quantile tracking: the next value is one of the recent ones.

Where a series jumps between levels (a tool runs or does not) no point describes the next period, but the last values do: their quantiles, over a short
and a long look back and over everything.
"""

from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from libra_opt.forecast.ranked import Ranked, rank
from libra_opt.forecast.window import SCORED, Floats, Told, Window

__all__ = ["tracked_always", "tracked_long", "tracked_short"]

_SHORT: Final = 8
_LONG: Final = 32
_STRIDE: Final = 4
"""At every how many origins the long look back is looked at anew: it changes little from one to the next."""

_NETWORK: Final = (
    *((0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3)),
    *((4, 5), (6, 7), (2, 4), (3, 5), (1, 4), (3, 6), (1, 2), (3, 4), (5, 6)),
)
"""Comparisons that sort eight numbers, the fewest there are (Knuth, *The Art of Computer Programming* 3, section 5.3.4)."""


def tracked_short(window: Window, levels: NDArray[np.float64]) -> Told:
    """Return quantiles of the last eight values at every origin; of fewer where the series is younger."""
    if not _is_old(window, _SHORT):
        return _tracked(window, _SHORT, 1, levels)
    values = list(sliding_window_view(window.filled[:, window.first_origin - _SHORT + 1 :], _SHORT, axis=1)[:, : window.n_origins].transpose(2, 0, 1))
    for a, b in _NETWORK:
        values[a], values[b] = np.minimum(values[a], values[b]), np.maximum(values[a], values[b])
    past = np.empty((len(SCORED), window.n_series, window.n_origins), dtype=np.float32)
    for level, position in enumerate(np.clip(_SHORT * SCORED - 0.5, 0, _SHORT - 1)):
        below = int(position)
        past[level] = values[below]
        if position > below:
            past[level] += np.float32(position - below) * (values[below + 1] - values[below])
    return Told(past, rank(window.filled[:, -_SHORT:]).at(levels))


def tracked_long(window: Window, levels: NDArray[np.float64]) -> Told:
    """Return quantiles of the last 32 values; of fewer where the series is younger."""
    return _tracked(window, _LONG, _STRIDE, levels)


def tracked_always(window: Window, levels: NDArray[np.float64]) -> Told:
    """Return the quantiles of everything measured, the same at every origin."""
    ranked = rank(window.measured)
    past: Floats = np.broadcast_to(ranked.at(SCORED).T[:, :, None], (len(SCORED), window.n_series, window.n_origins))
    return Told(past, ranked.at(levels))


def _is_old(window: Window, n_back: int) -> bool:
    """Return whether every series has that many values at every origin."""
    return window.first_origin >= n_back - 1 + int(window.lead.max(initial=0))


def _tracked(window: Window, n_back: int, stride: int, levels: NDArray[np.float64]) -> Told:
    looks = np.arange(0, window.n_origins, stride)
    missing = max(n_back - 1 - window.first_origin, 0)
    padded = np.pad(window.filled, ((0, 0), (missing, 0)), constant_values=np.nan) if missing else window.filled
    start = window.first_origin + missing - n_back + 1
    rows = sliding_window_view(padded[:, start:], n_back, axis=1)[:, looks].reshape(-1, n_back)
    ranked = Ranked(np.sort(rows, axis=1)) if _is_old(window, n_back) else rank(rows)
    scored = ranked.at(SCORED).reshape(window.n_series, len(looks), len(SCORED))
    past = np.repeat(scored.transpose(2, 0, 1), stride, axis=2)[:, :, : window.n_origins]
    return Told(past, rank(window.filled[:, -n_back:]).at(levels))
