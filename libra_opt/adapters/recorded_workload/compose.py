"""One workload of the recorded parts that are at hand, at the load that is asked."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Final

import numpy as np

from libra_opt.adapters.recorded_workload.arrivals import Arrival, fit, read_philly
from libra_opt.adapters.recorded_workload.cluster import CLUSTER_ASSUMED, cards_of, pool, work_within
from libra_opt.adapters.recorded_workload.pods import PODS_ASSUMED, pod_job, pod_steps, read_pods
from libra_opt.adapters.recorded_workload.services import SERVICES_ASSUMED, read_services, service_job, service_steps
from libra_opt.adapters.recorded_workload.training import TRAINING_ASSUMED, Rollouts, training_job, training_steps
from libra_opt.domain import About, ObservationNoise, Step, Workload, WorkloadJob
from libra_opt.errors import Fault, InputError
from libra_opt.recordings.rollouts import Trajectory, read_phase_ratios, read_trajectories
from libra_opt.recordings.table import Document

__all__ = ["ASSUMED", "MANY", "OPTIONAL", "PATTERNS", "recorded_workload"]

PATTERNS: Final = {
    "arrivals": "philly2017/philly*.csv*",
    "trajectories": "polytrace/search_r1_multiturn_workload_step_*.jsonl*",
    "phases": "verl_ppo_log/*.log",
    "pods": "fgd2023/openb_pod_list_default*.csv*",
    "instances": "dlrm2025/disaggregated_DLRM_trace*.csv*",
}
"""Where the documents of each part lie in a directory of traces."""

MANY: Final = ("trajectories",)
"""Parts of which there may be several documents, in order."""

OPTIONAL: Final = ("pods", "instances")
"""Parts that may be missing; the workload then has no such jobs."""

_PART_SHARE: Final = 0.1
_SOURCES: Final = {
    "arrivals": "arrivals, cards and durations: Philly 2017 (Jeon et al., ATC 2019; msr-fiddle/philly-traces, CC-BY-4.0), extract of siasosp23/artifacts",
    "trajectories": "rollouts: Search-R1 trajectories of PolyTrace (Zhou-jiecheng/PolyTrace, Apache-2.0)",
    "phases": "phases: log of verl's PPO trainer in PolyTrace (Apache-2.0)",
    "pods": "pods: cluster-trace-gpu-v2023 (Weng et al., ATC 2023; hkust-adsl/kubernetes-scheduler-simulator, Apache-2.0)",
    "instances": "services: cluster-trace-gpu-v2025 (alibaba/clusterdata; for research and study, not to be passed on)",
}
_RECORDED: Final = {
    "arrivals": "when jobs came, how many cards they held and for how long",
    "trajectories": "per trajectory: turns, tokens after each, seconds in the engine and in tools",
    "phases": "seconds of generation, reference, values, critic and actor update per PPO step",
    "pods": "pods: when they were created and deleted, cards, cores, host memory and QoS class",
    "instances": "services: requests of cards, cores, host memory and network by application and hour",
}
_ASSUMED: Final = (
    (
        "arrivals: recorded jobs from a random one on (and from the first again after the last), their spacing scaled to the horizon; the first come together "
        "at its beginning, as many as use the load in the mean, and the last is cut short; jobs of one card, of more than 16, under ten minutes and over two "
        "hours are left out"
    ),
    "load: the cards that all would use in the mean over the horizon if each were served in full as soon as it comes, over the cards there are",
    "observations: log-normal spread 5 %, 3 % a period late, 2 % missing",
)
ASSUMED: Final = (*_ASSUMED, *TRAINING_ASSUMED, *PODS_ASSUMED, *SERVICES_ASSUMED, CLUSTER_ASSUMED, f"pods and services have {_PART_SHARE:.0%} of the load each")
"""What is assumed where every part is given."""


def recorded_workload(
    documents: Mapping[str, Sequence[Document]], generator: np.random.Generator, *, load: float = 1.2, horizon_seconds: float = 10_800, cards: int = 64
) -> Workload:
    """Make the workload.

    Parameters
    ----------
    documents
        Of each part of `PATTERNS`; those of `OPTIONAL` may be missing.
    generator
        Where every choice comes from: with which job to begin, which prompts a step takes.
    load
        Cards wanted over cards there are, 0.05 to 10.
    horizon_seconds
        When counting stops, 600 to a million.
    cards
        Cards of the cluster, 16 to 8,192.

    Raises
    ------
    InputError
        A number is out of its range, a part is missing, or a document is not what it should be.
    """
    _check(documents, load, horizon_seconds, cards)
    given = [part for part in PATTERNS if documents.get(part)]
    n_optional = sum(part in OPTIONAL for part in given)
    work = load * cards * horizon_seconds
    jobs = _training(documents, generator, work * (1 - _PART_SHARE * n_optional), horizon_seconds)
    assumed = [*_ASSUMED, *TRAINING_ASSUMED, CLUSTER_ASSUMED]
    if "pods" in given:
        jobs += _pods(documents["pods"][0], generator, work * _PART_SHARE, horizon_seconds)
        assumed += [*PODS_ASSUMED, f"pods have {_PART_SHARE:.0%} of the load"]
    if "instances" in given:
        jobs += _services(documents["instances"][0], generator, work * _PART_SHARE, horizon_seconds)
        assumed += [*SERVICES_ASSUMED, f"services have {_PART_SHARE:.0%} of the load"]
    return Workload(
        about=About(
            title=f"recorded arrivals and rollouts, composed: load {load:g} on {cards} cards",
            source="; ".join(_SOURCES[part] for part in given),
            licence="for research and study, not to be passed on" if "instances" in given else "CC-BY-4.0 and Apache-2.0, by source",
            recorded=tuple(_RECORDED[part] for part in given),
            assumed=tuple(assumed),
        ),
        horizon_seconds=horizon_seconds,
        pools=(pool(cards),),
        jobs=tuple(sorted(jobs, key=lambda job: (job.submitted, job.id))),
        noise=ObservationNoise(spread=0.05, late=0.03, missing=0.02),
    )


def _check(documents: Mapping[str, Sequence[Document]], load: float, horizon_seconds: float, cards: int) -> None:
    faults = [
        Fault(name, f"{value:g} is not from {least:g} to {most:g}; give a number that is")
        for name, value, least, most in (("load", load, 0.05, 10), ("horizon_seconds", horizon_seconds, 600, 1e6), ("cards", cards, 16, 8192))
        if not least <= value <= most
    ]
    faults += [Fault(part, f"is missing; give the files {pattern}") for part, pattern in PATTERNS.items() if part not in OPTIONAL and not documents.get(part)]
    if faults:
        raise InputError("the recorded workload", tuple(faults))


def _training(documents: Mapping[str, Sequence[Document]], generator: np.random.Generator, work: float, horizon_seconds: float) -> list[WorkloadJob]:
    arrivals = read_philly(documents["arrivals"][0])
    rollouts = Rollouts([_by_prompt(read_trajectories(document)) for document in documents["trajectories"]], read_phase_ratios(documents["phases"][0]))
    order = _from(arrivals, work, generator)
    steps: list[list[Step]] = []

    def steps_of(i: int) -> list[Step]:
        while len(steps) <= i:
            one = order[len(steps)]
            steps.append(training_steps(rollouts, one.cards, min(one.duration, horizon_seconds), generator))
        return steps[i]

    busy, n_first = work / horizon_seconds, 0
    while busy > 0 and n_first < len(order) - 1:
        busy -= cards_of(steps_of(n_first))
        n_first += 1
    left = work - sum(work_within(steps[i], horizon_seconds) for i in range(n_first))
    moments = [one.seconds for one in order[n_first:]]
    later = fit(moments, lambda i, seconds: work_within(steps_of(n_first + i), seconds), left, horizon_seconds) if left > 0 else []
    times = [0.0] * n_first + later
    _cut_last(steps, times, work, horizon_seconds)
    return [training_job(f"rl-{i:03d}-{order[i].cards}", time, order[i].cards, steps[i]) for i, time in enumerate(times)]


def _cut_last(steps: list[list[Step]], times: Sequence[float], work: float, horizon_seconds: float) -> None:
    """Cut the last job short to the fewest steps that still do the work asked; at least one."""
    last = len(times) - 1
    before = sum(work_within(steps[i], horizon_seconds - times[i]) for i in range(last))
    fewest = next((n for n in range(1, len(steps[last])) if before + work_within(steps[last][:n], horizon_seconds - times[last]) >= work), len(steps[last]))
    steps[last] = steps[last][:fewest]


def _by_prompt(trajectories: Sequence[Trajectory]) -> list[list[Trajectory]]:
    prompts: dict[int, list[Trajectory]] = {}
    for one in trajectories:
        prompts.setdefault(one.group, []).append(one)
    return [prompts[group] for group in sorted(prompts)]


def _from(arrivals: Sequence[Arrival], work: float, generator: np.random.Generator) -> list[Arrival]:
    """Return arrivals from a random one on, beginning again after the last, as many times over as they hold four times the work."""
    first = int(generator.integers(len(arrivals)))
    span = arrivals[-1].seconds - arrivals[0].seconds + 1
    n_rounds = 1 + ceil(4 * work / sum(one.duration * one.cards for one in arrivals))
    rounds = [Arrival(one.seconds + n * span, one.duration, one.cards) for n in range(n_rounds + 1) for one in arrivals]
    return rounds[first : first + n_rounds * len(arrivals)]


def _pods(document: Document, generator: np.random.Generator, work: float, horizon_seconds: float) -> list[WorkloadJob]:
    pods = read_pods(document)
    first = int(generator.integers(len(pods)))
    order = [*pods[first:], *pods[:first]]
    span = pods[-1].created - pods[0].created + 1
    moments = [pod.created + span * (i >= len(pods) - first) for i, pod in enumerate(order)]
    steps = [pod_steps(pod, horizon_seconds) for pod in order]
    times = fit(moments, lambda i, seconds: work_within(steps[i], seconds), work, horizon_seconds)
    return [pod_job(f"pod-{i:03d}", time, order[i], steps[i]) for i, time in enumerate(times)]


def _services(document: Document, generator: np.random.Generator, work: float, horizon_seconds: float) -> list[WorkloadJob]:
    services = read_services(document)
    jobs: list[WorkloadJob] = []
    for i in generator.permutation(len(services)).tolist():
        steps = service_steps(services[i], horizon_seconds, generator)
        work -= work_within(steps, horizon_seconds)
        jobs.append(service_job(f"service-{len(jobs):03d}", steps))
        if work <= 0:
            break
    return jobs
