"""Colocated jobs: one stage whose cards roll out, score and update in turn (the hybrid engine of HybridFlow, EuroSys 2025, arXiv 2409.19256, section 5)."""

from typing import Final

import numpy as np

from libra_opt.domain import Part, Step
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.simulation.workloads.phases import amounts
from libra_opt.simulation.workloads.profile import Profile
from libra_opt.simulation.workloads.trajectories import draw_batch, stretches

__all__ = ["COLOCATED_SOURCES", "colocated_step"]

_CORES_ALIVE: Final = 0.05
_CORES_CALL: Final = 0.5
_CORES_CHECK: Final = 0.5
_CORES_CARD: Final = 2.0
_CORES_OFFLOAD: Final = 4.0
_HOST_GIB: Final = 32.0
_HOST_GIB_CARD: Final = 8.0
_HOST_GIB_ALIVE: Final = 0.25
_SYNC_SECONDS: Final = 12.0
_SYNC_GBYTES: Final = 40.0
_STEP_SPREAD: Final = 0.08
_PHASE_SPREAD: Final = 0.1

COLOCATED_SOURCES: Final = (
    "colocated jobs: rollout, reward, update and weight synchronisation follow one another on the same cards (HybridFlow, arXiv 2409.19256, section 5)",
    (
        f"cores: {_CORES_ALIVE:g} per live trajectory, {_CORES_CALL:g} per tool call under way, {_CORES_CHECK:g} per trajectory while rewards are checked, "
        f"{_CORES_CARD:g} per card of an update and {_CORES_OFFLOAD:g} more where its optimiser runs on the host (assumed)"
    ),
    (
        f"host memory: {_HOST_GIB:g} GiB, {_HOST_GIB_CARD:g} per card, {_HOST_GIB_ALIVE:g} per live trajectory for its sandbox (assumed), "
        "and the state of the optimiser"
    ),
    (f"weight synchronisation: {_SYNC_SECONDS:g} s in which every engine reads all weights over the network, at most {_SYNC_GBYTES:g} GB/s (assumed)"),
    f"log-normal spread of lengths from step to step {_STEP_SPREAD:.0%}, of the other phases' times {_PHASE_SPREAD:.0%} (assumed)",
)
"""Where the figures are from, and what was assumed."""


def colocated_step(profile: Profile, number: int, generator: np.random.Generator) -> Step:
    """Draw one step of a job."""
    model = profile.model
    level = profile.growth**number * float(generator.lognormal(0, _STEP_SPREAD))
    batch = draw_batch(profile.trajectories, profile.lengths, profile.median_tokens * level, profile.token_seconds, generator)
    reward, train = (level * seconds * float(generator.lognormal(0, _PHASE_SPREAD)) for seconds in (profile.reward_seconds, profile.train_seconds))
    host = _HOST_GIB + _HOST_GIB_CARD * max(profile.peak, model.gang) + model.offloaded_gib
    parts = [
        _part(
            stretch.seconds,
            "rollout",
            gpu=profile.cards(stretch.decoding),
            gpu_mem=model.engine_gib,
            cpu=1 + _CORES_ALIVE * stretch.alive + _CORES_CALL * stretch.calls,
            mem=host + _HOST_GIB_ALIVE * stretch.alive,
            net=0.1,
        )
        for stretch in stretches(batch)
    ]
    checks = profile.trajectories * (0.1 if profile.has_judge else _CORES_CHECK)
    parts.append(_part(reward, "reward", gpu=1.0 if profile.has_judge else 0.0, gpu_mem=model.engine_gib, cpu=1 + checks, mem=host, net=0.1))
    cores = (_CORES_CARD + (0 if profile.is_firm else _CORES_OFFLOAD)) * model.gang
    parts.append(_part(train, "train", gpu=model.gang, gpu_mem=profile.train_gib, cpu=cores, mem=host, net=0.2 * model.gang, waits=True))
    sync = min(_SYNC_GBYTES, model.weights_gib * profile.peak / model.unit / _SYNC_SECONDS)
    parts.append(_part(_SYNC_SECONDS, "sync", gpu=profile.peak, gpu_mem=model.engine_gib, cpu=4.0, mem=host, net=sync))
    return Step(parts=tuple(parts), trajectories=profile.trajectories, tokens=round(float(batch.tokens.sum())))


def _part(seconds: float, phase: str, *, gpu: float, gpu_mem: float, cpu: float, mem: float, net: float, waits: bool = False) -> Part:
    use = FrozenMapping({"main": amounts({"gpu": gpu, "gpu_mem": gpu_mem, "cpu": cpu, "mem": mem, "net": net})})
    if waits:
        return Part(seconds=round(seconds, 1), phase=phase, use=use, waits_for_memory=True)
    return Part(seconds=round(seconds, 1), phase=phase, use=use)
