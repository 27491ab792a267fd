"""The least change of a group under which a job fares better, found by solving changed states again: bisection in whole steps, knob by knob.

Whether a change helps is never inferred: the state is changed, `allocate` plans it, and the job has to run where it did not, or be served better. That more of
a limit helps where less did is assumed in looking for the least (it mostly holds, but a larger neighbour may take what was added), and never in what is told.

A large state is planned with less effort and to a wider gap while changes are looked for, from what is likely to be enough upwards; then the cheapest is
planned in full (see `explain`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from libra_opt.allocation import allocate
from libra_opt.domain import Plan, PlannedJob, State
from libra_opt.errors import InputError
from libra_opt.explanation.knobs import Group, Knob
from libra_opt.explanation.paths import apply

__all__ = ["LARGE", "SERVED_BETTER", "SpentError", "Trials", "few_steps", "is_better", "least_count", "least_steps"]

SERVED_BETTER: Final = 1e-6
"""A job is served better where its service rises by more than this."""


LARGE: Final = 60
"""With more jobs than this, changes are looked for with less effort."""

_LESS_EFFORT, _WIDER_GAP = 0.05, 0.005
"""Effort and gap of such plans: about those of the first plan that is found."""

_DOUBLINGS, _HALVINGS = 3, 2
"""How often what is likely to be enough is doubled where it is not, and how often it is halved again between."""


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
    is_rough
        Whether states are solved with less effort where nothing else is asked for.
    kept
        How many of the solves are kept for those in full.
    solves
        How many were.
    """

    state: State
    plan: Plan
    j: int
    most: int
    is_rough: bool = False
    kept: int = 0
    solves: int = 0
    _known: dict[tuple[tuple[str, ...], bool], Plan | None] = field(default_factory=dict)

    def plan_of(self, settings: Sequence[str], *, in_full: bool = False) -> Plan | None:
        """Return the plan of the state with some settings made; None where there is no such state.

        Parameters
        ----------
        in_full
            Plan it as `allocate` does even where states are solved with less effort.

        Raises
        ------
        SpentError
            No more may be solved.
        """
        is_rough = self.is_rough and not in_full
        key = tuple(settings), is_rough
        if key not in self._known:
            try:
                changed = apply(self.state, settings)
            except InputError:
                self._known[key] = None
                return None
            if self.solves >= self.most - (self.kept if is_rough else 0):
                raise SpentError
            self.solves += 1
            self._known[key] = allocate(_with_less_effort(changed) if is_rough else changed)
        return self._known[key]

    def helps(self, settings: Sequence[str]) -> bool:
        """Return whether the job fares better with some settings made."""
        return self.is_better(self.plan_of(settings))

    def is_better(self, plan: Plan | None) -> bool:
        """Return whether the job fares better in another plan."""
        return plan is not None and is_better(self.plan.jobs[self.j], plan.jobs[self.j])


def _with_less_effort(state: State) -> State:
    options = state.options
    return state.replace({"options": options.replace({"effort": min(options.effort, _LESS_EFFORT), "gap": max(options.gap, _WIDER_GAP)})})


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


def few_steps(trials: Trials, group: Group, found: Least) -> None:
    """Look for few steps of a group that help, with few solves: what is likely to be enough, doubled until it is; then each knob is left alone if it may be."""
    knobs = group.knobs
    likely = [max(0, knob.guess) for knob in knobs]
    if not any(likely):
        likely = [knob.most for knob in knobs]

    def steps_at(times: float) -> list[int]:
        return [min(knob.most, ceil(guess * times)) for knob, guess in zip(knobs, likely, strict=True)]

    def enough(tried: list[int]) -> bool:
        is_enough = any(tried) and trials.helps(_settings(knobs, tried))
        if is_enough:
            _keep(found, knobs, tried)
        return is_enough

    times = _few_times(lambda times: enough(steps_at(times)), lambda one, two: steps_at(one) == steps_at(two))
    steps = steps_at(times)
    for i in sorted(range(len(knobs)), key=lambda i: (steps[i] / knobs[i].total, i)):
        without = [*steps[:i], 0, *steps[i + 1 :]]
        if steps[i] and any(without) and enough(without):
            steps = without


def _few_times(enough: Callable[[float], bool], is_alike: Callable[[float, float], bool]) -> float:
    """Return a multiple that is enough, by doubling from 1 and halving between the last that was not and the first that was; 0 where none was."""
    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
        if high > 2**_DOUBLINGS or is_alike(low, high):
            return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if is_alike(middle, low) or is_alike(middle, high):
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


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
