"""`allocate(state) -> plan`: the one pure function that any scheduler calls."""

from dataclasses import replace
from typing import TYPE_CHECKING

from libra_opt.domain.collector import collector_paused
from libra_opt.domain.options import Options
from libra_opt.domain.plan import Certificate, Horizon, Plan, Tier
from libra_opt.domain.state import State
from libra_opt.errors import BrokenPlanError

if TYPE_CHECKING:
    from libra_opt.formulation.decode import Decoded
    from libra_opt.formulation.program import Score
    from libra_opt.solvers import Bounds, Solution

__all__ = ["allocate"]

_CLOSED = 1e-9
"""A relative difference between bound and objective that is only rounding."""


@collector_paused()
def allocate(state: State) -> Plan:
    """Decide what every job gets in the next period.

    Pure: it reads no clock, file, dice or environment, so the same state gives the same bytes in every process. Every valid state has a plan,
    and no plan leaves unverified.

    Parameters
    ----------
    state
        The cluster, its queues and jobs, and the options.

    Returns
    -------
    Plan
        The best verified plan found, with a certificate that says how good it is and a reason for every job.

    Raises
    ------
    BrokenPlanError
        The plan broke a rule: our fault, please report the state.

    Examples
    --------
    >>> from libra_opt import State, allocate
    >>> state = State.model_validate({
    ...     "pools": [{"name": "a100", "capacity": {"gpu": 8}}],
    ...     "jobs": [{"id": "a", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 8}, "demand": {"gpu": 6}}],
    ... })
    >>> plan = allocate(state)
    >>> plan.jobs[0].action, dict(plan.jobs[0].stages[0].resources)["gpu"]
    ('admit', 6)
    """
    from libra_opt.forecast import describe, forecast  # noqa: PLC0415 - numpy and the solvers are paid for by calls, not by imports
    from libra_opt.formulation.decode import decode  # noqa: PLC0415
    from libra_opt.formulation.encode import encode  # noqa: PLC0415
    from libra_opt.formulation.lateness import lateness_told  # noqa: PLC0415
    from libra_opt.formulation.shadow import shadow_prices  # noqa: PLC0415
    from libra_opt.lookahead import look_ahead, write_ahead  # noqa: PLC0415
    from libra_opt.solvers import solve, value_levels  # noqa: PLC0415
    from libra_opt.verification import verify  # noqa: PLC0415

    expected = forecast(state)
    ledger = state.ledger.with_forecast(expected)
    program = encode(state, ledger)
    faults: list[str] = []
    for options in _attempts(state.options):
        solution = solve(program, options)
        outlook, told = look_ahead(state, ledger, solution) if options.lookahead > 1 and state.jobs else (None, "")
        priced = value_levels(solution)
        decoded = decode(state, ledger, solution.program, outlook.choice if outlook else solution.choice, priced.valued if priced else None)
        ahead = write_ahead(state, ledger, outlook, decoded.jobs) if outlook else None
        jobs, late = lateness_told(state, ahead.jobs if ahead else decoded.jobs)
        plan = Plan(
            state_digest=state.digest,
            period=state.period,
            jobs=jobs,
            certificate=_certify(decoded, solution, state.options, ahead.horizon if ahead else None, priced.bound if priced else None),
            utilisation=decoded.utilisation,
            cost_per_hour=decoded.cost_per_hour,
            prices=shadow_prices(ledger, solution.program, solution.prices) if solution.prices else (),
            forecast=describe(state, expected, looks_ahead=ahead is not None),
            ahead=ahead.periods if ahead else (),
            warnings=(*ledger.warnings, *late, *([told] if told else []), *faults),
        )
        report = verify(state, plan)
        if report.holds:
            return plan
        broken = "; ".join(f"{fault.rule} {fault.where}: {fault.message}" for fault in report.broken[:5])
        faults.append(f"our fault, please report this state: the plan of {options.backend}{_looking(options)} broke its own rules and was withheld ({broken})")
    raise BrokenPlanError(" / ".join(faults))


def _attempts(options: Options) -> tuple[Options, ...]:
    """Return the options to plan with, one after the other until a plan holds."""
    alone = options.replace({"lookahead": 1}) if options.lookahead > 1 else options
    return (*((options,) if options.lookahead > 1 else ()), alone, alone.replace({"backend": "greedy"}))


def _looking(options: Options) -> str:
    return f" over {options.lookahead} periods" if options.lookahead > 1 else ""


def _certify(decoded: "Decoded", solution: "Solution", options: Options, horizon: Horizon | None, priced_bound: float | None) -> Certificate:
    score = decoded.score
    bounds = _rounded(score, solution.bounds)
    gap = (bounds.value - score.value) / max(abs(bounds.value), abs(score.value), 1e-9)
    is_kept = (score.lost, score.over_seconds) == (bounds.lost, bounds.over_seconds)
    fair, is_fair = _divided(decoded, solution)
    if not is_fair:
        status = "fallback" if solution.is_fallback else "feasible"
    elif is_kept and score.shortfall == bounds.shortfall and gap == 0:
        status = "optimal"
    elif is_kept and score.shortfall <= bounds.shortfall + options.gap and gap <= options.gap:
        status = "within_gap"
    else:
        status = "fallback" if solution.is_fallback else "feasible"
    tiers = (
        Tier(name="protected_lost", objective=score.lost, bound=bounds.lost),
        Tier(name="over_budget_seconds", objective=score.over_seconds, bound=bounds.over_seconds),
        Tier(name="guarantee_shortfall", objective=score.shortfall, bound=bounds.shortfall),
        *fair,
        Tier(name="value", objective=score.value, bound=bounds.value),
    )
    limit = None if status in ("optimal", "within_gap") else solution.limit
    return Certificate(
        status=status,
        objective=score.value,
        bound=bounds.value,
        gap=gap,
        backend=solution.backend,
        limit=limit,
        tiers=tiers,
        horizon=horizon,
        priced_bound=None if priced_bound is None else max(priced_bound, score.value),
    )


def _divided(decoded: "Decoded", solution: "Solution") -> tuple[tuple[Tier, ...], bool]:
    """Return the tiers of a policy that divides fairly, and whether it is proven that nothing is fairer."""
    fairness = solution.program.fairness
    if fairness is None:
        return (), True
    divided = solution.divided
    if fairness.is_ordered:
        return (), divided is not None and divided.is_proven
    unserved, level = fairness.summary(decoded.service)
    if divided is None:
        return (Tier(name="unserved", objective=unserved, bound=0), Tier(name="level", objective=level, bound=max(fairness.top, level))), False
    least, most = (unserved, level) if divided.is_proven else (min(unserved, divided.unserved), max(level, divided.level))
    return (Tier(name="unserved", objective=unserved, bound=least), Tier(name="level", objective=level, bound=most)), divided.is_proven


def _rounded(score: "Score", bounds: "Bounds") -> "Bounds":
    """Return the bounds with differences that are only rounding closed."""

    def close(objective: float, bound: float, *, is_above: bool) -> float:
        difference = (bound - objective) if is_above else (objective - bound)
        return objective if difference <= _CLOSED * max(abs(objective), abs(bound), 1e-9) else bound

    return replace(
        bounds,
        lost=close(score.lost, bounds.lost, is_above=False),
        over_seconds=close(score.over_seconds, bounds.over_seconds, is_above=False),
        shortfall=close(score.shortfall, bounds.shortfall, is_above=False),
        value=close(score.value, bounds.value, is_above=True),
    )
