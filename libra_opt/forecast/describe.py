"""The forecast as a plan tells it: amounts as people write them, and what each forecast rests on."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.forecast import Forecast
from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import Forecasted, ForecastedAhead
from libra_opt.domain.quantity import WrittenAmount
from libra_opt.domain.state import State
from libra_opt.forecast.demand import Demand
from libra_opt.forecast.method import Outlook
from libra_opt.forecast.need import Cover
from libra_opt.forecast.observations import Observations

__all__ = ["describe", "describe_block"]


def describe(state: State, forecast: Forecast) -> tuple[Forecasted, ...]:
    """Return the plan's section on what was forecast.

    Amounts parse back to the quanta of the forecast; `demand` names the compressible resources and `need` the others.
    """
    resources = state.ledger.resources

    @cache
    def write(r: int, quanta: int) -> WrittenAmount:
        return resources[r].write(quanta)

    def amounts(quanta: Sequence[int], *, compressible: bool) -> Amounts:
        return Amounts({resource.name: write(r, quanta[r]) for r, resource in enumerate(resources) if resource.compressible == compressible})

    expected = dict(forecast.stages)
    return tuple(
        Forecasted(
            job=job.id,
            stage=stage.name,
            method=expected[s].method,
            demand=amounts(expected[s].demand, compressible=True),
            demand_intensity=expected[s].intensity,
            need=amounts(expected[s].need, compressible=False),
            why=expected[s].why,
            ahead=tuple(ForecastedAhead(demand=amounts(demand, compressible=True), demand_intensity=factors) for demand, factors in expected[s].ahead),
        )
        for job, rows in zip(state.jobs, state.ledger.stage_of, strict=True)
        if any(s in expected for s in rows)
        for s, stage in zip(rows, job.all_stages, strict=True)
        if s in expected
    )


def describe_block(method: str, outlook: Outlook, observations: Observations, demand: Demand, covered: Cover, ledger: Ledger) -> list[tuple[str, str]]:
    """Return, for each stage of a block, how it was forecast, and what that rests on in a sentence."""
    names = [resource.name for resource in ledger.resources]
    compressible = [name for name, flag in zip(names, observations.compressible.tolist(), strict=True) if flag]
    n_known: list[int] = observations.known.any(axis=2).sum(axis=1).tolist()
    raised = demand.last_raised > 0
    remarkable = (np.asarray(n_known) == 0) | covered.short.any(axis=1) | raised.any(axis=1)
    told = []
    for i, n in enumerate(n_known):
        leading = outlook.leading[i] if outlook.leading else method
        name = f"{method}: {leading}" if n and leading != method else method
        why = f"Predicted by {leading} from {n} {'period' if n == 1 else 'periods'} measured."
        if remarkable[i]:
            name, why = _remarks(name, why, n, covered.short[i], covered.risk[i], raised[i], names, compressible)
        told.append((name, why))
    return told


def _remarks(
    name: str, why: str, n_known: int, short: NDArray[np.bool_], risk: NDArray[np.float64], raised: NDArray[np.bool_], names: list[str], compressible: list[str]
) -> tuple[str, str]:
    remarks = [] if n_known else ["no observations"]
    if not n_known:
        why = "Nothing was measured, so nothing is expected."
    if raised.any():
        held_back = ", ".join(compressible[r] for r in np.flatnonzero(raised).tolist())
        why += f" {held_back} ran at its allocation or had a queue, so more is assumed than was used."
    if short.any():
        cut = [names[r] for r in np.flatnonzero(short).tolist()]
        remarks.append(f"need of {', '.join(cut)} cut to max_quota")
        shares = ", ".join(f"{risk[r]:.0%} of periods for {names[r]}" for r in np.flatnonzero(short).tolist())
        why += f" The need is cut to max_quota, which about {shares} go beyond: the stage may run out of memory."
    return (f"{name} ({'; '.join(remarks)})" if remarks else name), why
