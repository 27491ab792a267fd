"""The configuration of a loop: one TOML file, every fault of which is listed by its path before anything is done.

[scheduler]          what the adapter needs; its own model
[prometheus]         where measurements come from, if anywhere; the meter's own model
[options]            how plans are made, as in a state
[queues.NAME]        what the scheduler does not know of a queue, as in a state
[jobs.NAME]          what the scheduler does not know of a job, as in a state: quotas, weight, costs
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from libra_opt.controller.registry import METERS, SCHEDULERS, meter_adapter, scheduler_adapter
from libra_opt.domain import Job, Options, Queue
from libra_opt.domain.base import Value
from libra_opt.domain.faults import fault_of, path_of, shown
from libra_opt.errors import Fault, InputError, MissingExtraError

__all__ = ["OBSERVED", "Settings", "read_settings"]

_Section = TypeVar("_Section", bound=Value)

OBSERVED: Final = ("id", "submitted", "running_seconds", "allocation", "history")
"""Fields of a job that are the scheduler's to say."""

_SECTIONS: Final = ("scheduler", "options", "queues", "jobs", *METERS)


@dataclass(frozen=True, slots=True)
class Settings:
    """What one loop was told.

    Attributes
    ----------
    kind
        Which scheduler.
    scheduler
        What its adapter was told.
    meters
        What each meter was told, by its name.
    options
        How plans are made; feedback changes two of them every period.
    queues, jobs
        Fields that are put over what the scheduler says of a queue or a job of that name.
    """

    kind: str
    scheduler: Value
    meters: Mapping[str, Value]
    options: Options
    queues: Mapping[str, Queue]
    jobs: Mapping[str, Job]


def read_settings(text: bytes, source: str, kind: str | None = None) -> Settings:
    """Read a configuration.

    Parameters
    ----------
    text
        The TOML document.
    source
        How messages call it.
    kind
        Which scheduler it is for; None: what ``scheduler.kind`` says.

    Raises
    ------
    InputError
        Something in it is wrong; every fault is listed.
    """
    tables = _tables(text, source)
    faults: list[Fault] = [
        Fault(path_of((name,)), f"unknown section{_near(name, _SECTIONS)}; known are {', '.join(_SECTIONS)}") for name in tables if name not in _SECTIONS
    ]
    flat = [name for name in _SECTIONS if not isinstance(tables.get(name, {}), dict)]
    faults += [Fault(name, f"{shown(tables.pop(name))} is not a section; write [{name}] and its entries below it") for name in flat]
    scheduler = dict(tables.get("scheduler", {}))
    kind, wrong = _kind(scheduler.pop("kind", None), kind)
    if wrong is not None or kind is None:
        raise InputError(source, (*faults, *((wrong,) if wrong else ())))
    told = _adapter_section(scheduler_adapter, kind, scheduler, ("scheduler",), faults)
    meters = {name: _adapter_section(meter_adapter, name, tables[name], (name,), faults) for name in METERS if name in tables}
    options = _section(Options, tables.get("options", {}), ("options",), faults)
    faults += [
        Fault(path_of(("queues", name, "name")), f"is {shown(table['name'])} in the section of {name!r}; leave it out")
        for name, table in tables.get("queues", {}).items()
        if isinstance(table, dict) and table.get("name", name) != name
    ]
    queues = {name: _section(Queue, _named(table, "name", name), ("queues", name), faults) for name, table in tables.get("queues", {}).items()}
    jobs = {name: _job(name, table, faults) for name, table in tables.get("jobs", {}).items()}
    if faults or told is None or options is None:
        raise InputError(source, tuple(faults))
    return Settings(
        kind,
        told,
        {name: section for name, section in meters.items() if section is not None},
        options,
        {name: queue for name, queue in queues.items() if queue is not None},
        {name: job for name, job in jobs.items() if job is not None},
    )


def _tables(text: bytes, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(source, (Fault("", f"is not UTF-8 text (offset {error.start}); save it as UTF-8"),)) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(source, (Fault("", f"is not TOML: {error}; correct it there"),)) from None
    except RecursionError:
        raise InputError(source, (Fault("", "nests tables or lists too deeply; no section needs more than a few levels"),)) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(source, (Fault("", f"holds a number that cannot be read: {error}; write fewer digits"),)) from None


def _kind(stated: object, asked: str | None) -> tuple[str | None, Fault | None]:
    if stated is not None and not (isinstance(stated, str) and stated in SCHEDULERS):
        return None, Fault("scheduler.kind", f"{shown(stated)} is not a scheduler; write one of {', '.join(SCHEDULERS)}")
    if stated is not None and asked is not None and stated != asked:
        return None, Fault("scheduler.kind", f"{shown(stated)} is not the scheduler {asked!r} of the command line; make them agree")
    chosen = asked or stated
    if chosen is None:
        return None, Fault("scheduler.kind", f"is missing; add it, one of {', '.join(SCHEDULERS)}, or name the scheduler on the command line")
    return str(chosen), None


def _adapter_section(adapter: Any, name: str, table: object, loc: tuple[str, ...], faults: list[Fault]) -> Value | None:
    try:
        model: type[Value] = adapter(name).Settings
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("libra_opt."):
            faults.append(Fault(path_of(loc), f"this version has no adapter for {name}; use another"))
            return None
        raise MissingExtraError(f"{name} needs the package {error.name!r}; install the extra libra-opt[{name}]") from error
    return _section(model, table, loc, faults)


def _section(model: type[_Section], table: object, loc: tuple[str, ...], faults: list[Fault]) -> _Section | None:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            fault = fault_of(details, model)
            inside = fault.path if not fault.path or fault.path.startswith("[") else f".{fault.path}"
            faults.append(Fault(f"{path_of(loc)}{inside}", fault.message))
        return None


def _named(table: object, key: str, name: str) -> object:
    return {**table, key: name} if isinstance(table, dict) else table


def _job(name: str, table: object, faults: list[Fault]) -> Job | None:
    told: list[tuple[str | int, ...]] = [(key,) for key in OBSERVED if isinstance(table, dict) and key in table]
    if isinstance(table, dict) and isinstance(stages := table.get("stages"), list):
        told += [("stages", i, key) for i, stage in enumerate(stages) if isinstance(stage, dict) for key in OBSERVED if key in stage]
    faults += [Fault(path_of(("jobs", name, *loc)), "is the scheduler's to say; leave it out") for loc in told]
    return None if told else _section(Job, _named(table, "id", name), ("jobs", name), faults)


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:64], known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
