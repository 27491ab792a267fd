"""Whether the preemption budget (R12) is why nobody makes room for a job: who runs could give way, what that would lose and how long moving would take.

A job that runs now can be stopped, or be cut to the least that it needs. Those that lose least for what they free go first, until there is room; or one alone
is cut as far as it takes. Where that loses less than the job would bring, but takes more seconds than the budget leaves, it is the budget that stands in the
way. This is told from the plan in hand, one resource of one pool at a time, so it is what is likely; `explain` plans again and knows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from libra_opt.formulation.program import Choice, Program, Usage
from libra_opt.formulation.runs import first_least, spans

__all__ = ["Room"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_HAIR: Final = 1e-9


class Room:
    """What running jobs could free, and at which price.

    Attributes
    ----------
    left_ms
        What the plan leaves of the budget, in milliseconds; infinity without one.
    """

    def __init__(self, program: Program, choice: Choice, usage: Usage) -> None:
        self.left_ms = max(0.0, program.shared.budget_ms - usage.ms)
        self._program = program
        self._known: dict[tuple[int, int], _Givers] = {}
        if not np.isfinite(self.left_ms):
            return
        self._jobs = np.flatnonzero(program.runs(choice) & program.tables.running & (program.lost == 0))
        stages, first = spans(program.first_stage[self._jobs], program.first_stage[self._jobs + 1])
        self._held, self._first = choice[stages], first
        self._least = _least_here(program, self._held)
        now = program.cell_level[self._held[first]]
        low = program.bundles.first_level[self._jobs]
        per_ms, ms = program.per_ms[self._jobs], self._sums(program.cell_ms[self._held])
        self._stop_ms, self._stop_loss = program.wait_ms[self._jobs] - ms, program.gain[now] + per_ms * (program.wait_ms[self._jobs] - ms)
        is_here = np.minimum.reduceat(self._least, first) >= 0 if len(first) else np.zeros(0, dtype=np.bool_)
        cut_ms = np.maximum(0.0, self._sums(program.cell_ms[self._least]) - ms)
        self._cut_fee = per_ms * cut_ms
        self._cut_ms, self._cut_loss = cut_ms, np.where(is_here, program.gain[now] - program.gain[low] + per_ms * cut_ms, np.inf)

    def _sums(self, values: _Floats) -> _Floats:
        return np.add.reduceat(values, self._first) if len(self._first) else np.zeros(0)

    def needed_ms(self, pool: int, resource: int, lacking: float, gain: float, own_ms: float = 0.0) -> float | None:
        """Return how many milliseconds making room would take where only the budget stands against it, None where it does not.

        Parameters
        ----------
        pool, resource, lacking
            What is short, and by how much in the units of the shared rows.
        gain
            What a job would bring with it, in value; infinity where it brings more than any value.
        own_ms
            What it would be charged itself.
        """
        if not np.isfinite(self.left_ms) or gain <= 0:
            return None
        givers = self._known.get((pool, resource)) or self._known.setdefault((pool, resource), self._of(pool, resource))
        found = [needed + own_ms for loss, needed in givers.ways(lacking) if loss < gain * (1 - _HAIR)]
        return min(found) if found and min(found) > self.left_ms else None

    def _of(self, pool: int, resource: int) -> "_Givers":
        program = self._program
        amount = program.amount[:, resource]
        held = self._sums(np.where(program.cell_pool[self._held] == pool, amount[self._held], 0.0))
        kept = self._sums(np.where(program.cell_pool[self._held] == pool, amount[self._least], 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            stop, cut = self._stop_loss / held, np.where(held > kept, self._cut_loss / (held - kept), np.inf)
        is_cut = cut <= stop
        freed, each = np.where(is_cut, held - kept, held), np.where(is_cut, cut, stop)
        some = np.flatnonzero((freed > 0) & np.isfinite(each))
        order = some[np.lexsort((some, each[some]))]
        loss, ms = np.where(is_cut, self._cut_loss, self._stop_loss), np.where(is_cut, self._cut_ms, self._stop_ms)
        partly = np.flatnonzero((held > kept) & np.isfinite(self._cut_loss))
        spare = (held - kept)[partly]
        return _Givers(
            freed=np.cumsum(freed[order]),
            loss=np.cumsum(loss[order]),
            ms=np.cumsum(np.maximum(0.0, ms[order])),
            spare=spare,
            per_unit=np.maximum(0.0, self._cut_loss - self._cut_fee)[partly] / spare,
            fee=self._cut_fee[partly],
            cut_ms=self._cut_ms[partly],
        )


@dataclass(frozen=True)
class _Givers:
    """Who could give a resource in a pool.

    Attributes
    ----------
    freed, loss, ms
        What is freed in all, lost in value and charged in milliseconds when jobs give way one after the other, those that lose least first.
    spare, per_unit, fee, cut_ms
        Of every job that can be cut: by how much at most, what it loses per unit, in value, its charge in value, and in milliseconds.
    """

    freed: _Floats
    loss: _Floats
    ms: _Floats
    spare: _Floats
    per_unit: _Floats
    fee: _Floats
    cut_ms: _Floats

    def ways(self, lacking: float) -> Iterator[tuple[float, float]]:
        """Yield what making so much room loses in value and takes in milliseconds: by several in order, and by the one that loses least."""
        i = int(np.searchsorted(self.freed, lacking - _HAIR))
        if i < len(self.freed):
            yield float(self.loss[i]), float(self.ms[i])
        if len(self.spare):
            loss = np.where(self.spare >= lacking - _HAIR, self.per_unit * lacking + self.fee, np.inf)
            best = int(loss.argmin())
            yield float(loss[best]), float(self.cut_ms[best])


def _least_here(program: Program, cells: _Indices) -> _Indices:
    """Return of every cell that a stage holds the one that it could hold in the same pool at its job's lowest level, -1 where there is none."""
    if not len(cells):
        return cells
    bundles, stage = program.bundles, program.cell_stage[cells]
    job = program.tables.stage_job[stage]
    slot = bundles.first_slot[bundles.first_level[job]] + stage - program.first_stage[job]
    there, begins = spans(bundles.first_cell[slot], bundles.first_cell[slot + 1])
    count = bundles.first_cell[slot + 1] - bundles.first_cell[slot]
    is_here = program.cell_pool[there] == np.repeat(program.cell_pool[cells], count)
    least = first_least(np.where(is_here, program.amount[there].sum(axis=1), np.inf), begins)
    return np.where(is_here[least], there[least], -1)
