"""The state: everything `allocate` may look at, and the door that refuses what contradicts itself."""

from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from libra_opt.domain.base import Flag, Natural, Positive, Value
from libra_opt.domain.cluster import Pool, Queue
from libra_opt.domain.job import Job
from libra_opt.domain.ledger import Ledger, Location, enter
from libra_opt.domain.options import Options
from libra_opt.domain.resource import DEFAULT_RESOURCES, Resource

__all__ = ["STATE_FORMAT", "About", "Period", "State"]

STATE_FORMAT = "libra-opt/state/1"


class Period(Value):
    """The rebalancing period that is planned: its number and its length in seconds."""

    index: Natural = 0
    seconds: Annotated[Positive, Field(ge=0.001)] = 60


class About(Value):
    """Where a state comes from: title, source and licence, what was recorded, what was assumed, whether it is synthetic."""

    title: str = ""
    source: str = ""
    licence: str = ""
    recorded: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    synthetic: Flag = False


class State(Value):
    """One moment of a cluster: pools, queues, jobs, and how to plan them.

    A plain number is in the resource's unit, a string with a suffix is absolute. A resource missing from a capacity, minimum, demand or
    need is 0; from a maximum or a ceiling, unlimited.

    Raises
    ------
    pydantic.ValidationError
        The document contradicts itself; each error's location is the path of a fault. `read_state` turns it into an `InputError`.
    """

    format: Literal["libra-opt/state/1"] = "libra-opt/state/1"
    about: About | None = None
    period: Period = Period()
    resources: tuple[Resource, ...] = DEFAULT_RESOURCES
    pools: tuple[Pool, ...] = ()
    queues: tuple[Queue, ...] = ()
    jobs: tuple[Job, ...] = ()
    options: Options = Options()

    _ledger: Ledger = PrivateAttr()

    @property
    def ledger(self) -> Ledger:
        """The state in whole quanta, as the program and the verifier read it."""
        return self._ledger

    @model_validator(mode="after")
    def _enter_ledger(self) -> Self:
        faults: list[tuple[Location, str]] = []
        self._ledger = enter(self.resources, self.pools, self.queues, self.jobs, faults)
        if faults:
            errors = [InitErrorDetails(type=PydanticCustomError("fault", "{message}", {"message": message}), loc=loc, input=None) for loc, message in faults]
            raise ValidationError.from_exception_data("State", errors)
        return self
