"""Why one job got what it got, and the cheapest change that would have admitted or grown it."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import ceil, log10
from typing import Final

from libra_opt.allocation import allocate
from libra_opt.domain import Plan, State
from libra_opt.errors import Fault, InputError
from libra_opt.explanation.bundle import wanted_bundle
from libra_opt.explanation.knobs import groups
from libra_opt.explanation.search import LARGE, Least, SpentError, Trials, few_steps, least_count, least_steps
from libra_opt.explanation.values import KINDS, Change, Explanation, Kind

__all__ = ["MOST_SOLVES", "explain"]

MOST_SOLVES: Final = 100
"""So many changed states are solved at most, unless told otherwise."""

_MOST_OF_LARGE: Final = 40
"""The same of states that are large."""

_CONFIRMED: Final = 3
"""So many changes of a large state are planned in full until one helps there too."""

_LIKELY: Final[dict[str, Kind]] = {
    "R1": "capacity",
    "R3": "max_quota",
    "R10": "queue_ceiling",
    "R11": "hold_periods",
    "R12": "preemption_budget",
    "R16": "cost_ceiling",
}
"""What is looked for first, by the rule that binds."""

_HIGHEST: Final = 12
_FINEST: Final = 64
_MOST_WEIGHT: Final = 1e12
_SATISFIED: Final = frozenset(("fully_served",))
_MOST_HOLD: Final = 1e6


def explain(state: State, job_id: str, plan: Plan | None = None, *, most_solves: int | None = None) -> Explanation:
    """Explain what a plan does to one job: the binding rule, the bundle it wanted and its price, and the cheapest change that helps.

    Pure, as `allocate` is. Every change that is told was checked: the changed state was planned, and the job runs where it did not, or is served better. Of a
    state of more than 60 jobs, only changes that say so (`Change.is_confirmed`) were planned as `allocate` does, the others with less effort.

    Parameters
    ----------
    state
        The state.
    job_id
        The job.
    plan
        The plan of the state; made here where it is not given.
    most_solves
        Most changed states that are solved on the way: 100 unless given, each of which takes about as long as planning the state; of more than 60 jobs, 40, of
        which all but three take about a fifth of that.

    Raises
    ------
    InputError
        There is no such job, or the plan is not of this state.

    Examples
    --------
    >>> from libra_opt import State, explain
    >>> state = State.model_validate({
    ...     "pools": [{"name": "a100", "capacity": {"gpu": 8}}],
    ...     "jobs": [{"id": "a", "demand": {"gpu": 8}}, {"id": "b", "min_quota": {"gpu": 4}, "demand": {"gpu": 4}, "weight": 0.4}],
    ... })
    >>> told = explain(state, "b")
    >>> told.action, told.reason.code, told.cheapest.settings
    ('queue', 'no_room', ('pools.a100.capacity.gpu=+3',))
    """
    names = [job.id for job in state.jobs]
    if job_id not in names:
        raise InputError("the call", (Fault("job", f"no job is called {job_id!r}; the state has {_listed(names)}"),))
    if plan is None:
        plan = allocate(state)
    elif plan.state_digest != state.digest or [job.id for job in plan.jobs] != names:
        raise InputError("the plan", (Fault("state_digest", "is not that of this state; give the plan that was made for it, or none"),))
    j = names.index(job_id)
    planned = plan.jobs[j]
    if planned.reason.code in _SATISFIED:
        return Explanation(
            job=job_id, action=planned.action, service=planned.service, reason=planned.reason, wanted=None, changes=(), why_none=_SERVED, solves=0
        )
    wanted = wanted_bundle(state, plan, j)
    trials = _trials(state, plan, j, most_solves)
    found, is_limit_hit = _search(trials, wanted)
    changes = sorted(_changes(trials, found), key=lambda change: (change.share, KINDS.index(change.kind), change.settings))
    changes = _confirmed(trials, changes) if trials.is_rough else changes
    why = "" if changes else _why_none(planned.reason.code, trials, is_limit_hit=is_limit_hit)
    return Explanation(
        job=job_id,
        action=planned.action,
        service=planned.service,
        reason=planned.reason,
        wanted=wanted,
        changes=tuple(changes),
        why_none=why,
        solves=trials.solves,
        is_limit_hit=is_limit_hit,
    )


_SERVED: Final = "It is served in full; nothing would serve it better."


def _trials(state: State, plan: Plan, j: int, most_solves: int | None) -> Trials:
    """Return how changed states are solved: in full where the state is small, and where a plan made with less effort serves the job otherwise anyway."""
    if len(state.jobs) <= LARGE:
        return Trials(state, plan, j, MOST_SOLVES if most_solves is None else most_solves)
    most = _MOST_OF_LARGE if most_solves is None else most_solves
    trials = Trials(state, plan, j, most, is_rough=True, kept=min(most, _CONFIRMED))
    try:
        is_moved = trials.helps(())
    except SpentError:
        is_moved = False
    if is_moved:
        return Trials(state, plan, j, min(most, most_solves or 2 * _CONFIRMED), solves=trials.solves)
    return trials


def _search(trials: Trials, wanted: object) -> tuple[list[tuple[Kind, Least]], bool]:
    """Return what was found, kind by kind, and whether the solves were spent on the way."""
    from libra_opt.forecast import forecast  # noqa: PLC0415 - heavy

    state = trials.state
    ledger = state.ledger.with_forecast(forecast(state))
    some = groups(state, ledger, trials.plan, trials.j, wanted)  # type: ignore[arg-type]
    is_large = len(state.jobs) > LARGE
    look_for = few_steps if is_large else least_steps
    alone = [group for group in some if group.kind != "several"]
    likely = _likely(trials) if is_large else None
    order: list[tuple[Kind, Callable[[Least], None]]] = [
        *((group.kind, partial(look_for, trials, group)) for group in alone if not is_large or group.kind == likely),
        ("hold_periods", partial(_hold, trials)),
        ("priority", partial(_priority, trials)),
        ("weight", partial(_weight, trials)),
        *((group.kind, partial(look_for, trials, group)) for group in alone if is_large and group.kind != likely),
    ]
    found: list[tuple[Kind, Least]] = []
    try:
        for kind, look in order:
            found.append((kind, Least()))
            look(found[-1][1])
        if not any(least.settings for _, least in found):
            for group in some:
                if group.kind == "several":
                    found.append((group.kind, Least()))
                    look_for(trials, group, found[-1][1])
    except SpentError:
        return found, True
    return found, False


def _likely(trials: Trials) -> Kind | None:
    """Return what the reason of the job points to."""
    binding = trials.plan.jobs[trials.j].reason.binding
    return None if binding is None else _LIKELY.get(binding.rule)


def _hold(trials: Trials, found: Least) -> None:
    """Let plans hold longer, where the charge of moving is what stands in the way."""
    if trials.plan.jobs[trials.j].reason.code != "move_not_worth_it":
        return
    hold = trials.state.options.hold_periods

    def enough(doublings: int) -> bool:
        periods = min(_MOST_HOLD, hold * 2.0**doublings)
        is_enough = doublings > 0 and trials.helps([f"options.hold_periods={periods:g}"])
        if is_enough:
            found.settings, found.share = (f"options.hold_periods={periods:g}",), 1 - hold / periods
        return is_enough

    if enough(6):
        least_count(enough, 6)


def _priority(trials: Trials, found: Least) -> None:
    """Raise the job's class of priority."""
    job = trials.state.jobs[trials.j]
    if trials.state.options.priority_base == 1 or job.priority >= _HIGHEST or not job.weight:
        return

    def enough(classes: int) -> bool:
        is_enough = classes > 0 and trials.helps([f"jobs.{job.id}.priority=={job.priority + classes}"])
        if is_enough:
            found.settings = (f"jobs.{job.id}.priority=={job.priority + classes}",)
        return is_enough

    most = _HIGHEST - job.priority
    if enough(1) or enough(most):
        least_count(enough, 1 if found.settings[0].endswith(f"={job.priority + 1}") else most)
        found.is_least = True


