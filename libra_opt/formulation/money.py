"""The cost ceiling in words (R16): amounts of money, and what a plan leaves of the ceiling."""

from typing import Final

from libra_opt.domain.ledger import Ledger
from libra_opt.formulation.program import Program, Usage

__all__ = ["AT_COST", "Money"]

AT_COST: Final = ("R16", None, None, None)
"""What binds a job that the ceiling keeps out: a rule that speaks of no pool, queue or resource."""


class Money:
    """Amounts of money as text.

    Attributes
    ----------
    row
        The row of the queue above all queues, whose ceiling is that of the cost.
    left
        What is left of the ceiling, in the units that the program counts in.
    """

    def __init__(self, ledger: Ledger, program: Program, usage: Usage) -> None:
        self._unit = float(program.scale[-1]) * (float(ledger.cost.unit) if ledger.cost is not None else 1.0)
        self.row = len(ledger.queues)
        ceiling = float(program.shared.ceiling[self.row, -1])
        self.left = ceiling - float(usage.queue[self.row, -1])
        self.left_of_ceiling = f"{self.written(self.left)} is left of the cost ceiling of {self.written(ceiling)}"

    def written(self, amount: float) -> str:
        """Return an amount in the units that the program counts in as people write money."""
        return f"{amount * self._unit:.6g}"
