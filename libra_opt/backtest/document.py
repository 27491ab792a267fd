"""A backtest as a JSON document, format ``libra-opt/backtest/1``: everything but the single predictions."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.backtest.result import Backtest, ResourceResult, SetResult, judged
from libra_opt.backtest.run import BASELINES
from libra_opt.backtest.summary import Scores, better_on, checks, need, of_set, pooled

__all__ = ["document"]

_DECIMALS: Final = 6


def document(found: Backtest) -> dict[str, object]:
    """Return the whole backtest as plain JSON values; a number that does not exist is null."""
    pool = pooled(found)
    return {
        "format": "libra-opt/backtest/1",
        "judged": judged(found.methods),
        "levels": list(found.levels),
        "interval": list(found.interval),
        "horizon": found.horizon,
        "window": found.window,
        "most_origins": found.most_origins,
        "need_coverage": found.coverage,
        "sets": [_set(each, found.methods) for each in found.sets],
        "pooled": {
            "by_series": {method: _scores(scores) for method, scores in pool.by_series.items()},
            "by_set": {method: _scores(scores) for method, scores in pool.by_set.items()},
            "need": _need([resource for each in found.sets for resource in each.resources]),
            "better_on_series": {
                rival: dict(zip(("better", "same", "of"), better_on(found, rival), strict=True))
                for rival in found.methods
                if rival in BASELINES and rival != judged(found.methods)
            },
        },
        "checks": [{"name": each.name, "value": _number(each.value), "holds": each.holds} for each in checks(found)],
    }


def _set(one: SetResult, methods: Sequence[str]) -> dict[str, object]:
    recording = one.recording
    return {
        "name": recording.name,
        "title": recording.title,
        "source": recording.source,
        "synthetic": recording.synthetic,
        "period_seconds": recording.period_seconds,
        "recorded": list(recording.recorded),
        "derived": list(recording.derived),
        "assumed": list(recording.assumed),
        "scores": {method: _scores(of_set(one, method)) for method in methods},
        "need": _need(one.resources),
        "resources": [
            {
                "resource": each.resource,
                "unit": each.unit,
                "compressible": each.compressible,
                "n_series": len(each.labels),
                "n_predictions": each.n_predictions,
                "left_out": {"constant": each.constant, "short": each.short},
                "scores": {method: _scores(of_set(each, method)) for method in methods},
                "below": {method: [_number(value) for value in _columns(each.methods[method].below)] for method in methods},
                "need": _need((each,)),
                "series": [
                    {"label": label, "loss": {method: _number(float(each.methods[method].loss[i])) for method in methods}}
                    for i, label in enumerate(each.labels)
                ],
            }
            for each in one.resources
        ],
    }


def _scores(scores: Scores) -> dict[str, float | None]:
    return {
        "pinball": _number(scores.loss),
        "coverage": _number(scores.covered),
        "coverage_ties_shared": _number(scores.calibrated),
        "width": _number(scores.width),
    }


def _need(resources: Sequence[ResourceResult]) -> dict[str, object] | None:
    exceeded, periods, excess = need(resources)
    return {"exceeded": exceeded, "periods": periods, "share": _number(exceeded / periods), "excess": _number(excess)} if periods else None


def _number(value: float) -> float | None:
    return round(value, _DECIMALS) if math.isfinite(value) else None


def _columns(table: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in table.mean(axis=0)] if len(table) else []
