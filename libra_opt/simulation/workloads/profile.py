"""What one generated post-training job is like: its model, its batch, and how long its phases take, drawn once per job."""

from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from libra_opt.simulation.workloads.hardware import CARD_GIB
from libra_opt.simulation.workloads.models import MODELS, Model
from libra_opt.simulation.workloads.trajectories import Lengths, draw_batch, draw_lengths

__all__ = ["PROFILE_SOURCES", "Profile", "draw_profile"]

_SHARES: Final = (0.36, 0.34, 0.23, 0.07)
_DECODE_SHARE: Final = 0.74
_TOKENS_PER_SECOND: Final = {"7b": 60.0, "14b": 45.0, "32b": 35.0, "72b": 25.0}
_MINUTES: Final = (10.0, 40.0)
_MEDIAN_MINUTES: Final = 20.0
_ROLLOUT_SHARE: Final = (0.60, 0.72)
_REWARD_SHARE: Final = (0.04, 0.10)
_GROWTH: Final = (-0.005, 0.02)
_PILOTS: Final = 8
_MOST_CARDS: Final = 16
_CARD_USE: Final = (66.0, 74.0)
_OFFLOADED: Final = 0.85
"""What a quarter of the cards holds of an offloaded update, as a share of what all cards hold of a whole one: room for lengths that grow (assumed)."""

_JUDGES: Final = 0.3

PROFILE_SOURCES: Final = (
    (
        f"models 7b, 14b, 32b and 72b with probability {', '.join(f'{share:g}' for share in _SHARES)}; a trajectory decodes "
        f"{', '.join(f'{rate:g}' for rate in _TOKENS_PER_SECOND.values())} tokens/s (assumed)"
    ),
    (
        f"a step takes {_MINUTES[0]:g} to {_MINUTES[1]:g} minutes at full service, log-normal about {_MEDIAN_MINUTES:g} (assumed; a recorded Search-R1 "
        "rollout of 463 s with the phases of verl's PPO log takes 16, a reproduction of tau-bench training on four H100 about 20: yichuan-w, Reproducing OSS "
        "Agentic-RL Recipes); of it the rollout "
        f"{_ROLLOUT_SHARE[0]:.0%} to {_ROLLOUT_SHARE[1]:.0%} (about 70 %: RollPacker, arXiv 2509.21009), the reward {_REWARD_SHARE[0]:.0%} to "
        f"{_REWARD_SHARE[1]:.0%} (assumed), the update the rest, less than in verl's recorded PPO log (ref 3, values 3, critic 9, actor 11 to gen 24), "
        "near what a run without a critic would have of it (14 to 24)"
    ),
    (
        f"responses grow by {_GROWTH[0]:.1%} to {_GROWTH[1]:.1%} a step: that they grow is reported (DeepSeek-R1, Nature 645, 2025, figure 1b), and that some "
        "shrink at first, too (DeepScaleR); how fast is assumed"
    ),
    f"rewards: {_JUDGES:.0%} of the jobs ask a judge model on one card, the others run checks on cores (assumed)",
)
"""Where the figures are from, and what was assumed."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One job.

    Attributes
    ----------
    model
        What it trains.
    peak
        Cards that a rollout can use at its beginning.
    trajectories
        Of a batch.
    lengths, median_tokens, token_seconds
        See `draw_batch`.
    growth
        Factor on lengths from step to step.
    rollout_seconds, reward_seconds, train_seconds
        Of the first step, at full service, in the mean.
    train_gib
        What an update holds on its cards.
    has_judge
        Rewards come from a model on one card.
    is_firm
        An update needs all its cards for its memory; else its optimiser lives in host memory and a quarter of the cards holds it.
    """

    model: Model
    peak: int
    trajectories: int
    lengths: Lengths
    median_tokens: float
    token_seconds: float
    growth: float
    rollout_seconds: float
    reward_seconds: float
    train_seconds: float
    train_gib: float
    has_judge: bool
    is_firm: bool

    def cards(self, share: float) -> int:
        """Return the cards of the engines that are needed while that share of the batch decodes: whole engines, at least one."""
        n_engines = self.peak // self.model.unit
        return max(1, ceil(share * n_engines - 1e-9)) * self.model.unit


def draw_profile(*, is_colocated: bool, is_firm: bool, most_cards: int, largest: int, generator: np.random.Generator) -> Profile:
    """Draw a job.

    Parameters
    ----------
    is_colocated
        It rolls out on the cards of its update.
    is_firm
        See `Profile`.
    most_cards
        Above this many cards no rollout and no update goes.
    largest
        How many of the models, from small to large, are drawn from.
    generator
        Where every random number comes from.
    """
    fitting = [m for m, model in enumerate(MODELS[:largest]) if model.gang <= most_cards]
    shares = np.array([_SHARES[m] for m in fitting])
    model = MODELS[int(generator.choice(fitting, p=shares / shares.sum()))]
    peak = model.gang if is_colocated else min(model.gang * int(generator.integers(1, 3)), most_cards, _MOST_CARDS)
    minutes = float(np.clip(generator.lognormal(np.log(_MEDIAN_MINUTES), 0.35), *_MINUTES))
    rollout, reward = 60 * minutes * generator.uniform(*_ROLLOUT_SHARE), 60 * minutes * generator.uniform(*_REWARD_SHARE)
    lengths = draw_lengths(generator)
    n = round(model.per_card * peak / _DECODE_SHARE)
    token_seconds = 1 / _TOKENS_PER_SECOND[model.name]
    longest = np.mean([draw_batch(n, lengths, 1.0, token_seconds, generator).seconds.max() for _ in range(_PILOTS)])
    per_card = float(generator.uniform(*_CARD_USE))
    return Profile(
        model=model,
        peak=peak,
        trajectories=n,
        lengths=lengths,
        median_tokens=float(rollout / longest),
        token_seconds=token_seconds,
        growth=1 + float(generator.uniform(*_GROWTH)),
        rollout_seconds=float(rollout),
        reward_seconds=float(reward),
        train_seconds=float(60 * minutes - rollout - reward),
        train_gib=min(per_card, CARD_GIB) * (model.gang if is_firm else _OFFLOADED * model.gang / 4),
        has_judge=bool(generator.random() < _JUDGES),
        is_firm=is_firm,
    )
