"""Reads histories and refuses those that cannot be measured amounts, name a resource that is not there, or contradict themselves."""

from collections.abc import Mapping, Sequence

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.contradictions import Contradictions
from libra_opt.domain.faults import Location
from libra_opt.domain.job import StageFields
from libra_opt.domain.observation import Measured, Observation, period_numbers
from libra_opt.domain.quantity import WrittenAmount
from libra_opt.domain.resource import Resource
from libra_opt.domain.vectors import Vectors

__all__ = ["HistoryReader"]


class HistoryReader:
    """Checks the histories of a state's stages; nothing of them is entered, as a forecast reads them.

    Parameters
    ----------
    resources, amounts
        What the state has, and how its amounts become quanta.
    planned
        The number of the period that is planned, 0 where it is not told.
    wrong
        Where faults are told.
    """

    def __init__(self, resources: Sequence[Resource], amounts: Vectors, planned: int, wrong: Contradictions) -> None:
        self._compressible = {resource.name: resource.compressible for resource in resources}
        self._zeros = (0,) * len(resources)
        self._amounts = amounts
        self._planned = planned
        self._fault = wrong.add

    def check(self, loc: Location, stage: StageFields) -> None:
        """Tell every fault of the history at that place."""
        if stage.demand is not None:
            self._fault(loc, "demand is given as well; leave out one of the two")
        history = stage.history or ()
        is_numbered = False
        for t, sample in enumerate(history):
            if isinstance(sample, Observation):
                is_numbered |= sample.period is not None
                self._measured((*loc, t, "usage"), sample.usage)
                if sample.allocation:
                    self._measured((*loc, t, "allocation"), sample.allocation)
                if sample.watermark:
                    self._watermark((*loc, t, "watermark"), sample.watermark)
            else:
                self._measured((*loc, t), sample)
        if is_numbered:
            self._periods(loc, history)

    def _measured(self, loc: Location, amounts: Mapping[str, WrittenAmount | None]) -> None:
        if self._amounts.is_sure(amounts):
            return
        measured = Amounts({name: 0 if amount is None else amount for name, amount in amounts.items()})
        try:
            self._amounts.convert(measured, self._zeros)
        except (KeyError, ValueError):
            for name, message in self._amounts.faults(measured):
                misplaced = isinstance(loc[-1], int) and name not in self._compressible and name in Observation.model_fields
                remedy = f'belongs beside the amounts; write {{"usage": {{..}}, "{name}": ..}}'
                self._fault((*loc, name), remedy if misplaced else message, "resources")

    def _watermark(self, loc: Location, amounts: Mapping[str, WrittenAmount | None]) -> None:
        self._measured(loc, amounts)
        for name in amounts:
            if self._compressible.get(name):
                message = "is compressible, and a watermark is of incompressible resources only; leave it out"
                self._fault((*loc, name), message, "resources")

    def _periods(self, loc: Location, history: Sequence[Measured | Observation]) -> None:
        taken: dict[int, int] = {}
        for t, number in enumerate(period_numbers(history)):
            sample = history[t]
            where = (*loc, t, "period") if isinstance(sample, Observation) and sample.period is not None else (*loc, t)
            if number in taken:
                self._fault(where, f"period {number} is taken by entry {taken[number]} of the history; keep one of the two")
            elif 0 < self._planned <= number:
                self._fault(where, f"period {number} is not before the planned period {self._planned}; leave the entry out or mend period.index")
            taken.setdefault(number, t)
