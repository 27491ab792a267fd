"""From what was observed to the state that is planned.

The setpoint comes into its options, ages and begun steps into its weights, the cards that jobs use in the mean over their steps into their rates; what was
refused is left as it is.
"""

from collections.abc import Sequence
from typing import Any, Final

from libra_opt.controller.follow import holds_of
from libra_opt.controller.memory import Followed, Memory
from libra_opt.domain import Amounts, Job, Options, Stage, State
from libra_opt.domain.ledger import CARDS
from libra_opt.domain.quantity import parse
from libra_opt.feedback import planned_weight, planning
from libra_opt.forecast.mean_cards import ToldCards, mean_cards
from libra_opt.forecast.step_done import step_done
from libra_opt.scheduler import Observed

__all__ = ["prepare"]

_DIGITS: Final = 6


def prepare(observed: Observed, options: Options, memory: Memory, now: float) -> Observed:
    """Return the state to plan, with a note for everything that is not as it was observed.

    Parameters
    ----------
    observed
        What was observed, declared and measured; its period is the one that is planned.
    options
        As configured, put over those that the scheduler states; never those of the period before.
    memory
        What is remembered for this period.
    now
        Seconds of the epoch.
    """
    state, notes = observed.state, list(observed.notes)
    followed = {job.id: job for job in memory.jobs}
    refused = {refusal.job: refusal for refusal in memory.refusals if refusal.job is not None and refusal.until > state.period.index}
    some_wait = any(job.waiting_since is not None and job.waiting_since < now for job in memory.jobs)
    stated = state.options.replace({name: getattr(options, name) for name in options.model_fields_set})
    jobs: list[Job] = []
    for asking in _valued([_with_demand(job, notes) for job in state.jobs], state, stated):
        job = _weighed(asking, followed[asking.id], memory, now, some_wait=some_wait)
        refusal = refused.get(job.id)
        if refusal is None:
            jobs.append(job)
            continue
        does = "is kept as it is" if holds_of(job) else "is left waiting"
        notes.append(f"job {job.id!r} {does} until period {refusal.until}: {refusal.text!r} was refused ({refusal.message})")
        jobs += [_pinned(job, state)] if holds_of(job) else []
    return Observed(state=state.replace({"jobs": tuple(jobs), "options": planning(stated, memory.setpoint)}), notes=tuple(notes))


def _valued(jobs: Sequence[Job], state: State, options: Options) -> Sequence[Job]:
    """Return the jobs, with the cards that they use in the mean over their steps where they state no rate."""
    resource = next((each for each in state.resources if each.name == CARDS), None)
    if resource is None or options.throughput == "jobs":
        return jobs
    told = [ToldCards([stage.history or () for stage in job.all_stages], _asked(job, resource.unit)) for job in jobs]
    found = mean_cards(told, resource.unit, state.period.seconds)
    states_none = [getattr(job.rates, options.throughput) is None and job.rates.cards is None for job in jobs]
    return [
        job.replace({"rates": job.rates.replace({"cards": round(cards, _DIGITS)})}) if is_told and cards is not None else job
        for job, cards, is_told in zip(jobs, found, states_none, strict=True)
    ]


def _asked(job: Job, unit: str) -> float:
    return sum(float(parse(stage.demand.get(CARDS, 0), unit)) for stage in job.all_stages if stage.demand)


def _weighed(job: Job, followed: Followed, memory: Memory, now: float, *, some_wait: bool) -> Job:
    done = step_done(stage.history or () for stage in job.all_stages) if some_wait else 0.0
    weight = planned_weight(job.weight, waited_seconds=followed.waited_seconds, done=done, some_wait=some_wait, setpoint=memory.setpoint)
    changes: dict[str, Any] = {"weight": weight}
    if followed.running_since is not None and "running_seconds" not in job.model_fields_set:
        changes["running_seconds"] = max(0.0, now - followed.running_since)
    return job.replace(changes)


def _with_demand(job: Job, notes: list[str]) -> Job:
    """Return a job that says of every stage what it asks for: nobody who is silent is taken to be idle."""
    silent = [stage.name for stage in job.all_stages if stage.demand is None and not stage.history]
    if not silent:
        return job
    notes.append(f"nothing says what {', '.join(silent)} of job {job.id!r} can use: taken to be what it holds, else its max_quota, else its min_quota")
    stages = tuple(_asking(stage) if stage.name in silent else stage for stage in job.all_stages)
    if job.is_shorthand:
        return job.replace({"demand": stages[0].demand})
    return job.replace({"stages": stages})


def _asking(stage: Stage) -> Stage:
    held = stage.allocation.resources if stage.allocation is not None else None
    return stage.replace({"demand": held or stage.max_quota or stage.min_quota, "history": None})


def _pinned(job: Job, state: State) -> Job:
    """Return a running job that can only be kept exactly as it is."""
    stages = tuple(_kept(stage, state) for stage in job.all_stages)
    given = {name: getattr(job, name) for name in job.model_fields_set}
    if job.is_shorthand:
        own = {name: value for name, value in given.items() if name not in ("unit", "pools")}
        return Job.model_validate({**own, "preemptible": False, **_fields(stages[0], ("name",))})
    return Job.model_validate({**given, "preemptible": False, "stages": stages})


def _kept(stage: Stage, state: State) -> Stage:
    held = stage.allocation.resources if stage.allocation is not None else Amounts()
    most = Amounts({resource.name: held.get(resource.name, 0) for resource in state.resources})
    pools = {"pools": (stage.allocation.pool,)} if stage.allocation is not None else {}
    return Stage.model_validate({**_fields(stage, ("unit", "pools")), "min_quota": held, "max_quota": most, **pools})


def _fields(stage: Stage, but: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(stage, name) for name in stage.model_fields_set if name not in but}
