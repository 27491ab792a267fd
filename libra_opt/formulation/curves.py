"""R6: service as a function of the level, and the pace level as its inverse, for all stages at once.

Every stage's service curve is the mean over its intensities of its own concave curve, which is again concave and piecewise linear; here it is
kept as breakpoints, cut off at the stage's top, the least level at which it is as high as it gets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.quantity import exact
from libra_opt.formulation.tables import Tables

__all__ = ["ServiceCurves", "service_curves"]

_AT_ONCE = 1_000
"""The mean service is worked out for so many levels at once."""

_SAME = 1 + 1e-15
"""Services within this ratio differ by rounding alone."""

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ServiceCurves:
    """Breakpoints of all stages' service curves.

    Attributes
    ----------
    level, service
        Breakpoints, shape ``(n_stages, n_points)``, strictly increasing along a row and padded with infinity. An idle stage has the
        single point (0, its service).
    top, peak
        Level and service at the last breakpoint, shape ``(n_stages,)``.
    """

    level: _Floats
    service: _Floats
    top: _Floats
    peak: _Floats

    def at(self, stage: _Indices, level: _Floats) -> _Floats:
        """Return the service of each stage at each level, both of shape ``(n,)``."""
        return _interpolate(self.level, self.service, self.top, stage, level)

    def pace(self, stage: _Indices, service: _Floats) -> _Floats:
        """Return the least level at which each stage has each service, both of shape ``(n,)``; above its peak, the top."""
        least = self.service[:, 0]
        if least.any():  # what is above it by rounding alone needs no level; what is above 0 is so in earnest
            service = np.where(service <= least[stage] * _SAME, least[stage], service)
        return _interpolate(self.service, self.level, self.peak, stage, service)


def service_curves(ledger: Ledger, tables: Tables) -> ServiceCurves:
    """Return the service curves of all stages, in canonical order."""
    kinds: dict[tuple[tuple[float, ...], Sequence[tuple[object, object]] | None, bool], int] = {}
    wanted = np.asarray(tables.demand.any(axis=1))
    if len(wanted) and wanted.all() and not any(ledger.intensity) and not any(ledger.curve):
        kinds[(), None, True] = 0
        kind = np.zeros(len(wanted), dtype=np.intp)
    else:
        rows = zip(tables.stage.tolist(), wanted.tolist(), strict=True)
        kind = np.array([kinds.setdefault((ledger.intensity[s], ledger.curve[s], demands), len(kinds)) for s, demands in rows], dtype=np.intp)
    points = [_breakpoints(*key) for key in kinds]
    width = max((len(levels) for levels, _ in points), default=1)
    level, service = np.full((width, len(points)), np.inf), np.full((width, len(points)), np.inf)
    for i, (levels, services) in enumerate(points):
        level[: len(levels), i] = levels
        service[: len(services), i] = services
    top = np.array([levels[-1] for levels, _ in points])
    peak = np.array([services[-1] for _, services in points])
    # Point by point in memory, as the points of many stages are compared at once.
    return ServiceCurves(level.take(kind, axis=1).T, service.take(kind, axis=1).T, top[kind], peak[kind])


@lru_cache(maxsize=4096)
def _breakpoints(intensity: tuple[float, ...], curve: Sequence[tuple[object, object]] | None, has_demand: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:  # noqa: FBT001
    own = [(0.0, 0.0), (1.0, 1.0)] if curve is None else [(float(x), float(y)) for x, y in curve]  # type: ignore[arg-type]
    shares, services = [x for x, _ in own], [y for _, y in own]
    factors = [float(exact(m)) for m in intensity] or [1.0]
    if not has_demand or not any(factors) or services[-1] == services[0]:
        return (0.0,), (services[-1],)
    levels = sorted({0.0} | {factor * share for factor in factors for share in shares if factor > 0})
    height = [service for begin in range(0, len(levels), _AT_ONCE) for service in _mean_services(levels[begin : begin + _AT_ONCE], factors, shares, services)]
    peak = next(i for i, value in enumerate(height) if value >= height[-1] * (1 - 1e-15))
    return tuple(levels[: peak + 1]), tuple(height[: peak + 1])


def _mean_services(levels: Sequence[float], factors: Sequence[float], shares: Sequence[float], services: Sequence[float]) -> list[float]:
    by_factor = np.full((len(levels), len(factors)), services[-1])
    for i, factor in enumerate(factors):
        if factor > 0:
            by_factor[:, i] = np.interp(np.divide(levels, factor), shares, services)
    means: list[float] = by_factor.mean(axis=1).tolist()
    return means


def _interpolate(known: _Floats, wanted: _Floats, limit: _Floats, row: _Indices, value: _Floats) -> _Floats:
    value = np.minimum(value, limit[row])
    if known.shape[1] == 2 and np.array_equal(known, wanted):
        return np.asarray(np.where(value <= known[row, 0], wanted[row, 0], value))
    right = np.minimum((known.T.take(row, axis=1) < value).sum(axis=0), known.shape[1] - 1)
    left = np.maximum(right - 1, 0)
    x0, x1, y0, y1 = known[row, left], known[row, right], wanted[row, left], wanted[row, right]
    with np.errstate(invalid="ignore", divide="ignore"):
        between = y0 + (value - x0) * ((y1 - y0) / (x1 - x0))
    return np.asarray(np.where(right == left, y0, between))
