"""One cell of a grid: a workload, a policy, a seed and a period; and what came of it, the line of a results file."""

from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from libra_opt.domain.base import Name, Natural, Positive, Text, Value
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.experiments.timeline import Timeline
from libra_opt.simulation.measures import Measures

__all__ = ["RESULT_FORMAT", "BoundFigures", "Cell", "Result"]

RESULT_FORMAT: Final = "libra-opt/result/1"


class Cell(Value):
    """What is run.

    Attributes
    ----------
    workload
        A generated kind by its name, or what messages call a file.
    parameters
        What was set of the kind's parameters, as JSON.
    digest
        Of the document, where the workload is one.
    policy, seed, period_seconds
        Who decides, the seed of workload and noise, and the rebalancing period.
    """

    workload: Text
    parameters: FrozenMapping[Name, Any] = Field(default_factory=FrozenMapping)
    digest: Text = ""
    policy: Name
    seed: Natural
    period_seconds: Positive

    @property
    def key(self) -> str:
        """The cell as one string: equal for equal cells, whatever the order in which parameters were given."""
        return self.replace({"parameters": dict(sorted(self.parameters.items()))}).model_dump_json(exclude_defaults=True)

    @property
    def setting(self) -> str:
        """The workload with what was set of it, for people."""
        return self.workload + "".join(f", {name} {value}" for name, value in sorted(self.parameters.items()))


class BoundFigures(Value):
    """What no allocator can pass.

    Attributes
    ----------
    weighted_card_hours_per_hour
        As in `Measures`; null where the workload's jobs can never all be done.
    makespan_seconds
        Least time in which all jobs can be done, in whole periods; null where the workload has a horizon.
    """

    weighted_card_hours_per_hour: float | None = None
    makespan_seconds: float | None = None


class Result(Value):
    """What came of a cell; exactly one of `measures`, `bound` and `error` is there.

    Attributes
    ----------
    format
        What the document is, and which version of it.
    cell
        What was run.
    synthetic
        Whether the workload was generated rather than recorded; null where it does not say.
    measures
        What the policy made of it.
    bound
        Of the clairvoyant bound.
    error
        Why the cell failed.
    timeline
        What happened period by period, where that was asked for.
    """

    format: Literal["libra-opt/result/1"] = RESULT_FORMAT
    cell: Cell
    synthetic: bool | None = None
    measures: Measures | None = None
    bound: BoundFigures | None = None
    error: Text | None = None
    timeline: Timeline | None = None

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Self:
        if sum(each is not None for each in (self.measures, self.bound, self.error)) != 1:
            raise PydanticCustomError("fault", "has not exactly one of measures, bound and error; write one of them")
        return self
