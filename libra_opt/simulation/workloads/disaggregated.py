"""Disaggregated jobs: rollout, reward, update and replay at the same time on cards of their own, one step apart (as in AReaL and StreamRL)."""

from typing import Final

import numpy as np

from libra_opt.domain import Amounts, Part, Step
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.simulation.workloads.phases import amounts
from libra_opt.simulation.workloads.profile import Profile
from libra_opt.simulation.workloads.trajectories import Stretch, draw_batch, stretches

__all__ = ["DISAGGREGATED_SOURCES", "STAGES", "disaggregated_step"]

STAGES: Final = ("rollout", "reward", "train", "replay")

_CORES_ALIVE: Final = 0.05
_CORES_CALL: Final = 0.5
_CORES_CHECK: Final = 0.25
_CORES_CARD: Final = 2.0
_CORES_OFFLOAD: Final = 4.0
_HOST_GIB: Final = 24.0
_HOST_GIB_CARD: Final = 8.0
_HOST_GIB_ALIVE: Final = 0.25
_SYNC_SECONDS: Final = 12.0
_STEP_SPREAD: Final = 0.08
_PHASE_SPREAD: Final = 0.1
_UPDATE_SHARE: Final = 0.62
_REFILL: Final = 0.35
_FLUSH_EVERY: Final = 4
_BACKLOG_GIB: Final = 0.2
_JUDGE_GIB: Final = 40.0

DISAGGREGATED_SOURCES: Final = (
    (
        "disaggregated jobs: rollouts of a step run beside the update of the step before (asynchronous with a bounded staleness: AReaL, arXiv 2505.24298; "
        "StreamRL, arXiv 2504.15930); a stage that is short holds up all"
    ),
    (
        f"an update takes {_UPDATE_SHARE:.0%} of the step in the mean, and its cards are idle for the rest; the next prompts keep rollouts at "
        f"{_REFILL:.0%} of their cards or more (assumed)"
    ),
    (
        f"cores of the reward stage: {_CORES_CHECK:g} per trajectory that has ended, or a judge model on one card with {_JUDGE_GIB:g} GiB (assumed); "
        "the other cores and memory as in colocated jobs"
    ),
    f"replay: {_BACKLOG_GIB:g} GiB of host memory per trajectory kept, flushed every {_FLUSH_EVERY} steps (assumed)",
)
"""Where the figures are from, and what was assumed."""


def disaggregated_step(profile: Profile, number: int, generator: np.random.Generator) -> Step:
    """Draw one step of a job."""
    model = profile.model
    level = profile.growth**number * float(generator.lognormal(0, _STEP_SPREAD))
    batch = draw_batch(profile.trajectories, profile.lengths, profile.median_tokens * level, profile.token_seconds, generator)
    curve = stretches(batch)
    update = _UPDATE_SHARE * sum(stretch.seconds for stretch in curve) * float(generator.lognormal(0, _PHASE_SPREAD))
    replay = amounts({"mem": _HOST_GIB + _BACKLOG_GIB * profile.trajectories * (1 + number % _FLUSH_EVERY), "cpu": 2.0, "net": 0.5})
    parts = []
    for stretch, is_updating in _cut(curve, update):
        use = {"rollout": _rollout(profile, stretch), "reward": _reward(profile, stretch), "train": _train(profile, is_updating=is_updating), "replay": replay}
        parts.append((stretch.seconds, "update" if is_updating else "collect", use))
    sync = min(40.0, model.weights_gib * profile.peak / model.unit / _SYNC_SECONDS)
    last = parts[-1][2]
    engines = amounts({"gpu": profile.peak, "gpu_mem": model.engine_gib, "cpu": 4.0, "mem": _HOST_GIB + _HOST_GIB_CARD * profile.peak, "net": sync})
    parts.append((_SYNC_SECONDS, "sync", {**last, "rollout": engines, "train": _train(profile, is_updating=False)}))
    return Step(parts=tuple(map(_part, parts)), trajectories=profile.trajectories, tokens=round(float(batch.tokens.sum())))


def _part(made: tuple[float, str, dict[str, Amounts]]) -> Part:
    seconds, phase, use = made
    used = FrozenMapping({stage: used for stage, used in use.items() if used})
    if phase == "update":
        return Part(seconds=round(seconds, 1), phase=phase, use=used, waits_for_memory=True)
    return Part(seconds=round(seconds, 1), phase=phase, use=used)


def _cut(curve: list[Stretch], update: float) -> list[tuple[Stretch, bool]]:
    """Return the stretches, the one in which the update ends cut in two, and whether it is under way; the update ends before the rollout does."""
    found: list[tuple[Stretch, bool]] = []
    begin = 0.0
    for stretch in curve:
        left = update - begin
        begin += stretch.seconds
        if left < 1 or left > stretch.seconds - 1:
            found.append((stretch, left > stretch.seconds - 1 and stretch is not curve[-1]))
            continue
        for seconds, is_updating in ((left, True), (stretch.seconds - left, False)):
            found.append((Stretch(seconds, stretch.decoding, stretch.calls, stretch.alive), is_updating))
    return found


def _rollout(profile: Profile, stretch: Stretch) -> Amounts:
    host = _HOST_GIB + _HOST_GIB_CARD * profile.peak + _HOST_GIB_ALIVE * stretch.alive
    cores = 1 + _CORES_ALIVE * stretch.alive + _CORES_CALL * stretch.calls
    return amounts({"gpu": profile.cards(max(_REFILL, stretch.decoding)), "gpu_mem": profile.model.engine_gib, "cpu": cores, "mem": host, "net": 0.1})


def _reward(profile: Profile, stretch: Stretch) -> Amounts:
    ending = profile.trajectories * max(0.1, 1 - stretch.alive / profile.trajectories)
    if profile.has_judge:
        return amounts({"gpu": 1.0, "gpu_mem": _JUDGE_GIB, "cpu": 2.0, "mem": _HOST_GIB, "net": 0.1})
    return amounts({"cpu": 2 + _CORES_CHECK * ending, "mem": _HOST_GIB, "net": 0.1})


def _train(profile: Profile, *, is_updating: bool) -> Amounts:
    model = profile.model
    host = _HOST_GIB + _HOST_GIB_CARD * model.gang + model.offloaded_gib
    if not is_updating:
        return amounts({"mem": host})
    cores = (_CORES_CARD + (0 if profile.is_firm else _CORES_OFFLOAD)) * model.gang
    return amounts({"gpu": model.gang, "gpu_mem": profile.train_gib, "cpu": cores, "mem": host, "net": 0.2 * model.gang})
