"""The ``[prometheus]`` section of the loop's configuration: where the server is, which metrics mean what, and whose series are whose.

A query says what is measured and how its samples become one number per stage and period. A match rule says to which stage a series belongs. What is wrong is
refused before anything is asked, with the path of each fault.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from libra_opt.domain.base import Flag, Name, Positive, Real, Text, Value, WholeNumber
from libra_opt.domain.every_error import every_error
from libra_opt.domain.faults import fault_of
from libra_opt.domain.frozen import FrozenMapping
from libra_opt.errors import Fault, InputError

__all__ = ["AMOUNT_FIELDS", "PLACES", "MatchRule", "Query", "Settings", "read_settings"]

AMOUNT_FIELDS: Final = frozenset(("usage", "watermark", "allocation"))
"""Fields of an observation that are amounts by resource."""

PLACES: Final = ("job", "stage", "namespace", "name")
"""What a match rule may write in braces: the job's id whole, a stage's name, and the id before and after its first slash."""

_METRIC: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_MATCHER: Final = re.compile(r'[a-zA-Z_][a-zA-Z0-9_]*(=|!=|=~|!~)"(\\.|[^"\\\n])*"')
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_PLACE: Final = re.compile(r"\{([a-z]+)\}")


class Query(Value):
    """What is measured of every stage, and how.

    Attributes
    ----------
    field
        The field of an observation that it fills.
    resource
        Of which resource; only for ``usage``, ``watermark`` and ``allocation``, which need it.
    metrics
        Names of metrics, each asked by itself.
    matchers
        PromQL label matchers that its series fulfil, such as ``container!=""``.
    over_time
        What the samples of one series make in a period: the ``mean`` or ``max`` of a gauge, its ``last`` value, the ``rate`` per second or the
        ``increase`` of a counter, or 1 where there are samples (``present``).
    across
        What the series of one stage make together: their ``sum``, ``mean`` or ``max``.
    together
        What several metrics make: the ``first`` that the stage has anything of, the ``larger`` in each period, or their ``sum``.
    scale
        What the number is multiplied by, as 0.01 for one in per cent.
    unit
        The unit of bytes in which it then is, as ``B`` or ``MiB``; empty: that of the resource.
    """

    field: Literal["usage", "watermark", "allocation", "cpu_queue", "requests_running", "requests_waiting", "rollout_steps", "tool_calls", "step", "progress"]
    resource: Name | None = None
    metrics: Annotated[tuple[Name, ...], Field(max_length=16, fail_fast=True)]
    matchers: Annotated[tuple[Text, ...], Field(max_length=64, fail_fast=True)] = ()
    over_time: Literal["mean", "max", "last", "rate", "increase", "present"] = "mean"
    across: Literal["sum", "mean", "max"] = "sum"
    together: Literal["first", "larger", "sum"] = "first"
    scale: Positive = 1
    unit: Literal["", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "B/s", "kB/s", "MB/s", "GB/s"] = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.resource is None and self.field in AMOUNT_FIELDS:
            raise _fault(f"{self.field} is by resource; name the resource")
        if self.resource is not None and self.field not in AMOUNT_FIELDS:
            raise _fault(f"{self.field} is not by resource; leave the resource out")
        if self.unit and self.resource is None:
            raise _fault(f"{self.field} has no unit of bytes; leave the unit out")
        if not self.metrics:
            raise _fault("names no metric; name one")
        _check_each(self.metrics, _METRIC, "the name of a metric, such as DCGM_FI_DEV_GPU_UTIL")
        _check_each(self.matchers, _MATCHER, """a label matcher, such as 'container!=""'""")
        return self


class MatchRule(Value):
    """To which stage a series belongs.

    Attributes
    ----------
    labels
        By label a regular expression that its whole value matches; ``{job}``, ``{stage}``, ``{namespace}`` and ``{name}`` in it stand for those of the stages
        that are there (the last two are a job's id before and after its first slash). Together they must leave one stage.
    """

    labels: FrozenMapping[Name, Text]

    @model_validator(mode="after")
    def _check(self) -> Self:
        found: set[str] = set()
        for label, pattern in self.labels.items():
            if not _LABEL.fullmatch(label):
                raise _fault(f"{label!r} is not the name of a label, such as pod; correct it")
            places = _PLACE.findall(pattern)
            if unknown := sorted(set(places) - set(PLACES)):
                raise _fault(f"label {label}: {{{unknown[0]}}} is none of {', '.join(f'{{{name}}}' for name in PLACES)}; write one of them")
            if len(set(places)) < len(places) or found & set(places):
                raise _fault(f"label {label}: writes a name in braces that the rule has already; write each once")
            found |= set(places)
            try:
                re.compile(_PLACE.sub("(x)", pattern))
            except re.error as error:
                raise _fault(f"label {label}: {pattern!r} is not a regular expression ({error}); correct it") from error
        if not found & {"job", "name"}:
            raise _fault("does not say which job a series is of; write {job} or {name} where its name stands in a label")
        return self


class Settings(Value):
    """Where measurements come from.

    Attributes
    ----------
    url
        Base address of the server, with the path prefix it has, if any.
    match
        To which stage a series belongs: the first rule that leaves one stage.
    periods
        How many periods back histories reach.
    delay_seconds
        How long after a moment its samples are there; the newest period ends that long ago.
    timeout_seconds
        How long all queries of one period may take together.
    rate_seconds
        The window over which rates are taken where it is longer than a period: at least two, better four scrapes.
    longest_hole_periods
        A series without samples for at most so long is taken to be there, unmeasured; for longer, to be gone and back.
    paced_by
        Resources whose use tells how many replicas a stage needs that comes in whole replicas (its unit names several resources), the leading one first.
    most_megabytes
        The largest answer that is read.
    matchers
        PromQL label matchers that all series fulfil.
    defaults
        Whether the usual metrics of DCGM, cAdvisor, kube-state-metrics and vLLM are asked; a query of one's own replaces the usual one of the same
        field and resource.
    query
        Queries of one's own.
    headers
        HTTP headers of each request.
    bearer_token_file
        A file with a token, read for every period.
    ca_file
        A file with the certificates that the server is checked against.
    """

    url: Annotated[str, Field(strict=True, pattern=r"^https?://[^\s?#]+$")]
    match: Annotated[tuple[MatchRule, ...], Field(max_length=64, fail_fast=True)]
    periods: Annotated[int, WholeNumber(1, 10_000)] = 120
    delay_seconds: Annotated[float, Real(0, 1e6)] = 15
    timeout_seconds: Annotated[float, Real(0.1, 3600)] = 10
    rate_seconds: Annotated[float, Real(1, 1e6)] | None = None
    longest_hole_periods: Annotated[int, WholeNumber(0, 10_000)] = 5
    paced_by: Annotated[tuple[Name, ...], Field(max_length=64, fail_fast=True)] = ("gpu", "cpu")
    most_megabytes: Annotated[int, WholeNumber(1, 10_000)] = 256
    matchers: Annotated[tuple[Text, ...], Field(max_length=64, fail_fast=True)] = ()
    defaults: Flag = True
    query: Annotated[tuple[Query, ...], Field(max_length=256, fail_fast=True)] = ()
    headers: FrozenMapping[Name, Text] = FrozenMapping()
    bearer_token_file: Text | None = None
    ca_file: Text | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_each(self.matchers, _MATCHER, """a label matcher, such as 'cluster="a"'""")
        if not self.match:
            raise _fault("has no match rule, so no series belongs to any stage; add one")
        kinds = [(query.field, query.resource) for query in self.query]
        for kind in kinds:
            if kinds.count(kind) > 1:
                raise _fault(f"two queries are for {' of '.join(filter(None, kind))}; write their metrics into one")
        return self


def read_settings(section: Mapping[str, Any], source: str = "configuration", path: str = "prometheus") -> Settings:
    """Return the section of a parsed TOML file.

    Raises
    ------
    InputError
        Every fault with its path, which begins with `path`.
    """
    try:
        return Settings.model_validate(dict(section))
    except ValidationError as error:
        faults = (fault_of(details, Settings) for details in every_error(Settings, section, error))
        raise InputError(source, tuple(Fault(f"{path}.{fault.path}" if fault.path else path, fault.message) for fault in faults)) from error


def _check_each(texts: tuple[str, ...], pattern: re.Pattern[str], wanted: str) -> None:
    for text in texts:
        if not pattern.fullmatch(text):
            raise _fault(f"{text!r} is not {wanted}; correct it")


def _fault(message: str) -> PydanticCustomError:
    return PydanticCustomError("fault", "{message}", {"message": message})
