"""How much of its present step a job has done, by where it stands and how long the phases of its earlier steps took."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final

from libra_opt.domain import Observation
from libra_opt.domain.observation import Sample, period_numbers

__all__ = ["step_done"]

_UNKNOWN: Final = 0.5
"""Of a step, or a phase, that was begun and of which nothing tells how far it is: the mean over it."""


def step_done(histories: Iterable[Sequence[Sample]]) -> float:
    """Return the share of its present step that a job has done, 0..1.

    A step takes as many periods as those before it in the mean, phase by phase; the oldest is left out where there is another, as a history may begin in the
    middle of it. The present step is the one told last: a job that went back to a checkpoint is where it went back to. What is done are the phases that came
    before the present one in those steps, and of the present one the `progress` it tells; where an entry tells no phase or no progress, the periods that were
    measured since the step began.

    Parameters
    ----------
    histories
        Of the stages of one job, as a state has them. The longest speaks for the job: all are in the same step.

    Returns
    -------
    float
        0 where no entry says in which step the job was, or nothing was measured in the present step. Where no step before it is known, every phase is taken
        to be half of what is left of the step; 0.5 where there are no phases either.
    """
    longest = max(histories, key=len, default=())
    in_order = sorted(zip(period_numbers(longest), longest, strict=True), key=itemgetter(0))
    told = [entry for _, entry in in_order if isinstance(entry, Observation) and entry.step is not None]
    spent: dict[int, Counter[str | None]] = {}
    for entry in told:
        spent.setdefault(int(entry.step or 0), Counter())[entry.phase] += bool(entry.usage)
    if not told or not any(spent[present := int(told[-1].step or 0)].values()):
        return 0.0
    before = [spent[step] for step in sorted(spent) if step < present]
    whole = [each for each in before[1:] or before if any(each.values())]
    last = told[-1]
    if not whole:
        return _UNKNOWN if last.phase is None else 1 - 0.5 ** (len(spent[present]) - 1 + (_UNKNOWN if last.progress is None else last.progress))
    periods = sum((Counter(each) for each in whole), Counter[str | None]())
    total = sum(periods.values()) / len(whole)
    if last.phase in periods and last.progress is not None:
        done = _before(last.phase, whole, periods) + last.progress * periods[last.phase]
        return min(1.0, done / len(whole) / total)
    return min(1.0, sum(spent[present].values()) / total)


def _before(phase: str | None, whole: Sequence[Mapping[str | None, int]], periods: Mapping[str | None, int]) -> float:
    """Return the periods of the phases that came before one, in the order of the newest step that had it."""
    order = next(list(each) for each in reversed(whole) if phase in each)
    return sum(periods[each] for each in order[: order.index(phase)])
