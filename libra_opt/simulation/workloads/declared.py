"""What a generated post-training job declares when it is submitted: quotas and requests, from the peaks of its truth and the margin that people add."""

from collections.abc import Sequence
from math import ceil
from typing import Final

from libra_opt.domain import Amounts, Step, WorkloadStage
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.simulation.workloads.hardware import CARD_GIB
from libra_opt.simulation.workloads.phases import amounts, highest
from libra_opt.simulation.workloads.profile import Profile

__all__ = ["DECLARED_SOURCES", "declared"]

_CARD_MARGIN: Final = 1.1
_HOST_MARGIN: Final = 1.4
_LEAST_SHARE: Final = 0.1

DECLARED_SOURCES: Final = (
    (
        f"minimum: one engine (tensor-parallel unit) where cards roll out, one card where they judge, {_LEAST_SHARE:.0%} of the cores and of the network of "
        "the peak (assumed)"
    ),
    "maximum: what the job uses at its peak, in whole units",
    (
        f"request: the peak of every resource over the job's life, card memory and {_CARD_MARGIN - 1:.0%}, host memory and {_HOST_MARGIN - 1:.0%} (assumed; "
        "that far less is used than asked is what Acme, arXiv 2403.07648, and Philly, arXiv 1901.05758, report)"
    ),
    (
        "request in a phase: card memory likewise, where the phase does not wait for it (that an update waits until it has its memory, and that people know "
        "what their engines hold apart from it, is assumed)"
    ),
)
"""Where the figures are from, and what was assumed."""


def declared(profile: Profile, names: Sequence[str], steps: Sequence[Step]) -> tuple[WorkloadStage, ...]:
    """Return the stages of a job as it declares them."""
    return tuple(_stage(profile, name, highest(steps, name), _card_memory(steps, name)) for name in names)


def _card_memory(steps: Sequence[Step], stage: str) -> dict[str, float]:
    """Return the most card memory that a stage uses in each of the phases that do not wait for it."""
    most: dict[str, float] = {}
    for part in (part for step in steps for part in step.parts if not part.waits_for_memory):
        used = part.use.get(stage, Amounts()).get("gpu_mem", 0)
        most[part.phase] = max(most.get(part.phase, 0.0), float(used))
    return most


def _stage(profile: Profile, name: str, peak: dict[str, float], in_phase: dict[str, float]) -> WorkloadStage:
    rolls = name in ("main", "rollout")
    unit = profile.model.unit if name != "reward" else 1
    most = dict(peak)
    most["gpu"] = ceil(peak.get("gpu", 0) / unit - 1e-9) * unit
    least_cards = ceil(peak.get("gpu_mem", 0) / CARD_GIB / unit - 1e-9) * unit
    most["gpu"] = max(most["gpu"], least_cards, unit if rolls else 0)
    most["gpu_mem"] = min(CARD_GIB * most["gpu"], ceil(_CARD_MARGIN * peak.get("gpu_mem", 0)))
    most["mem"] = ceil(_HOST_MARGIN * peak.get("mem", 0))
    asked = amounts(most)
    least = {
        "gpu": unit if rolls else int(most["gpu"] > 0 and name == "reward"),
        "cpu": _at_least(peak.get("cpu", 0)),
        "net": _at_least(peak.get("net", 0)),
    }
    less = {phase: ceil(_CARD_MARGIN * gib) for phase, gib in in_phase.items()}
    request_in = {phase: Amounts({"gpu_mem": gib}) for phase, gib in less.items() if gib < most["gpu_mem"]}
    quotas = {"min_quota": amounts(least), "max_quota": _with_zeros(asked), "request": asked, "request_in": FrozenMapping(request_in)}
    if most["gpu"]:
        return WorkloadStage(name=name, unit=unit, reports_queue=True, **quotas)
    return WorkloadStage(name=name, reports_queue=True, **quotas)


def _with_zeros(asked: Amounts) -> Amounts:
    """Return a maximum in which a resource that is never used is 0, and not unlimited."""
    return Amounts({name: asked.get(name, 0) for name in ("gpu", "gpu_mem", "cpu", "mem", "net")})


def _at_least(peak: float) -> float:
    """Return the minimum of a resource, in tenths rounded up: a stage that uses any must never be left without."""
    return ceil(10 * _LEAST_SHARE * peak - 1e-9) / 10