def _weight(trials: Trials, found: Least) -> None:
    """Raise the job's weight, in steps of about a tenth."""
    job = trials.state.jobs[trials.j]
    weight = job.weight or 1.0

    def enough(tenths: int) -> bool:
        raised = _rounded_up(weight * 10 ** (tenths / 24))
        is_enough = (tenths > 0 or not job.weight) and trials.helps([f"jobs.{job.id}.weight={raised:g}"])
        if is_enough:
            found.settings = (f"jobs.{job.id}.weight={raised:g}",)
        return is_enough

    for most in (24, 96, 288):
        if weight * 10 ** (most / 24) <= _MOST_WEIGHT and enough(most):
            least_count(enough, most)
            found.is_least = True
            return


def _rounded_up(number: float) -> float:
    digits = 2 - int(log10(number)) if number >= 1 else 3 - int(log10(number))
    return float(ceil(number * 10.0**digits) / 10.0**digits)


def _changes(trials: Trials, found: list[tuple[Kind, Least]]) -> Iterator[Change]:
    told: set[tuple[str, ...]] = set()
    for kind, least in found:
        if not least.settings or least.settings in told:
            continue
        told.add(least.settings)
        plan = trials.plan_of(least.settings)
        assert plan is not None  # noqa: S101 - it was solved before
        job = plan.jobs[trials.j]
        share = _moved(trials, plan) if kind in ("weight", "priority") else least.share
        yield Change(
            kind=kind,
            settings=least.settings,
            share=share,
            is_least=least.is_least and not trials.is_rough,
            is_confirmed=not trials.is_rough,
            action=job.action,
            service=job.service,
            value=plan.certificate.objective,
        )


