"""What was observed of a stage in past periods: usage alone, or usage with what explains it.

Usage is censored: a stage that was given two cards cannot be seen to use three. So an observation may carry what it was allocated then and the signs of more
demand (requests that waited, a CPU queue, tool calls), and where in its own step the job was.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from libra_opt.domain.amounts import Amount, Amounts
from libra_opt.domain.base import MAPPING, PLAIN, Name, Natural, NonNegative, Real, Value
from libra_opt.domain.frozen import FrozenMapping

__all__ = ["LONGEST_HISTORY", "Measured", "Observation", "Sample", "period_numbers"]

LONGEST_HISTORY = 10_000
"""A history has at most this many entries, and what lies as many periods before the newest is not looked at."""

Measured: TypeAlias = FrozenMapping[Name, Amount | None]
"""Amounts by resource; null, or missing, where nothing was measured."""


class Observation(Value):
    """What was observed of a stage in one period.

    Attributes
    ----------
    usage
        What it used per resource, the mean over the period; null or missing where nothing was measured.
    allocation
        What it was allocated then, per resource. Where usage reached it, demand was at least that.
    watermark
        The most it used at any moment of the period, of incompressible resources.
    cpu_queue
        Threads that were ready to run and had no core, the mean over the period.
    requests_running, requests_waiting
        Inference requests being served, and waiting for it, the mean over the period.
    rollout_steps
        Turns of a trajectory, the mean over those that ended in the period.
    tool_calls
        Tool calls in the period.
    step
        The number of the job's own training step (iteration).
    phase
        The stage of that step the job was in, as the job calls it.
    progress
        Done share of that stage of the step, 0..1.
    period
        The number of the period; missing: the one after the entry before. Entries may come late and out of order, and periods may be missing, but
        none may be there twice.
    """

    usage: Measured
    allocation: Amounts | None = None
    watermark: Measured = FrozenMapping()
    cpu_queue: NonNegative | None = None
    requests_running: NonNegative | None = None
    requests_waiting: NonNegative | None = None
    rollout_steps: NonNegative | None = None
    tool_calls: NonNegative | None = None
    step: Natural | None = None
    phase: Name | None = None
    progress: Annotated[float, Real(0, 1)] | None = None
    period: Natural | None = None


class _EitherSample:
    """Annotates an entry of a history: an object whose `usage` is an object is an observation, any other is usage alone."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        usage, observation = (handler.generate_schema(kind) for kind in get_args(source))
        return core_schema.tagged_union_schema({PLAIN: usage, MAPPING: observation}, _tag, serialization=core_schema.simple_ser_schema("any"))


def _tag(value: object) -> str:
    is_observation = isinstance(value, Observation) or (isinstance(value, Mapping) and isinstance(value.get("usage"), Mapping))
    return MAPPING if is_observation else PLAIN


Sample = Annotated[Measured | Observation, _EitherSample()]
"""One entry of a history."""


def period_numbers(history: Sequence[Measured | Observation]) -> list[int]:
    """Return the number of the period of each entry: its own, else one more than that of the entry before.

    Entries before the first that has a number count back from it.

    Examples
    --------
    >>> late = [{"usage": {}}, {"usage": {}, "period": 7}, {"usage": {}, "period": 4}, {"gpu": 1}]
    >>> period_numbers([entry if "usage" not in entry else Observation.model_validate(entry) for entry in late])
    [6, 7, 4, 5]
    """
    own = [entry.period if isinstance(entry, Observation) else None for entry in history]
    first = next((t for t, number in enumerate(own) if number is not None), 0)
    before = (own[first] or 0) - first - 1 if own else 0
    numbers = []
    for number in own:
        before = before + 1 if number is None else number
        numbers.append(before)
    return numbers
