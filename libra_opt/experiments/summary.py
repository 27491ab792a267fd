"""Results side by side: one group per setting and period, one row per policy, every ratio paired by seed and with its interval."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from libra_opt.experiments.cell import Result
from libra_opt.simulation.comparison import Interval, ratio, spread
from libra_opt.simulation.measures import Measures

__all__ = ["MEANINGS", "Curve", "Group", "Meaning", "Row", "groups", "latest", "period_curves", "throughput"]

_SEED: Final = 20240229


@dataclass(frozen=True, slots=True)
class Meaning:
    """One meaning of throughput: the field of `Measures`, and its unit in words."""

    field: str
    unit: str


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "work": Meaning("card_hours_per_hour", "card-hours of finished steps per hour"),
        "weighted_work": Meaning("weighted_card_hours_per_hour", "weight x card-hours of finished steps per hour"),
        "steps": Meaning("steps_per_hour", "finished steps per hour"),
        "trajectories": Meaning("trajectories_per_hour", "trajectories of finished steps per hour"),
        "jobs": Meaning("jobs_per_hour", "finished jobs per hour"),
        "tokens": Meaning("tokens_per_hour", "tokens of finished steps per hour"),
    }
)
"""The meanings of throughput by the name the command line knows."""


@dataclass(frozen=True, slots=True)
class Row:
    """One policy in one group.

    Attributes
    ----------
    policy
        Its name.
    results
        Of its seeds that were run, in their order.
    errors
        Of its seeds that failed: seed and reason.
    against
        Throughput over that of the policy it is compared with, on the seeds both have; None where nothing can be compared.
    """

    policy: str
    results: tuple[Result, ...]
    errors: tuple[tuple[int, str], ...]
    against: Interval | None = None

    @property
    def measured(self) -> tuple[Measures, ...]:
        """The measures of its seeds."""
        return tuple(result.measures for result in self.results if result.measures is not None)


@dataclass(frozen=True, slots=True)
class Group:
    """All policies on one setting with one period.

    Attributes
    ----------
    setting, period_seconds
        Which.
    synthetic
        Whether its workloads were generated; None where none says.
    meaning
        Which throughput is compared.
    baseline
        The policy the others are compared with; None where it is not there.
    rows
        In the order in which the policies first came.
    """

    setting: str
    period_seconds: float
    synthetic: bool | None
    meaning: str
    baseline: str | None
    rows: tuple[Row, ...]

    @property
    def n_seeds(self) -> int:
        """How many seeds were run."""
        return len({result.cell.seed for row in self.rows for result in row.results})


@dataclass(frozen=True, slots=True)
class Curve:
    """Throughput of one policy over the period.

    Attributes
    ----------
    setting, policy
        Whose.
    periods
        In seconds, ascending.
    values
        Mean over the seeds with its interval, per period.
    against_best
        Over that of the best period, in pairs, per period.
    best
        Index of the period with the highest mean.
    """

    setting: str
    policy: str
    periods: tuple[float, ...]
    values: tuple[Interval, ...]
    against_best: tuple[Interval | None, ...]
    best: int


def period_curves(results: Sequence[Result], meaning: str = "work") -> list[Curve]:
    """Return the curves of the policies that ran with several periods, on the seeds that all of a policy's periods have."""
    found: dict[tuple[str, str, str], dict[float, dict[int, float]]] = {}
    for result in latest(results):
        value, cell = throughput(result, meaning), result.cell
        if value is not None:
            found.setdefault((cell.setting, cell.digest, cell.policy), {}).setdefault(cell.period_seconds, {})[cell.seed] = value
    curves = [_curve(setting, policy, by_period) for (setting, _, policy), by_period in found.items() if len(by_period) > 1]
    return [curve for curve in curves if curve is not None]


def _curve(setting: str, policy: str, by_period: Mapping[float, Mapping[int, float]]) -> Curve | None:
    periods = sorted(by_period)
    seeds = sorted(set.intersection(*(set(by_period[period]) for period in periods)))
    rows = [[by_period[period][seed] for seed in seeds] for period in periods]
    values = [spread(row, np.random.default_rng(_SEED)) for row in rows]
    known = [value for value in values if value is not None]
    if len(known) < len(periods):
        return None
    best = max(range(len(periods)), key=lambda p: known[p].value)
    against = tuple(ratio(row, rows[best], np.random.default_rng(_SEED)) for row in rows)
    return Curve(setting, policy, tuple(periods), tuple(known), against, best)


def latest(results: Iterable[Result]) -> list[Result]:
    """Return the last result of every cell, in the order in which cells first came: a cell that failed and was run again is told once."""
    found: dict[str, Result] = {}
    for result in results:
        found[result.cell.key] = result
    return list(found.values())


def groups(results: Sequence[Result], meaning: str = "work", baseline: str = "static_best") -> list[Group]:
    """Return the groups of results, the policies of each compared with one of them.

    Parameters
    ----------
    results
        Of cells, in any order; the last one of each cell counts.
    meaning
        One of `MEANINGS`.
    baseline
        The policy to compare with; where a group has no such policy, nothing is compared in it.
    """
    found: dict[tuple[str, str, float], list[Result]] = {}
    for result in latest(results):
        cell = result.cell
        found.setdefault((cell.setting, cell.digest, cell.period_seconds), []).append(result)
    return [_group(setting, period, members, meaning, baseline) for (setting, _, period), members in found.items()]


def throughput(result: Result, meaning: str) -> float | None:
    """Return the throughput of a result; of the bound, that of weighted work; None where there is none."""
    if result.measures is not None:
        value: float = getattr(result.measures, MEANINGS[meaning].field)
        return value
    if result.bound is not None and meaning in ("work", "weighted_work"):
        return result.bound.weighted_card_hours_per_hour
    return None


def _group(setting: str, period: float, members: list[Result], meaning: str, baseline: str) -> Group:
    if meaning == "work" and not all(_is_unweighted(member.measures) for member in members if member.measures is not None):
        members = [member for member in members if member.bound is None]  # it bounds weighted work, which here is something else
    policies = list(dict.fromkeys(member.cell.policy for member in members))
    by_policy = {policy: sorted((m for m in members if m.cell.policy == policy), key=lambda m: m.cell.seed) for policy in policies}
    theirs = {m.cell.seed: value for m in by_policy.get(baseline, ()) if (value := throughput(m, meaning)) is not None}
    rows = tuple(_row(policy, by_policy[policy], theirs, meaning) for policy in policies)
    said = [member.synthetic for member in members if member.synthetic is not None]
    synthetic = any(said) if said else None
    return Group(setting, period, synthetic, meaning, baseline if theirs else None, rows)


def _row(policy: str, members: Sequence[Result], theirs: Mapping[int, float], meaning: str) -> Row:
    pairs = [(value, theirs[m.cell.seed]) for m in members if (value := throughput(m, meaning)) is not None and m.cell.seed in theirs]
    against = ratio([a for a, _ in pairs], [b for _, b in pairs], np.random.default_rng(_SEED))
    done = tuple(member for member in members if member.error is None)
    return Row(policy, done, tuple((m.cell.seed, m.error) for m in members if m.error is not None), against)


def _is_unweighted(measures: Measures) -> bool:
    return abs(measures.card_hours_per_hour - measures.weighted_card_hours_per_hour) <= 1e-9 * max(1.0, measures.card_hours_per_hour)