def _confirmed(trials: Trials, changes: Sequence[Change]) -> list[Change]:
    """Return the changes with the cheapest that helps planned in full, those before it that do not help there left out."""
    found = list(changes)
    for change in changes[:_CONFIRMED]:
        try:
            plan = trials.plan_of(change.settings, in_full=True)
        except SpentError:
            break
        at = found.index(change)
        if plan is None or not trials.is_better(plan):
            del found[at]
            continue
        job = plan.jobs[trials.j]
        outcome = {"action": job.action, "service": job.service, "value": plan.certificate.objective, "is_confirmed": True}
        found[at] = change.replace(outcome)
        break
    return found


def _moved(trials: Trials, plan: Plan) -> float:
    """Return the largest share of the cluster of any resource that the job gets more of, which others have to give."""
    ledger = trials.state.ledger
    shares = [0.0]
    for r, resource in enumerate(ledger.resources):
        total = sum(row[r] for row in ledger.capacity)
        before, after = (
            sum(resource.quanta(stage.resources.get(resource.name, 0), round_up=False) for stage in made.jobs[trials.j].stages) for made in (trials.plan, plan)
        )
        shares.append((after - before) / total if total else 0.0)
    return max(shares)


def _why_none(code: str, trials: Trials, *, is_limit_hit: bool) -> str:
    if is_limit_hit:
        return f"None was found among the {trials.solves} changed states that were solved; allow more solves and ask again."
    if code == "never_fits":
        return "It fits nowhere, and no larger pool, quota or maximum lets it run: its minima, units, memory per card and pools contradict each other."
    if code == "own_limit":
        return "It has the most that its curve allows; more of anything does not serve it better."
    return "Neither more of any pool, quota, maximum or budget nor a higher priority changes what it gets: running it, or running it better, adds no value."


def _listed(names: list[str], most: int = 20) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "no jobs"
