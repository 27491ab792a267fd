"""What the loop remembers from one period to the next and over a restart: the setpoint, how long every job has waited, and what was refused.

It is written, with what was planned, before anything is done in a period, so that a loop killed anywhere continues from the last period that was
planned: what came of that one is then learned from what is really there, once.
"""

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from libra_opt.domain import Allocation
from libra_opt.domain.base import Flag, Name, Natural, NonNegative, Text, Time, Value
from libra_opt.domain.faults import fault_of
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.domain.plan import Action
from libra_opt.errors import Fault, InputError
from libra_opt.feedback import Setpoint

__all__ = ["Followed", "Memory", "Refusal", "read_memory"]


class Followed(Value):
    """What is remembered of one job.

    Attributes
    ----------
    id
        The job.
    waited_seconds
        How long it counts as having waited (`libra_opt.feedback.waiting_credit`).
    has_run
        Whether it was ever seen to run.
    waiting_since, running_since
        Since when it waits, or runs, in seconds of the epoch; one of the two is None.
    action
        What the last plan did to it; None where it was left out of planning.
    holds
        What its stages held when it was planned.
    """

    id: Name
    waited_seconds: NonNegative = 0
    has_run: Flag = False
    waiting_since: Time | None = None
    running_since: Time | None = None
    action: Action | None = None
    holds: FrozenMapping[Name, Allocation] = FrozenMapping()


class Refusal(Value):
    """What a scheduler refused, and for how long it is not asked again.

    Attributes
    ----------
    key, text
        Of the command.
    job
        The job it was to serve, which is left as it is until then.
    message
        The scheduler's own words.
    count
        How often in a row.
    until
        Number of the period from which it may be asked again.
    """

    key: Name
    text: Text
    job: Name | None = None
    message: Text = ""
    count: Natural = 1
    until: Natural = 0


class Memory(Value):
    """All that one loop remembers.

    Attributes
    ----------
    format
        Names the document this is.
    period
        Number of the period that was planned last.
    at
        When that was, in seconds of the epoch; None before the first.
    seconds
        How long a period was to last then.
    setpoint
        What feedback had come to for that period.
    jobs
        Every job that was there then.
    refusals
        What was refused lately.
    allocating_seconds
        How long the plan took; None where the loop was stopped before that was written.
    """

    format: Literal["libra-opt/loop/1"] = "libra-opt/loop/1"
    period: Natural = 0
    at: Time | None = None
    seconds: NonNegative = 60
    setpoint: Setpoint = Setpoint()
    jobs: Annotated[tuple[Followed, ...], Field(max_length=1_000_000, fail_fast=True)] = ()
    refusals: Annotated[tuple[Refusal, ...], Field(max_length=100_000, fail_fast=True)] = ()
    allocating_seconds: NonNegative | None = None


def read_memory(document: object, source: str) -> Memory:
    """Read what a loop remembered; raises `InputError` where the document is something else."""
    try:
        return Memory.model_validate(document)
    except ValidationError as error:
        faults = tuple(fault_of(details, Memory) for details in error.errors(include_url=False))
        raise InputError(source, (*faults, Fault("", "is not what a loop remembers; move the recording away to start anew"))) from None
