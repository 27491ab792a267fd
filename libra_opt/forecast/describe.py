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


def describe(state: State, forecast: Forecast, *, looks_ahead: bool = True) -> tuple[Forecasted, ...]:
    """Return the plan's section on what was forecast, of later periods where the plan looks ahead.

    Amounts parse back to the quanta of the forecast; `demand` names the compressible resources and `need` the others.
    """
    if not forecast.stages:
        return ()
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
            ahead=tuple(
                ForecastedAhead(demand=amounts(demand, compressible=True), demand_intensity=factors)
                for demand, factors in (expected[s].ahead if looks_ahead else ())
            ),
        )
        for job, rows in zip(state.jobs, state.ledger.stage_of, strict=True)
        if any(s in expected for s in rows)
        for s, stage in zip(rows, job.all_stages, strict=True)
        if s in expected
    )


def describe_block(
    method: str, outlook: Outlook, observations: Observations, demand: Demand, covered: Cover, ledger: Ledger, unknown: NDArray[np.bool_]
) -> list[tuple[str, str]]:
    """Return, for each stage of a block, how it was forecast, and what that rests on in a sentence.

    Parameters
    ----------
    unknown
        Shape ``(n_stages, n_resources)``: what is taken from the max quota (`untried`).
    """
    names = [resource.name for resource in ledger.resources]
    compressible = [name for name, flag in zip(names, observations.compressible.tolist(), strict=True) if flag]
    n_known: list[int] = observations.known.any(axis=2).sum(axis=1).tolist()
    raised = demand.last_raised > 0
    remarkable = (np.asarray(n_known) == 0) | covered.short.any(axis=1) | raised.any(axis=1)
    own = np.zeros(covered.need.shape, np.bool_) if covered.steps is None else covered.steps > 0
    told = []
    for i, n in enumerate(n_known):
        leading = outlook.leading[i] if outlook.leading else method
        name = f"{method}: {leading}" if n and leading != method else method
        why = f"Predicted by {leading} from {n} {'period' if n == 1 else 'periods'} measured."
        if remarkable[i]:
            shares = [f"{covered.risk[i, r]:.0%} of periods{' at this place' if own[i, r] else ''} for {names[r]}" for r in np.flatnonzero(covered.short[i])]
            name, why = _remarks(name, why, n, _named(covered.short[i], names), ", ".join(shares), _named(raised[i], compressible))
        if unknown[i].any():
            why += " It stands before a phase of which nothing was ever measured, so it is taken to use all that max_quota allows and the cluster has."
        told.append((name, why))
    if covered.steps is None:
        return told
    rests = _rests_on(covered.steps, observations.known, observations.compressible, names)
    return [(name, why + rest) for (name, why), rest in zip(told, rests, strict=True)]


def _rests_on(steps: NDArray[np.int64], known: NDArray[np.bool_], compressible: NDArray[np.bool_], names: list[str]) -> list[str]:
    """Return, for each stage, a sentence for each kind of need that it has: those of its own steps, and those of the whole history."""
    own = steps > 0
    whole = (steps == 0) & ~compressible & known.any(axis=1)
    fewest = np.where(own, steps, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    rests = []
    for i, n_steps in enumerate(fewest.tolist()):
        rest = f" The need of {_named(own[i], names)} covers this place, and what follows it, in the last {n_steps} steps." if own[i].any() else ""
        if whole[i].any():
            rest += f" The need of {_named(whole[i], names)} covers the whole history, as too few earlier steps are known to have come to this place."
        rests.append(rest)
    return rests


def _named(chosen: NDArray[np.bool_], names: list[str]) -> str:
    return ", ".join(names[r] for r in np.flatnonzero(chosen).tolist())


def _remarks(name: str, why: str, n_known: int, cut: str, shares: str, held_back: str) -> tuple[str, str]:
    remarks = [] if n_known else ["no observations"]
    if not n_known:
        why = "Nothing was measured, so nothing is expected."
    if held_back:
        why += f" {held_back} ran at its allocation or had a queue, so more is assumed than was used."
    if cut:
        remarks.append(f"need of {cut} cut to max_quota")
        why += f" The need is cut to max_quota, which about {shares} go beyond: the stage may run out of memory."
    return (f"{name} ({'; '.join(remarks)})" if remarks else name), why
