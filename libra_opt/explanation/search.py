"""The least change of a group under which a job fares better, found by solving changed states again: bisection in whole steps, knob by knob.

Whether a change helps is never inferred: the state is changed, `allocate` plans it, and the job has to run where it did not, or be served better. That more of
a limit helps where less did is assumed in looking for the least (it mostly holds, but a larger neighbour may take what was added), and never in what is told.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from libra_opt.allocation import allocate
from libra_opt.domain import Plan, PlannedJob, State
from libra_opt.errors import InputError
from libra_opt.explanation.knobs import Group, Knob
from libra_opt.explanation.paths import apply

__all__ = ["SERVED_BETTER", "SpentError", "Trials", "is_better", "least_count", "least_steps"]

SERVED_BETTER: Final = 1e-6
"""A job is served better where its service rises by more than this."""


class SpentError(Exception):
    """No more states may be solved."""


def is_better(before: PlannedJob, after: PlannedJob) -> bool:
    """Return whether a job fares better: it runs where it did not, or is served better where it did."""
    if not before.stages:
        return bool(after.stages)
    return bool(after.stages) and after.service > before.service + SERVED_BETTER


@dataclass
class Trials:
    """Solves changed states, remembers what came of each, and counts.

    Attributes
    ----------
    state, plan, j
        The state as it is, its plan, and the index of the job that is looked at.
    most
        How many states may be solved.
    solves
        How many were.
    """

    state: State
    plan: Plan
    j: int
    most: int
    solves: int = 0
    _known: dict[tuple[str, ...], Plan | None] = field(default_factory=dict)

    def plan_of(self, settings: Sequence[str]) -> Plan | None:
        """Return the plan of the state with some settings made; None where there is no such state.

        Raises
        ------
        SpentError
            No more may be solved.
        """
        key = tuple(settings)
        if key not in self._known:
            try:
                changed = apply(self.state, key)
            except InputError:
                self._known[key] = None
                return None
            if self.solves >= self.most:
                raise SpentError
            self.solves += 1
            self._known[key] = allocate(changed)
        return self._known[key]

    def helps(self, settings: Sequence[str]) -> bool:
        """Return whether the job fares better with some settings made."""
        plan = self.plan_of(settings)
        return plan is not None and is_better(self.plan.jobs[self.j], plan.jobs[self.j])


@dataclass
class Least:
    """What was found for a group so far.

    Attributes
    ----------
    settings
        They help; empty where nothing does.
    share
        What they cost.
    is_least
        Whether a step less of any was tried.
    """

    settings: tuple[str, ...] = ()
    share: float = 0.0
    is_least: bool = False


def least_steps(trials: Trials, group: Group, found: Least) -> None:
    """Look for the least steps of a group that help; `found` holds the least so far at any time, so also when the solves are spent."""
    knobs = group.knobs
    likely = [max(0, knob.guess) for knob in knobs]
    steps = next((list(tried) for tried in _starts(knobs, likely) if any(tried) and trials.helps(_settings(knobs, tried))), None)
    if steps is None:
        return
    _keep(found, knobs, steps)
    for i in sorted(range(len(knobs)), key=lambda i: (-steps[i] / knobs[i].total, i)):
        if steps[i]:

            def enough(n: int, i: int = i) -> bool:
                tried = [*steps[:i], n, *steps[i + 1 :]]
                is_enough = any(tried) and trials.helps(_settings(knobs, tried))
                if is_enough:
                    _keep(found, knobs, tried)
                return is_enough

            steps[i] = 0 if enough(0) else least_count(enough, steps[i])
    found.is_least = True


def least_count(enough: Callable[[int], bool], most: int) -> int:
    """Return the least count in 1..most that is enough by bisection, given that `most` is and 0 is not."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _starts(knobs: Sequence[Knob], likely: Sequence[int]) -> tuple[Sequence[int], ...]:
    """Return what to begin with: what is likely to be enough, the most of what is likely to matter, the most of everything."""
    return likely, [knob.most if guess else 0 for knob, guess in zip(knobs, likely, strict=True)], [knob.most for knob in knobs]


def _settings(knobs: Sequence[Knob], steps: Sequence[int]) -> list[str]:
    return [knob.setting(n) for knob, n in zip(knobs, steps, strict=True) if n]


def _keep(found: Least, knobs: Sequence[Knob], steps: Sequence[int]) -> None:
    found.settings = tuple(_settings(knobs, steps))
    found.share = sum(n / knob.total for knob, n in zip(knobs, steps, strict=True))
