"""The forecast as a plan tells it: amounts as people write them."""

from collections.abc import Sequence
from functools import cache

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.forecast import Forecast
from libra_opt.domain.plan import Forecasted
from libra_opt.domain.quantity import WrittenAmount
from libra_opt.domain.state import State

__all__ = ["describe"]


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
        )
        for job, rows in zip(state.jobs, state.ledger.stage_of, strict=True)
        if any(s in expected for s in rows)
        for s, stage in zip(rows, job.all_stages, strict=True)
        if s in expected
    )
