"""Agentic post-training on a shared cluster: jobs arrive as they like, roll out trajectories with tools, score, update and keep what they learnt from.

Most jobs are colocated (`colocated`), the others disaggregated (`disaggregated`). What they need follows from a model's size and a drawn batch; see there for
the sources. Everything is drawn, nothing was measured.
"""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import numpy as np

from libra_opt.domain import About, ObservationNoise, PreemptionCost, Restart, Step, Workload, WorkloadJob
from libra_opt.domain.base import Real, Value, WholeNumber
from libra_opt.simulation.workloads.colocated import COLOCATED_SOURCES, colocated_step
from libra_opt.simulation.workloads.declared import DECLARED_SOURCES, declared
from libra_opt.simulation.workloads.disaggregated import DISAGGREGATED_SOURCES, STAGES, disaggregated_step
from libra_opt.simulation.workloads.hardware import NODE_SOURCE, h100_pool
from libra_opt.simulation.workloads.models import MODEL_SOURCES, MODELS
from libra_opt.simulation.workloads.profile import PROFILE_SOURCES, Profile, draw_profile
from libra_opt.simulation.workloads.trajectories import TRAJECTORY_SOURCES

__all__ = ["Agentic", "agentic"]

_STEPS: Final = (3, 16)
_MEDIAN_STEPS: Final = 5
_STEPS_SPREAD: Final = 0.5
_SLACK: Final = (1.5, 4.0)
_LARGEST_DISAGGREGATED: Final = 3

_ASSUMED: Final = (
    "everything is drawn from a seeded generator; published figures set the ranges where one is named",
    (
        f"a job has {_STEPS[0]} to {_STEPS[1]} steps (log-normal about {_MEDIAN_STEPS}, spread {_STEPS_SPREAD:.0%}: assumed); those there at the "
        "beginning are in the middle of them; the last that is drawn is cut short so that the offered work is as asked"
    ),
    ("offered work: cards x seconds of all steps of all jobs that come within the horizon, over cards x horizon; what comes late cannot all be done in it"),
    (
        f"arrivals: as of a Poisson process, uniform over the horizon (assumed); a deadline {_SLACK[0]:g} to {_SLACK[1]:g} times its full-service time after a "
        "job comes (assumed)"
    ),
    "an eviction costs 45 s, a resize 15 s, a migration 45 s; a warm start 20 s (assumed)",
    "observations: log-normal spread 5 %, 3 % a period late, 2 % missing (assumed)",
)


class Agentic(Value):
    """Parameters.

    Attributes
    ----------
    load
        Offered work over what the cards could do in the horizon.
    gang
        ``firm``: the memory of an update needs all its cards. ``elastic``: its optimiser lives in host memory, and a quarter of them will do.
    cards
        Cards of the cluster, in nodes of eight.
    horizon_seconds
        When counting stops.
    colocated
        Share of the jobs that are colocated.
    slowness
        How many times longer everything takes than where a tool is a search that answers at once: 1 gives steps of 3 to 10 minutes, 4 those of agents
        that build and test software.
    """

    load: Annotated[float, Real(0.05, 10)] = 1.2
    gang: Literal["elastic", "firm"] = "elastic"
    cards: Annotated[int, WholeNumber(8, 8192)] = 64
    horizon_seconds: Annotated[float, Real(600, 1e6)] = 14_400
    colocated: Annotated[float, Real(0, 1)] = 0.6
    slowness: Annotated[float, Real(0.1, 100)] = 4


def agentic(parameters: Agentic, generator: np.random.Generator) -> Workload:
    """Draw the workload."""
    left = parameters.load * parameters.cards * parameters.horizon_seconds
    busy = min(1.0, parameters.load) * parameters.cards
    drafts: list[tuple[Profile, Sequence[str], list[Step]]] = []
    n_first = 0
    while left > 0:
        profile, stages, steps = _draw(parameters, generator)
        is_first = busy > 0
        if is_first:
            steps = _from_the_middle(steps, generator)
            busy -= sum(map(_work, steps)) / sum(map(_seconds, steps))
            n_first += 1
        steps = _at_most(steps, left)
        if not steps:
            break
        left -= sum(map(_work, steps))
        drafts.append((profile, stages, steps))
    times = np.concatenate([np.zeros(n_first), np.sort(generator.uniform(0, parameters.horizon_seconds, max(0, len(drafts) - n_first)))])
    jobs = [_job(j, float(times[j]), *draft, generator) for j, draft in enumerate(drafts)]
    sources = (*PROFILE_SOURCES, *MODEL_SOURCES, *TRAJECTORY_SOURCES, *COLOCATED_SOURCES, *DISAGGREGATED_SOURCES, *DECLARED_SOURCES)
    return Workload(
        about=About(synthetic=True, assumed=(*_ASSUMED, *sources, NODE_SOURCE)),
        horizon_seconds=parameters.horizon_seconds,
        pools=(h100_pool(parameters.cards),),
        jobs=tuple(jobs),
        noise=ObservationNoise(spread=0.05, late=0.03, missing=0.02),
    )


def _draw(parameters: Agentic, generator: np.random.Generator) -> tuple[Profile, Sequence[str], list[Step]]:
    is_colocated = bool(generator.random() < parameters.colocated)
    most = parameters.cards if is_colocated else parameters.cards // 3
    largest = len(MODELS) if is_colocated else _LARGEST_DISAGGREGATED
    profile = draw_profile(is_firm=parameters.gang == "firm", most_cards=most, largest=largest, generator=generator)
    n_steps = int(np.clip(round(float(generator.lognormal(np.log(_MEDIAN_STEPS), _STEPS_SPREAD))), *_STEPS))
    step = colocated_step if is_colocated else disaggregated_step
    return profile, ("main",) if is_colocated else STAGES, [step(profile, number, generator) for number in range(n_steps)]


def _from_the_middle(steps: Sequence[Step], generator: np.random.Generator) -> list[Step]:
    """Return what is left of a job that has been running: whole steps, the first of them begun."""
    rest = list(steps[int(generator.integers(len(steps))) :])
    begun = int(generator.integers(len(rest[0].parts)))
    rest[0] = rest[0].replace({"parts": rest[0].parts[begun:]})
    return rest


def _at_most(steps: Sequence[Step], work: float) -> list[Step]:
    """Return as many of the first steps as come nearest to an amount of work."""
    kept: list[Step] = []
    for step in steps:
        own = _work(step)
        if own / 2 > work:
            break
        kept.append(step)
        work -= own
    return kept


def _work(step: Step) -> float:
    return sum(part.seconds * sum(float(used.get("gpu", 0)) for used in part.use.values()) for part in step.parts)


def _seconds(step: Step) -> float:
    return sum(part.seconds for part in step.parts)


def _job(number: int, submitted: float, profile: Profile, stages: Sequence[str], steps: Sequence[Step], generator: np.random.Generator) -> WorkloadJob:
    model = profile.model
    submitted = round(submitted, 1)
    slack = float(generator.uniform(*_SLACK))
    kind = "colocated" if len(stages) == 1 else "disaggregated"
    return WorkloadJob(
        id=f"{number:03d}-{kind}-{model.name}",
        preemption_cost=PreemptionCost(evict_seconds=45, resize_seconds=15, migrate_seconds=45),
        submitted=submitted,
        deadline=round(submitted + slack * sum(map(_seconds, steps)), 1),
        stages=declared(profile, stages, steps),
        steps=tuple(steps),
        restart=Restart(cold_seconds=model.cold_seconds, warm_seconds=20),
    )
