"""The forecast of a state: read the histories, ask the method, cover the needs; what a stage states itself wins."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain.forecast import Forecast, StageForecast
from libra_opt.domain.job import Stage
from libra_opt.domain.ledger import Ledger
from libra_opt.domain.quantity import LIMIT, UNLIMITED
from libra_opt.domain.state import State
from libra_opt.forecast.last_value import LastValue
from libra_opt.forecast.method import Method
from libra_opt.forecast.need import Cover, cover
from libra_opt.forecast.observations import Observations, observe

__all__ = ["forecast"]


def forecast(state: State) -> Forecast:
    """Forecast every stage that gave a history instead of a demand.

    Returns
    -------
    Forecast
        By index of the ledger, ascending. Demands and needs are whole quanta, finite and not negative; a stage without a demand in
        the next period has no intensity. A need or a `demand_intensity` that the stage states is taken as it is.
    """
    ledger = state.ledger
    if not ledger.uncertain:
        return Forecast()
    stages = _stages(state)
    histories = [stages[s].history or () for s in ledger.uncertain]
    expected: dict[int, StageForecast] = {}
    for observations in observe(histories, ledger.resources):
        rows = [ledger.uncertain[i] for i in observations.stages]
        expected.update(_block(LastValue(), observations, rows, ledger, stages))
    return Forecast(tuple(sorted(expected.items())))


def _stages(state: State) -> dict[int, Stage]:
    uncertain = set(state.ledger.uncertain)
    placed = zip(state.jobs, state.ledger.stage_of, strict=True)
    return {s: stage for job, rows in placed if not uncertain.isdisjoint(rows) for s, stage in zip(rows, job.all_stages, strict=True)}


def _block(method: Method, observations: Observations, rows: list[int], ledger: Ledger, stages: dict[int, Stage]) -> Iterator[tuple[int, StageForecast]]:
    outlook = method.predict(observations)
    covered = _with_stated(cover(observations, _ceiling(ledger, rows)), rows, ledger, stages)
    demands: list[list[int]] = outlook.demand.tolist()
    factors: list[list[float]] = outlook.intensity.tolist()
    needs: list[list[int]] = covered.need.tolist()
    idle = np.asarray(~outlook.demand.any(axis=1))
    certain = idle | (outlook.intensity == 1).all(axis=1)
    measured = np.asarray(observations.known.any(axis=(1, 2)))
    plain = measured & ~covered.short.any(axis=1)
    for i, s in enumerate(rows):
        intensity = () if certain[i] else tuple(factors[i])
        if ledger.intensity[s] and not idle[i]:
            intensity = ledger.intensity[s]
        described = method.name if plain[i] else _described(method.name, ledger, measured=bool(measured[i]), short=covered.short[i])
        yield s, StageForecast(tuple(demands[i]), tuple(needs[i]), intensity, described)


def _with_stated(covered: Cover, rows: list[int], ledger: Ledger, stages: dict[int, Stage]) -> Cover:
    need, short = covered.need.copy(), covered.short.copy()
    for i, s in enumerate(rows):
        stated = stages[s].need
        if stated:
            named = [r for r, resource in enumerate(ledger.resources) if resource.name in stated]
            need[i, named] = [ledger.need[s][r] for r in named]
            short[i, named] = False
    return Cover(need, short)


def _ceiling(ledger: Ledger, rows: list[int]) -> NDArray[np.int64]:
    """Return the most of each resource a stage may be said to need: its maximum, and what can still be written below 2^63 units."""
    writable = [min(UNLIMITED, (LIMIT - 1) // resource.step) for resource in ledger.resources]
    return np.minimum(np.array([ledger.hi[s] for s in rows], dtype=np.int64), np.array(writable, dtype=np.int64))


def _described(method: str, ledger: Ledger, *, measured: bool, short: NDArray[np.bool_]) -> str:
    remarks = [] if measured else ["no observations"]
    if short.any():
        remarks.append(f"need of {', '.join(ledger.resources[r].name for r in np.flatnonzero(short).tolist())} cut to max_quota")
    return f"{method} ({'; '.join(remarks)})"
