"""The state: everything `allocate` may look at, and the door that refuses what contradicts itself."""

from functools import cached_property
from hashlib import sha256
from typing import Annotated, Final, Literal, Self

from pydantic import Field, PrivateAttr, ValidationError, ValidationInfo, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from libra_opt.domain.base import LEFT_OUT, Flag, Natural, Real, Text, Time, Value
from libra_opt.domain.cluster import Pool, Queue
from libra_opt.domain.contradictions import Contradictions
from libra_opt.domain.cost import enter_cost
from libra_opt.domain.entering import enter
from libra_opt.domain.job import Job
from libra_opt.domain.ledger import Ledger
from libra_opt.domain.options import Options
from libra_opt.domain.policy_needs import policy_needs
from libra_opt.domain.quantity import LIMIT
from libra_opt.domain.resource import DEFAULT_RESOURCES, Resource

__all__ = ["STATE_FORMAT", "UNSURE", "About", "Period", "State"]

_SEARCH_OPTIONS: Final = {"backend", "gap", "effort", "seed"}

STATE_FORMAT = "libra-opt/state/1"

UNSURE = "unsure"
"""Key of the validation context under which the reader names the collections that are not known whole (see `Contradictions`)."""


class Period(Value):
    """The rebalancing period that is planned.

    Attributes
    ----------
    index
        Its number.
    seconds
        Its length.
    start
        When it begins, in seconds on the clock of `submitted` and `deadline`; ``index * seconds`` unless given.
    """

    index: Natural = 0
    seconds: Annotated[float, Real(1e-3, 1e9)] = 60
    start: Time | None = LEFT_OUT

    @property
    def begins(self) -> float:
        """When it begins, in seconds on the caller's clock."""
        return self.index * self.seconds if self.start is None else self.start


_Texts = Annotated[tuple[Text, ...], Field(max_length=1000, fail_fast=True)]


class About(Value):
    """Where a state comes from.

    Attributes
    ----------
    title, source, licence
        What it is called, where it was taken from, under which terms.
    recorded, assumed
        What in it was recorded, and what was assumed.
    synthetic
        True where nothing was recorded.
    """

    title: Text = ""
    source: Text = ""
    licence: Text = ""
    recorded: _Texts = ()
    assumed: _Texts = ()
    synthetic: Flag = False


class State(Value):
    """One moment of a cluster: pools, queues, jobs, and how to plan them.

    A plain number is in the resource's unit, a string with a suffix is absolute. A resource missing from a capacity, minimum, demand or
    need is 0; from a maximum or a ceiling, unlimited.

    Attributes
    ----------
    format
        What the document is, and which version of it.
    about
        Where it comes from.
    period
        The rebalancing period that is planned.
    resources
        The dimensions that jobs share, at most 64; cards, GPU memory, CPU, host memory and network unless stated.
    pools, queues, jobs
        Who shares what: at most 10,000 pools and queues and 1,000,000 jobs.
    options
        How the plan is to be made.

    Raises
    ------
    pydantic.ValidationError
        The document contradicts itself; each error's location is the path of a fault. `read_state` turns it into an `InputError`.
        Of a list only the first faulty element is reported here, and every one by `read_state`.
    """

    format: Literal["libra-opt/state/1"] = "libra-opt/state/1"
    about: About | None = None
    period: Period = Period()
    resources: Annotated[tuple[Resource, ...], Field(max_length=64, fail_fast=True)] = DEFAULT_RESOURCES
    pools: Annotated[tuple[Pool, ...], Field(max_length=10_000, fail_fast=True)] = ()
    queues: Annotated[tuple[Queue, ...], Field(max_length=10_000, fail_fast=True)] = ()
    jobs: Annotated[tuple[Job, ...], Field(max_length=1_000_000, fail_fast=True)] = ()
    options: Options = Options()

    _ledger: Ledger = PrivateAttr()

    @property
    def ledger(self) -> Ledger:
        """The state in whole quanta, as the program and the verifier read it."""
        return self._ledger

    @cached_property
    def digest(self) -> str:
        """``sha256:`` and the digest of what is to be planned: the state as given, without the options that only say how hard to search."""
        return self._digest_of(self.model_dump_json(exclude_unset=True))

    def enter_digest(self, written: str) -> None:
        """Take note of the digest where the state has just been written, `written` as `write` gives it: writing a large state again takes long."""
        self.__dict__["digest"] = self._digest_of(written)

    def _digest_of(self, written: str) -> str:
        """Return the digest of a state as written: its first field, the format, and what is not part of it of its last, the options, are cut off."""
        head, tail = f'{{"format":"{self.format}"', f'"options":{self.options.model_dump_json(exclude_unset=True)}}}'
        body = written.removeprefix(head).removeprefix("{").removeprefix(",")
        if "options" not in self.model_fields_set:
            return _sha256("{", body)
        body = body.removesuffix(tail).removesuffix(",")
        if self.options.model_fields_set <= _SEARCH_OPTIONS:
            return _sha256("{", body, "}")
        options = self.options.model_dump_json(exclude_unset=True, exclude=_SEARCH_OPTIONS)
        return _sha256("{", body, "," if body else "", f'"options":{options}}}')

    @model_validator(mode="after")
    def _enter_ledger(self, info: ValidationInfo) -> Self:
        wrong = Contradictions((info.context or {}).get(UNSURE, ()))
        if not self.resources:
            wrong.add(("resources",), "has no entries; leave it out for the five that are usual", "resources")
        self._ledger = enter(self.resources, self.pools, self.queues, self.jobs, wrong, self.period.index)
        if self.options.cost_ceiling is not None:
            ledger = self._ledger
            ledger.cost = enter_cost(self.resources, self.pools, ledger.capacity, self.options.cost_ceiling, wrong.add, ledger.warnings.append)
            if self.options.lookahead > 1:
                wrong.add(("options", "lookahead"), "states with a cost_ceiling are planned one period at a time by this version; leave one of them out")
        for loc, message in policy_needs(self.options, self.jobs):
            wrong.add(loc, message)
        last = self.period.index + self.options.lookahead - 1
        if last >= LIMIT:
            wrong.add(("period", "index"), f"the last of {self.options.lookahead} periods from it on would be {last}, not below 2^63; number them from 0")
        if max(self._ledger.parent, default=-1) >= 0:
            if self.options.lookahead > 1:
                wrong.add(("options", "lookahead"), "trees of queues are planned one period at a time by this version; leave lookahead out, or every parent")
            if self.options.objective == "drf":
                wrong.add(("options", "objective"), "'drf' does not know parents of queues in this version; choose another, or leave every parent out")
        if wrong.found:
            errors = [
                InitErrorDetails(type=PydanticCustomError("fault", "{message}", {"message": message}), loc=loc, input=None) for loc, message in wrong.found
            ]
            raise ValidationError.from_exception_data("State", errors)
        return self


def _sha256(*parts: str) -> str:
    found = sha256()
    for part in parts:
        found.update(part.encode())
    return f"sha256:{found.hexdigest()}"
