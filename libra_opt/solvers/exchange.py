"""Exchanges: a plan made feasible and better by changing one job's column, or two at once.

At good prices most of what a plan misses is what its rows leave unused, and one job alone seldom fits there; two that change together do. All pairs of a
rising and any other column are looked at, as arrays.
"""

import numpy as np
import numpy.typing as npt

from libra_opt.solvers.columns import Columns
from libra_opt.solvers.relaxation import penalties

__all__ = ["exchange", "keeps_reserves", "limits_at", "mend"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_MOST_MENDED = 200
"""Most columns that are changed to make a plan feasible."""

_PASSES = 12
_MOST_RISING = 400
"""Most columns that rise in one pass, those with the most to gain."""

_LEAST_GAIN = 1e-9


def limits_at(columns: Columns, selected: _Indices) -> _Floats:
    """Return the limits that plans at least as good in tiers 2 and 3 as `selected` keep, shape ``(n_rows,)``: where it overruns a soft row, so may they."""
    rows = columns.rows
    used = columns.use[selected].sum(axis=0)
    is_soft = (rows.kind == "guarantee") | (rows.kind == "budget")
    return np.where(is_soft, np.maximum(rows.high, used), rows.high)


def mend(columns: Columns, selected: _Indices) -> _Indices | None:
    """Return a selection that keeps all hard rows, and soft ones where it can, or None; the columns changed are those that lose least per overrun ended."""
    use, job, high = columns.use, columns.job, columns.rows.high
    is_hard = (columns.rows.kind == "pool") | (columns.rows.kind == "ceiling")
    worth = columns.value - np.where(columns.lost > 0, 1e6 * (columns.lost + np.abs(columns.value).max(initial=1.0)), 0.0)
    selected = selected.copy()
    left = high - use[selected].sum(axis=0)
    for _ in range(_MOST_MENDED):
        over = np.maximum(0.0, -left)
        if not over.any():
            break
        change = use - use[selected][job]
        after = np.maximum(0.0, change - left)
        scale = np.where(over > 0, 1.0 / np.maximum(over, 1e-300), 0.0)
        ended = (over - after) @ scale
        allowed = (ended > 1e-6) & (after <= over).all(axis=1)
        if not allowed.any():
            break
        price = np.where(allowed, (worth[selected][job] - worth) / np.maximum(ended, 1e-6), np.inf)
        best = int(np.argmin(price))
        left -= change[best]
        selected[job[best]] = best
    return selected if (left[is_hard] >= 0).all() and keeps_reserves(columns, selected) else None


def exchange(columns: Columns, selected: _Indices) -> _Indices:
    """Return a selection from which no single change and no pair that was looked at gains, and which is no worse in tiers 1 to 3.

    What overruns a soft row, a budget or a guarantee, counts with the penalty it has in the master program, so that it is ended first.
    """
    use, job, penalty = columns.use, columns.job, _penalties(columns)
    worth = np.where(columns.lost > columns.lost[selected][job], -np.inf, columns.value)
    selected = selected.copy()
    in_queue = columns.queue_use(selected)
    for _ in range(_PASSES):
        left = limits_at(columns, selected) - use[selected].sum(axis=0)
        over = np.maximum(0.0, use[selected].sum(axis=0) - columns.rows.high)
        change = use - use[selected][job]
        gain = worth - worth[selected][job]
        soft = np.flatnonzero(over > 0)
        gain -= (np.maximum(0.0, over[soft] + change[:, soft]) - over[soft]) @ penalty[soft]
        touched: set[int] = set()
        has_gained = False
        for _, *pair in _swaps(job, gain, change, left, selected):
            jobs = {int(job[c]) for c in pair}
            if jobs & touched:
                continue
            moved = change[pair].sum(axis=0)
            is_better = float(worth[pair].sum() - worth[selected[job[pair]]].sum()) > (np.maximum(0.0, over + moved) - over)[soft] @ penalty[soft]
            used = in_queue + _moved(columns, selected, pair)
            if is_better and (moved <= left).all() and columns.program.shared.keeps_reserves(used):
                left, over, in_queue, has_gained = left - moved, np.maximum(0.0, over + moved), used, True
                touched |= jobs
                selected[job[pair]] = pair
        if not has_gained:
            break
    return selected


def _penalties(columns: Columns) -> _Floats:
    """Return what a unit above each soft row costs, shape ``(n_rows,)``; 0 for hard rows."""
    rows, penalty = columns.rows, penalties(columns.program)
    each = np.zeros(len(rows.high))
    owed = rows.of("guarantee")
    each[owed] = penalty.shortfall / columns.program.shared.nominal[rows.index[owed, 0], rows.index[owed, 1]]
    each[rows.of("budget")] = penalty.ms
    return each


def _swaps(job: _Indices, gain: _Floats, change: _Floats, left: _Floats, selected: _Indices) -> list[tuple[float, *tuple[int, ...]]]:
    """Return single changes and pairs that gain and fit, each rising column with its best partner, the most gain first."""
    is_other = np.isfinite(gain)
    is_other[selected] = False
    other = np.flatnonzero(is_other)
    tight = np.flatnonzero(2 * change[other].max(axis=0, initial=0.0) > left)
    step, room, gain_of = np.ascontiguousarray(change[other][:, tight].T), left[tight], gain[other]
    rising = np.flatnonzero(gain_of > _LEAST_GAIN)
    rising = rising[np.argsort(-gain_of[rising], kind="stable")][:_MOST_RISING]
    fits = np.asarray((step <= room[:, None]).all(axis=0))
    swaps: list[tuple[float, *tuple[int, ...]]] = [(float(gain_of[a]), int(other[a])) for a in rising if fits[a]]
    by_gain = np.argsort(-gain_of, kind="stable")
    step, ordered, owner = np.ascontiguousarray(step[:, by_gain]), gain_of[by_gain], job[other[by_gain]]
    for a in rising:
        last = int(np.searchsorted(-ordered, gain_of[a] - _LEAST_GAIN))
        rest = room - change[other[a], tight]
        possible = np.asarray(owner[:last] != job[other[a]])
        for row in np.argsort(rest, kind="stable"):
            if not possible.any():
                break
            possible &= step[row, :last] <= rest[row]
        partner = int(np.argmax(possible)) if last else 0
        if last and possible[partner]:
            swaps.append((float(gain_of[a] + ordered[partner]), int(other[a]), int(other[by_gain[partner]])))
    return sorted(swaps, key=lambda swap: (-swap[0], *swap[1:]))


def _moved(columns: Columns, selected: _Indices, pair: list[int]) -> _Floats:
    moved = np.zeros_like(columns.program.shared.floor)
    jobs = columns.job[pair]
    np.add.at(moved, columns.program.queue[jobs], columns.held[pair] - columns.held[selected[jobs]])
    return columns.program.shared.forest.gathered(moved)


def keeps_reserves(columns: Columns, selected: _Indices) -> bool:
    """R10: return whether the cluster holds what queues use or, where that is more, keep to themselves."""
    return columns.program.shared.keeps_reserves(columns.queue_use(selected))
