"""The runner: every method predicts every cut of every series, and is scored on what came.

Pure: no clock, no dice. All methods get the same cuts. Predictions of many cuts are made in one call, as each row of a call is predicted by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.backtest import scoring
from libra_opt.backtest.origins import Cuts, cut
from libra_opt.backtest.result import Backtest, Example, Intervals, Need, ResourceResult, SetResult, judged
from libra_opt.forecast.need import cover_values
from libra_opt.forecast.quantiles import METHODS, predict_quantiles
from libra_opt.forecast.series import Series
from libra_opt.recordings.recording import Measured, Recording

__all__ = ["BASELINES", "LEVELS", "Settings", "backtest"]

BASELINES: Final = ("last_value", "ewma", "seasonal_naive")
"""What a forecast has to beat."""

LEVELS: Final = tuple(round(0.05 * i, 2) for i in range(1, 20))
"""Quantiles that are predicted: the first and the last bound the interval, all but the first are scored by the pinball loss."""

_AT_ONCE: Final = 4096


@dataclass(frozen=True, slots=True)
class Settings:
    """How to test.

    Attributes
    ----------
    methods
        Names that `predict_quantiles` takes.
    horizon
        Periods to predict from every origin.
    window
        Periods of history given at most.
    most_origins
        Origins per series at most.
    coverage
        Of the need.
    """

    methods: tuple[str, ...] = METHODS
    horizon: int = 1
    window: int = 128
    most_origins: int = 256
    coverage: float = 0.99


def backtest(recordings: Sequence[Recording], settings: Settings, tell: Callable[[str], None] = lambda _: None) -> Backtest:
    """Score every method on every recording.

    Parameters
    ----------
    recordings
        What was measured.
    settings
        How to test.
    tell
        Takes a line about what is being done.
    """
    sets = tuple(SetResult(each, tuple(_resource(each, measured, settings, tell) for measured in each.measured)) for each in recordings)
    return Backtest(sets, settings.methods, LEVELS[1:], (LEVELS[0], LEVELS[-1]), settings.horizon, settings.window, settings.most_origins, settings.coverage)


def _resource(recording: Recording, measured: Measured, settings: Settings, tell: Callable[[str], None]) -> ResourceResult:
    values = measured.series.measured
    constant = np.where(np.isnan(values), np.inf, values).min(axis=1, initial=np.inf) >= np.where(np.isnan(values), -np.inf, values).max(
        axis=1, initial=-np.inf
    )
    whole = cut(measured.series, horizon=settings.horizon, window=settings.window, most_origins=settings.most_origins)
    testable = np.bincount(whole.row[~np.isnan(whole.future).all(axis=1)], minlength=len(values)) > 0
    scored = np.flatnonzero(testable & ~constant)
    cuts = _only(whole, scored)
    scale = np.nanmean(values[scored], axis=1) if len(scored) else np.zeros(0)
    tell(f"{recording.name} {measured.resource}: {len(scored)} series, {len(cuts.row):,} origins")
    season = None if measured.season is None else np.array(measured.season, dtype=np.int64)[scored][cuts.row]
    methods: dict[str, Intervals] = {}
    example = None
    for method in settings.methods:
        predicted = _predict(cuts.history, method, settings.horizon, season)
        methods[method] = _score(cuts, predicted, scale)
        if method == judged(settings.methods) and len(scored):
            example = _example(cuts, predicted, methods[method].loss, [measured.labels[i] for i in scored])
    return ResourceResult(
        measured.resource,
        measured.unit,
        measured.compressible,
        tuple(measured.labels[i] for i in scored),
        int((~np.isnan(cuts.future)).sum()),
        int(constant.sum()),
        int((~testable & ~constant).sum()),
        methods,
        None if measured.compressible else _need(cuts, len(scored), settings.coverage),
        example,
    )


def _only(cuts: Cuts, scored: NDArray[np.int64]) -> Cuts:
    """Return the cuts of the series that are scored, numbered among them."""
    chosen = np.isin(cuts.row, scored)
    return Cuts(np.searchsorted(scored, cuts.row[chosen]), cuts.origin[chosen], _rows(cuts.history, chosen), cuts.future[chosen])


def _rows(series: Series, chosen: NDArray[np.bool_] | slice) -> Series:
    return Series(
        series.values[chosen],
        None if series.step is None else series.step[chosen],
        None if series.phase is None else series.phase[chosen],
        None if series.progress is None else series.progress[chosen],
    )


def _predict(history: Series, method: str, horizon: int, season: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return the predicted quantiles, shape ``(n_cuts, horizon, n_levels)``; the true season is for the seasonal naive alone."""
    blocks = [np.zeros((0, horizon, len(LEVELS)))]
    for start in range(0, len(history.values), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        period = season[block] if season is not None and method == "seasonal_naive" else None
        blocks.append(predict_quantiles(_rows(history, block), LEVELS, horizon=horizon, method=method, period=period).values)
    return np.concatenate(blocks)


def _score(cuts: Cuts, predicted: NDArray[np.float64], scale: NDArray[np.float64]) -> Intervals:
    levels = np.array(LEVELS)
    low, high = predicted[..., 0], predicted[..., -1]
    below = _per_series(scoring.below(predicted, levels, cuts.future), cuts.row, len(scale))
    return Intervals(
        _per_series(scoring.pinball(predicted[..., 1:], levels[1:], cuts.future), cuts.row, len(scale)) / scale,
        _per_series(scoring.covered(low, high, cuts.future), cuts.row, len(scale)),
        below[:, -1] - below[:, 0],
        _per_series(np.where(np.isnan(cuts.future), np.nan, high - low), cuts.row, len(scale)) / scale,
        below,
    )


def _per_series(scores: NDArray[np.float64], row: NDArray[np.int64], n_series: int) -> NDArray[np.float64]:
    """Return the mean over cuts and horizon of what is not NaN, shape ``(n_series, ...)`` of scores ``(n_cuts, horizon, ...)``."""
    known = ~np.isnan(scores)
    total = np.zeros((n_series, *scores.shape[2:]))
    count = np.zeros_like(total)
    np.add.at(total, row, np.where(known, scores, 0.0).sum(axis=1))
    np.add.at(count, row, known.sum(axis=1))
    return total / count


def _need(cuts: Cuts, n_series: int, coverage: float) -> Need:
    starts = range(0, len(cuts.row), _AT_ONCE)
    need = np.concatenate([np.zeros(0), *(cover_values(_rows(cuts.history, slice(start, start + _AT_ONCE)), coverage) for start in starts)])
    came = cuts.future[:, 0]
    known = ~np.isnan(came)
    row = cuts.row[known]
    over = scoring.covered(np.zeros(len(row)), need[known], came[known]) == 0
    periods = np.bincount(row, minlength=n_series)
    asked, used = (np.bincount(row, weights=values[known], minlength=n_series) for values in (need, came))
    excess = np.zeros(n_series)
    np.divide(asked - used, used, out=excess, where=used > 0)
    return Need(np.bincount(row[over], minlength=n_series), periods, excess)


def _example(cuts: Cuts, predicted: NDArray[np.float64], loss: NDArray[np.float64], labels: Sequence[str]) -> Example:
    chosen = int(np.argsort(loss, kind="stable")[len(loss) // 2])
    own = cuts.row == chosen
    first = predicted[own][:, 0]
    return Example(labels[chosen], cuts.origin[own], cuts.future[own][:, 0], first[:, 0], first[:, LEVELS.index(0.5)], first[:, -1])
