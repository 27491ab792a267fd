"""What a worker process does: bytes in, an answer out. Nothing here knows of HTTP's wire or of other requests."""

import json
import logging
import os
import resource
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path
from typing import Final, TypeVar

from pydantic_core import from_json

from libra_opt.allocation import allocate
from libra_opt.domain import Options, read_plan, read_state, read_workload, write
from libra_opt.domain.members import members
from libra_opt.domain.plan import PLAN_FORMAT
from libra_opt.domain.workload import WORKLOAD_FORMAT
from libra_opt.errors import BrokenPlanError, EffortError, Fault, InputError, MissingExtraError
from libra_opt.service.problems import Problem
from libra_opt.verification import verify

__all__ = ["Answer", "allocate_state", "prepare", "validate_document", "verify_plan"]

_FIRST: Final = """\
{"pools": [{"name": "p", "capacity": {"gpu": 2}}], "jobs": [{"id": "j", "demand": {"gpu": 1}}], "options": {"backend": "auto"}}
"""

_OOM_SCORE: Final = "500"

_Document = TypeVar("_Document")

_log = logging.getLogger("libra_opt.service")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request.

    Attributes
    ----------
    status, body
        200 and the document, or a problem.
    gap
        Of the plan, where there is one.
    peak_bytes
        Most memory the worker has ever held.
    """

    status: int
    body: bytes
    gap: float | None = None
    peak_bytes: int = 0


def prepare(most_bytes: int) -> None:
    """Make this process a worker: alone in its session, so that Ctrl-C at a terminal reaches only the service; limited; warm; gone with its parent."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # what a solver's C code prints
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_go_with, args=(parent.join,), daemon=True).start()
    for backend in ("auto", "cp_sat"):  # what a first plan imports is imported now
        allocate(read_state(_FIRST.replace("auto", backend)))
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # a system that is short of memory ends a worker before it ends the service
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)


def _go_with(parent_is_gone: Callable[[], None]) -> None:
    parent_is_gone()
    os._exit(1)


def allocate_state(body: bytes, most_effort: float) -> Answer:
    """Plan a state."""
    return _answered(lambda: _allocate(body, most_effort), body)


def validate_document(body: bytes) -> Answer:
    """Read a state, a plan or a workload, which of them its format says, and say what it is."""
    return _answered(lambda: _validate(body), body)


def verify_plan(body: bytes) -> Answer:
    """Verify ``{"state": .., "plan": ..}``."""
    return _answered(lambda: _verify(body), body)


def _answered(work: Callable[[], Answer], body: bytes) -> Answer:
    try:
        answer = work()
    except InputError as error:
        answer = _problem(*_refused(error, body))
    except (MissingExtraError, EffortError) as error:
        answer = _problem("invalid-document", "The document asks for what this service cannot do.", (Fault("options", str(error)),))
    except BrokenPlanError as error:
        _log.error("%s", error)
        answer = _problem("our-fault", f"{error}. Please report it, with the state.")
    except MemoryError:
        answer = _problem("worker-died", "It needs more memory than a worker may use; send less, or start the service with more --worker-bytes.")
    except Exception:  # noqa: BLE001 - it is logged, and the next request must find a worker
        _log.exception("a request failed")
        answer = _problem("our-fault", "Something unforeseen happened; the service's log says what. Please report it, with what was sent.")
    return Answer(answer.status, answer.body, answer.gap, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _problem(kind: str, detail: str, faults: tuple[Fault, ...] = ()) -> Answer:
    told = Problem(kind, detail, faults)
    return Answer(told.status, told.document())


def _refused(error: InputError, body: bytes) -> tuple[str, str, tuple[Fault, ...]]:
    try:
        from_json(body, allow_inf_nan=False)
    except ValueError:
        return "not-json", "Correct the body; errors say where.", error.faults
    n = len(error.faults)
    return "invalid-document", f"{'One thing is' if n == 1 else f'{n} things are'} wrong with it; errors say what and where.", error.faults


def _allocate(body: bytes, most_effort: float) -> Answer:
    state = read_state(body)
    if state.options.effort > most_effort:
        default = "" if "effort" in state.options.model_fields_set else f" (it is left out, which means {Options().effort:g})"
        message = f"{state.options.effort:g} is above {most_effort:g}, the most this service allows{default}; lower it, or start the service with --most-effort"
        raise InputError("state", (Fault("options.effort", message),))
    plan = allocate(state)
    return Answer(200, write(plan).encode(), plan.certificate.gap)


def _validate(body: bytes) -> Answer:
    kind = _format_of(body)
    if kind == PLAN_FORMAT:
        told: dict[str, object] = {"kind": "plan", "jobs": len(read_plan(body).jobs)}
    elif kind == WORKLOAD_FORMAT:
        told = {"kind": "workload", "jobs": len(read_workload(body).jobs)}
    else:
        state = read_state(body)
        told = {"kind": "state", "jobs": len(state.jobs), "pools": len(state.pools), "queues": len(state.queues)}
    return Answer(200, json.dumps(told).encode())


def _format_of(body: bytes) -> object:
    try:
        document = from_json(body)
    except ValueError:
        return None
    return document.get("format") if isinstance(document, dict) else None


def _verify(body: bytes) -> Answer:
    try:
        found = members(body.decode())
    except ValueError as error:
        raise InputError("body", (Fault("", f"is not an object of a state and a plan: {error}"),)) from error
    faults = [Fault(name, "is missing") for name in ("state", "plan") if name not in found]
    faults += [Fault(name, "is unknown here; leave it out") for name in found if name not in ("state", "plan")]
    state = _under("state", found, read_state, faults)
    plan = _under("plan", found, read_plan, faults)
    if faults or state is None or plan is None:
        raise InputError("body", tuple(faults))
    report = verify(state, plan)
    broken = [{"rule": each.rule, "where": each.where, "message": each.message, "margin": each.margin} for each in report.broken]
    return Answer(200, json.dumps({"holds": report.holds, "broken": broken}, ensure_ascii=False).encode())


def _under(name: str, found: dict[str, str], read: Callable[[str], _Document], faults: list[Fault]) -> _Document | None:
    """Return the document that is one member; its faults are added under that member's name."""
    try:
        return read(found[name]) if name in found else None
    except InputError as error:
        faults += [Fault(f"{name}.{fault.path}" if fault.path else name, fault.message) for fault in error.faults]
        return None
