"""The words that Kueue has for reasons: of workloads that are pending (conditions of `QuotaReserved`) and of those that are preempted.

Kueue 0.19; its KEP on the observability of unadmitted workloads says what each pending reason stands for, its API package the preemption reasons. Only those
that a plan can know are here: that a workload waits for victims to end, is gated or held is the controller's to say.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from libra_opt.domain.quantity import UNLIMITED
from libra_opt.formulation.program import Program, Usage

__all__ = ["EXCEEDS", "FRAGMENTED", "IN_QUEUE", "NO_FLAVOR", "WAITING", "Takers", "takers"]

_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]

NO_FLAVOR: Final = "NoMatchingFlavor"
EXCEEDS: Final = "ExceedsMaxQuota"
WAITING: Final = "WaitingForQuota"
FRAGMENTED: Final = "TopologyPlacementFailed"
IN_QUEUE: Final = "InClusterQueue"
_RECLAIMED: Final = "InCohortReclamation"
_RECLAIMED_BORROWING: Final = "InCohortReclaimWhileBorrowing"
_SHARED: Final = "InCohortFairSharing"

_HAIR: Final = 1e-9


class Takers(NamedTuple):
    """Who holds more than before, per queue and resource; the last row is for jobs outside every queue.

    Attributes
    ----------
    before, after, owed
        What the queue's jobs hold now and under the plan, and its guarantee, in the units of the shared rows, shape ``(n_queues + 1, n_resources)``.
    is_owner
        Where a queue gets back of its guarantee, same shape.
    """

    before: _Floats
    after: _Floats
    owed: _Floats
    is_owner: _Flags

    def word(self, queue: int, resource: int) -> tuple[str | None, int]:
        """Return the word for a job of `queue` that had to leave for want of `resource`, and the queue that took it back, -1 for none.

        Kueue's own distinction: a guarantee is reclaimed (by an owner that then borrows beyond it, or does not) from a queue that holds more than its
        own; else others in the same queue, or in others, use it better. None where nobody holds more: the capacity was lost.
        """
        owners = self.is_owner[:, resource]
        if self.before[queue, resource] > self.owed[queue, resource] + _HAIR and not owners[queue] and owners.any():
            owner = int(owners.argmax())
            borrows = self.after[owner, resource] > self.owed[owner, resource] + _HAIR
            return (_RECLAIMED_BORROWING if borrows else _RECLAIMED), owner
        more = self.after[:, resource] - self.before[:, resource]
        if more[queue] >= -_HAIR:
            return IN_QUEUE, -1
        return (_SHARED if (more > _HAIR).any() else None), -1


def takers(program: Program, usage: Usage) -> Takers:
    """Return who holds more than before under a plan that uses `usage`."""
    tables, shared = program.tables, program.shared
    before = np.zeros_like(usage.queue)
    n = tables.held.shape[1]
    held = np.minimum(tables.held, UNLIMITED) / program.scale[:n]
    np.add.at(before[:, :n], program.queue[tables.stage_job], held)
    before = shared.forest.gathered(before)
    is_owner = (before < shared.floor - _HAIR) & (usage.queue > before + _HAIR)
    return Takers(before, usage.queue, shared.floor, is_owner)
