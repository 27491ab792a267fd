"""The forecast of a state: read the histories, ask the method, cover the needs; what a stage states itself wins."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain.forecast import Forecast, StageForecast
from libra_opt.domain.job import Stage
from libra_opt.domain.ledger import Ledger
from libra_opt.domain.options import ForecastOptions
from libra_opt.domain.quantity import LIMIT, UNLIMITED
from libra_opt.domain.state import State
from libra_opt.forecast.demand import demand_of
from libra_opt.forecast.describe import describe_block
from libra_opt.forecast.last_value import LastValue
from libra_opt.forecast.method import Method, Outlook
from libra_opt.forecast.need import STATED, Cover, cover, untold
from libra_opt.forecast.observations import Observations, observe
from libra_opt.forecast.outlook import Quantiles
from libra_opt.forecast.recurrence import Recurrence, recurrence
from libra_opt.forecast.staying import staying
from libra_opt.forecast.untried import untried, with_untried

__all__ = ["CPU", "forecast"]

CPU: Final = "cpu"
"""The resource that the CPU queue waits for."""


def forecast(state: State) -> Forecast:
    """Forecast every stage that gave a history instead of a demand.

    Returns
    -------
    Forecast
        By index of the ledger, ascending. Demands and needs are whole quanta, finite and not negative; a stage without a demand in
        the next period has no intensity. A need or a `demand_intensity` that the stage states is taken as it is.

    Raises
    ------
    MissingExtraError
        The method that the options name needs a package that is not installed.
    """
    ledger, options = state.ledger, state.options.forecast
    if not ledger.uncertain:
        return Forecast()
    stages = _stages(state)
    histories = [stages[s].history or () for s in ledger.uncertain]
    method: Method = LastValue() if options.method == "last_value" else Quantiles(options.method, options.horizon, state.options.lookahead)
    expected: dict[int, StageForecast] = {}
    waits_in = [stages[s].waits_in for s in ledger.uncertain]
    for observations in observe(histories, ledger.resources, state.period.index, waits_in):
        rows = [ledger.uncertain[i] for i in observations.stages]
        expected.update(_block(method, options, observations, rows, ledger, stages))
    return Forecast(tuple(sorted(expected.items())))


def _stages(state: State) -> dict[int, Stage]:
    uncertain = set(state.ledger.uncertain)
    placed = zip(state.jobs, state.ledger.stage_of, strict=True)
    return {s: stage for job, rows in placed if not uncertain.isdisjoint(rows) for s, stage in zip(rows, job.all_stages, strict=True)}


def _block(
    method: Method, options: ForecastOptions, observations: Observations, rows: list[int], ledger: Ledger, stages: dict[int, Stage]
) -> Iterator[tuple[int, StageForecast]]:
    ceiling = _ceiling(ledger, rows)
    demand = demand_of(observations, ceiling, _per_thread(ledger))
    unknown = untried(observations, ledger, rows)
    outlook = with_untried(method.predict(observations, demand), unknown, ledger, rows)
    like = _like_next(observations, options.horizon) if options.need == "own_step" else None
    stay = staying(observations.signals, len(rows), options.horizon) if options.need == "own_step" else None
    covered = cover(observations, ceiling, options.coverage, options.margin, like, stay)
    covered = _with_stated(_with_held(covered, untold(observations), np.minimum(_held(ledger, rows), ceiling)), rows, ledger, stages)
    demands: list[list[int]] = np.minimum(outlook.demand, _writable(ledger)).tolist()
    factors: list[list[float]] = outlook.intensity.tolist()
    needs: list[list[int]] = covered.need.tolist()
    idle = np.asarray(~outlook.demand.any(axis=1))
    certain = idle | (outlook.intensity == 1).all(axis=1)
    told = describe_block(method.name, outlook, observations, demand, covered, ledger, unknown)
    for i, s in enumerate(rows):
        intensity = () if certain[i] else tuple(factors[i])
        if ledger.intensity[s] and not idle[i]:
            intensity = ledger.intensity[s]
        ahead = tuple((tuple(later), ledger.intensity[s] if ledger.intensity[s] and any(later) else factors) for later, factors in _steps(outlook, i, ledger))
        yield s, StageForecast(tuple(demands[i]), tuple(needs[i]), intensity, *told[i], ahead)


def _steps(outlook: Outlook, i: int, ledger: Ledger) -> Iterator[tuple[list[int], tuple[float, ...]]]:
    """Yield demand and intensities of a stage in each period after the next."""
    most = _writable(ledger)
    for demand, intensity in outlook.ahead:
        quanta: list[int] = np.minimum(demand[i], most).tolist()
        factors: list[float] = intensity[i].tolist()
        yield quanta, tuple(factors) if any(quanta) and any(factor != 1 for factor in factors) else ()


def _like_next(observations: Observations, horizon: int) -> Recurrence:
    signals = observations.signals
    if signals is None:
        n_stages, n_periods, _ = observations.quanta.shape
        return Recurrence(np.zeros((n_stages, n_periods), np.uint8), np.zeros(n_stages, np.int64))
    return recurrence(signals.step, signals.phase, signals.progress, signals.waited, horizon)


def _held(ledger: Ledger, rows: list[int]) -> NDArray[np.int64]:
    """Return what stages hold now, shape ``(n_stages, n_resources)``."""
    nothing = (0,) * len(ledger.resources)
    return np.array([ledger.current[s] or nothing for s in rows], dtype=np.int64)


def _with_held(covered: Cover, is_untold: NDArray[np.bool_], held: NDArray[np.int64]) -> Cover:
    """Return needs that leave a stage what it holds where nothing is known of its present phase."""
    return replace(covered, need=np.where(is_untold, np.maximum(covered.need, held), covered.need))


def _with_stated(covered: Cover, rows: list[int], ledger: Ledger, stages: dict[int, Stage]) -> Cover:
    need, short, steps = covered.need.copy(), covered.short.copy(), None if covered.steps is None else covered.steps.copy()
    for i, s in enumerate(rows):
        stated = stages[s].need
        if stated:
            named = [r for r, resource in enumerate(ledger.resources) if resource.name in stated]
            need[i, named] = [ledger.need[s][r] for r in named]
            short[i, named] = False
            if steps is not None:
                steps[i, named] = STATED
    return Cover(need, short, np.where(short, covered.risk, 0), steps)


def _ceiling(ledger: Ledger, rows: list[int]) -> NDArray[np.int64]:
    """Return the most of each resource a stage may be said to need: its maximum, and what can still be written below 2^63 units."""
    return np.minimum(np.array([ledger.hi[s] for s in rows], dtype=np.int64), _writable(ledger))


def _writable(ledger: Ledger) -> NDArray[np.int64]:
    return np.array([min(UNLIMITED, (LIMIT - 1) // resource.step) for resource in ledger.resources], dtype=np.int64)


def _per_thread(ledger: Ledger) -> NDArray[np.float64]:
    """Return the quanta that a thread of the CPU queue waits for: one core, of the resource that counts them."""
    return np.array([resource.quanta(1, round_up=True) if resource.name == CPU else 0 for resource in ledger.resources], dtype=np.float64)
