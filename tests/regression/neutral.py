"""Neutral cases, as people reported faults of other allocators, turned into states of ours and their assertions evaluated on our plans.

The mapping: `min`, `max`, `demand`, `history`, `weight` and `queue` are the fields of ours that mean the same; `current` is an allocation in the one
pool. A neutral preemption cost is in units of the objective, ours are seconds of lost service, so a cost ``c`` becomes the seconds with
``worth * seconds / (period * hold) = c``. A queue's `guaranteed` is its nominal quota, its `max` is nominal quota and borrowing limit together; a
queue that jobs name and nobody describes has no quota. Ageing is the caller's business with us: it enters as the weight
``weight * (1 + aging * waited)``. Memory is in GiB, or in bytes where a number of the case reaches 2^30 or the case says so; shared cards have a
quantum of a thousandth. A limit on seconds becomes one on effort. Not mapped, as there is nothing to map them to: `reclaim` (always on),
`forecaster` and `season` (there is one method).
"""

import ast
import json
import math
import operator
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from libra_opt import InputError, Plan, State, allocate, read_state, verify, write
from libra_opt.domain import digest
from libra_opt.domain.quantity import exact, parse

__all__ = ["POOL", "Answer", "ask", "failures", "state_document"]

Document = dict[str, Any]

POOL = "cluster"
PERIOD_SECONDS, HOLD_PERIODS = 60, 2
_BYTES = 2**30
_BACKENDS = {"cpsat": "cp_sat", "lp": "lp_relaxation"}
_STATUS = {"within_gap": "feasible"}


def state_document(case: Document, held: Mapping[str, Document] = MappingProxyType({})) -> Document:
    """Return our state for a situation of a case; `held` is what jobs with ``"current": "prev"`` hold."""
    config = case.get("config", {})
    jobs = case["jobs"] if "jobs" in case else _repeated(case["jobs_repeat"])
    resources = _resources(case, jobs, config)
    described = config.get("queues", {})
    named = dict.fromkeys([*described, *(job["queue"] for job in jobs if "queue" in job)])
    document: Document = {
        "period": {"seconds": PERIOD_SECONDS},
        "resources": resources,
        "pools": [{"name": POOL, "capacity": case["cluster"]}],
        "queues": [_queue(name, described.get(name, {})) for name in named],
        "jobs": [_job(job, case["cluster"], config, held) for job in jobs],
        "options": {"hold_periods": HOLD_PERIODS, **_options(config)},
    }
    return document


def _options(config: Document) -> Document:
    options: Document = {}
    if "time_limit_s" in config:
        options["effort"] = config["time_limit_s"]
    if "backend" in config:
        options["backend"] = _BACKENDS[config["backend"]]
    if "seed" in config:
        options["seed"] = config["seed"]
    return options


def _resources(case: Document, jobs: Sequence[Document], config: Document) -> list[Document]:
    memory = [amounts.get(name) for amounts in (case["cluster"], *_amounts(jobs)) for name in ("gpu_mem", "mem")]
    in_bytes = config.get("units") == "bytes-and-cores" or any(isinstance(amount, (int, float)) and amount >= _BYTES for amount in memory)
    unit, step = ("B", 1) if in_bytes else ("GiB", 1)
    return [
        {"name": "gpu", "unit": "cards", "quantum": 0.001 if config.get("fractional_gpu") else 1, "compressible": True, "costly": True},
        {"name": "gpu_mem", "unit": unit, "quantum": step, "compressible": False, "costly": True},
        {"name": "cpu", "unit": "cores", "quantum": 0.1, "compressible": True, "costly": False},
        {"name": "mem", "unit": unit, "quantum": step, "compressible": False, "costly": False},
        {"name": "net", "unit": "GB/s", "quantum": 0.1, "compressible": True, "costly": False},
    ]


def _amounts(jobs: Sequence[Document]) -> Iterator[Document]:
    for job in jobs:
        yield from (job[name] for name in ("min", "max", "demand", "current") if isinstance(job.get(name), dict))
        yield from job.get("history", ())


def _queue(name: str, quotas: Document) -> Document:
    guaranteed, most = quotas.get("guaranteed", {}), quotas.get("max")
    queue: Document = {"name": name, "nominal_quota": guaranteed}
    if most is not None:
        queue["borrowing_limit"] = {resource: amount - guaranteed.get(resource, 0) for resource, amount in most.items()}
    return queue


def _job(job: Document, cluster: Document, config: Document, held: Mapping[str, Document]) -> Document:
    weight = job["weight"] * (1 + config.get("aging", 0) * job.get("waited", 0))
    ours: Document = {"id": job["id"], "weight": weight, "min_quota": job.get("min", {}), "max_quota": job.get("max", {})}
    ours |= {name: job[name] for name in ("demand", "history", "queue") if name in job}
    current = held.get(job["id"]) if job.get("current") == "prev" else job.get("current")
    if current is not None:
        ours["allocation"] = {"pool": POOL, "resources": current}
    cost = job.get("preemption_cost")
    if cost is not None:
        seconds = _seconds(cost, weight * _work(job, cluster))
        ours["preemption_cost"] = {"evict_seconds": seconds, "resize_seconds": seconds, "migrate_seconds": seconds}
    return ours


def _work(job: Document, cluster: Document) -> float:
    """Return what a fully served period of the job is worth per weight: its cards, else its dominant share in cards (see "Worth" in the write-up)."""
    demand = job["demand"] if "demand" in job else job["history"][-1]
    if demand.get("gpu"):
        return float(demand["gpu"])
    share = max((demand[name] / total for name, total in cluster.items() if total and name in demand), default=0.0)
    return share * (cluster.get("gpu") or 1)


def _seconds(cost: float, worth: float) -> float:
    if cost == 0:
        return 0
    seconds = round(cost * PERIOD_SECONDS * HOLD_PERIODS / worth, 3)
    return int(seconds) if seconds.is_integer() else seconds


def _repeated(pattern: Document) -> list[Document]:
    return [_at(pattern, i) for i in range(pattern["n"])]


def _at(pattern: Document, i: int) -> Document:
    def fill(value: Any, *, is_name: bool = False) -> Any:
        if isinstance(value, dict):
            return {key: fill(part, is_name=key in {"id", "queue"}) for key, part in value.items() if key != "n"}
        if not isinstance(value, str):
            return value
        return value.replace("{i}", str(i)) if is_name else _number(value.replace("{i}", "i"), i)

    filled: Document = fill(pattern)
    return filled


_OPERATORS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def _number(expression: str, i: int) -> float:
    def value(node: ast.AST) -> Fraction:
        match node:
            case ast.Constant(value=int() | float() as number):
                return exact(number)
            case ast.Name(id="i"):
                return Fraction(i)
            case ast.BinOp(left=left, op=sign, right=right):
                return Fraction(_OPERATORS[type(sign)](value(left), value(right)))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
        raise ValueError(f"{expression!r} is no expression in i")

    result = value(ast.parse(expression, mode="eval").body)
    return result.numerator if result.denominator == 1 else float(result)


@dataclass(frozen=True)
class Answer:
    """What came of one situation: a state and its plan, or what was refused.

    Attributes
    ----------
    state, plan
        None where the document was refused.
    refused
        Paths and messages of the faults; empty where it was read.
    wall_seconds
        How long the plan took.
    """

    state: State | None = None
    plan: Plan | None = None
    refused: tuple[tuple[str, str], ...] = ()
    wall_seconds: float = 0.0
    holdings: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)
    current: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)

    @property
    def written(self) -> dict[str, Document]:
        """What each job with an allocation holds, as written in the plan."""
        assert self.plan is not None
        return {job.id: dict(job.stages[0].resources) for job in self.plan.jobs if job.stages}


def ask(document: Document) -> Answer:
    """Read one state through the JSON door and plan it; every plan must pass the verifier."""
    try:
        state = read_state(json.dumps(document, ensure_ascii=False))
    except InputError as error:
        return Answer(refused=tuple((fault.path, fault.message) for fault in error.faults))
    start = time.perf_counter()
    plan = allocate(state)
    seconds = time.perf_counter() - start
    report = verify(state, plan)
    assert report.holds, report.broken
    units = {resource.name: resource.unit for resource in state.resources}

    def exactly(amounts: Mapping[str, Any]) -> dict[str, Fraction]:
        return {name: parse(amounts[name], unit) if name in amounts else Fraction(0) for name, unit in units.items()}

    holdings = {job.id: exactly(job.stages[0].resources if job.stages else {}) for job in plan.jobs}
    current = {job.id: exactly(job.allocation.resources if job.allocation else {}) for job in state.jobs}
    return Answer(state, plan, wall_seconds=seconds, holdings=holdings, current=current)


def failures(case: Document) -> list[str]:
    """Play a case to its end and return the assertions that do not hold."""
    found = []
    for variant in case.get("variants", [{}]):
        varied = {**case, **{key: value for key, value in variant.items() if key not in {"jobs", "expect"}}}
        if "jobs" in variant:
            by_id = {job["id"]: job for job in case["jobs"]}
            varied["jobs"] = [by_id[job] if isinstance(job, str) else job for job in variant["jobs"]]
        varied["expect"] = [*case.get("expect", ()), *variant.get("expect", ())]
        found += _play(varied)
    return found


def _play(case: Document) -> list[str]:
    earlier: dict[str, Answer] = {}
    found: list[str] = []
    held: dict[str, Document] = {}
    answer = Answer()
    for name, situation, own in _situations(case):
        answer = ask(state_document(situation, held))
        earlier[name] = answer
        held = answer.written if answer.plan is not None else {}
        checks = [*own, *(case["expect"] if "steps" not in case else ())]
        found += [f"{name}: {check}" for check in checks if not _is_later(check, earlier) and not _holds(check, answer, earlier)]
    found += [str(check) for check in case["expect"] if ("steps" in case or _is_later(check, {})) and not _holds(check, answer, earlier)]
    return found


def _is_later(check: Document, earlier: Mapping[str, Answer]) -> bool:
    """Tell whether an assertion compares runs that are still to come."""
    return any(not set(check.get(kind, ())) <= set(earlier) for kind in ("same_plan", "same_object"))


def _situations(case: Document) -> Iterator[tuple[str, Document, list[Document]]]:
    if "raw" in case:
        raw = json.loads(case["raw"])
        yield "raw", {**raw, "config": {**case.get("config", {}), **raw.get("config", {})}}, []
    elif "steps" in case:
        for step in case["steps"]:
            yield step["name"], {**case, **{key: value for key, value in step.items() if key != "expect"}}, step.get("expect", [])
    else:
        for run in range(case.get("runs", 1)):
            yield f"run{run + 1}", case, []


def _holds(check: Document, answer: Answer, earlier: Mapping[str, Answer]) -> bool:
    ((kind, operand),) = check.items()
    if kind == "error":
        return _is_named(operand, answer)
    if kind == "any":
        return any(all(_holds(part, answer, earlier) for part in group) for group in operand)
    if answer.plan is None or answer.state is None:
        return False
    return bool(_CHECKS[kind](operand, answer, earlier))


def _is_named(operand: str, answer: Answer) -> bool:
    named = [_our_path(path) for path in operand.removeprefix("names field ").split(" or ")]
    return any(path == name or name in message for path, message in answer.refused for name in named)


def _our_path(path: str) -> str:
    path = re.sub(r"^cluster\b", "pools[0].capacity", path)
    path = re.sub(r"\.min\b", ".min_quota", path)
    path = re.sub(r"\.max\b", ".max_quota", path)
    return re.sub(r"\.current\b", ".allocation.resources", path)


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Answer, Mapping[str, Answer]], bool]:
    def check(operand: Any, answer: Answer, _earlier: Mapping[str, Answer]) -> bool:
        left, right = (_value(part, answer) for part in operand)
        if isinstance(left, float) or isinstance(right, float):
            slack = 1e-9 * max(1.0, abs(left), abs(right))
            return compare(float(left), float(right)) or (abs(left - right) <= slack and compare(0, 0))
        return compare(left, right)

    return check


def _value(operand: Any, answer: Answer) -> Any:
    """Resolve a number or a path; plans are exact, so numbers are too, and only values of the objective are floats."""
    if isinstance(operand, str):
        kind, _, rest = operand.partition(".")
        return _PATHS[kind](rest, answer)
    return exact(operand) if isinstance(operand, (int, float)) else operand


def _total(resource: str, jobs: Iterable[str], answer: Answer) -> Fraction:
    return sum((answer.holdings[job].get(resource, Fraction(0)) for job in jobs), Fraction(0))


def _of_job(path: str, answer: Answer) -> Fraction:
    job, resource = _split(path, answer)
    return answer.holdings[job].get(resource, Fraction(0))


def _of_queue(path: str, answer: Answer) -> Fraction:
    assert answer.state is not None
    queue, _, resource = path.rpartition(".")
    return _total(resource, [job.id for job in answer.state.jobs if job.queue == queue], answer)


def _of_plan(name: str, answer: Answer) -> Any:
    assert answer.plan is not None
    certificate = answer.plan.certificate
    return {
        "status": _STATUS.get(certificate.status, certificate.status),
        "n_jobs": Fraction(sum(any(amounts.values()) for amounts in answer.holdings.values())),
        "objective": certificate.objective,
        "wall_s": answer.wall_seconds,
        "ids": [job.id for job in answer.plan.jobs],
    }[name]


def _split(path: str, answer: Answer) -> tuple[str, str]:
    """Split ``<id>.<resource>`` where the id may hold dots."""
    job = max((job for job in answer.holdings if path.startswith(f"{job}.")), key=len)
    return job, path[len(job) + 1 :]


def _of_forecast(path: str, answer: Answer) -> Fraction:
    assert answer.state is not None
    assert answer.plan is not None
    job, name = _split(path, answer)
    unit = next(resource.unit for resource in answer.state.resources if resource.name == name)
    stated = next(each for each in answer.state.jobs if each.id == job).demand or {}
    expected = next(({**entry.demand, **entry.need} for entry in answer.plan.forecast if entry.job == job), stated)
    return parse(expected[name], unit) if name in expected else Fraction(0)


def _of_keeping(_objective: str, answer: Answer) -> float:
    """Return the value of leaving all as is, as the verifier counts it."""
    state, plan = answer.state, answer.plan
    assert state is not None
    assert plan is not None
    kept = [
        {
            "id": job.id,
            "action": "keep" if job.allocation else "queue",
            "service": 0,
            "stages": [{"name": "main", **job.allocation.model_dump()}] if job.allocation else [],
            "reason": {"code": "kept", "message": "left as it is"},
        }
        for job in state.jobs
    ]
    document = {**json.loads(write(plan)), "state_digest": digest(state), "jobs": kept}
    return verify(state, Plan.model_validate(document)).tiers.value


_PATHS: Mapping[str, Callable[[str, Answer], Any]] = {
    "sum": lambda resource, answer: _total(resource, answer.holdings, answer),
    "job": _of_job,
    "queue": _of_queue,
    "plan": _of_plan,
    "forecast": _of_forecast,
    "keep": _of_keeping,
}


def _is_finite(_operand: object, answer: Answer, _earlier: Mapping[str, Answer]) -> bool:
    """No NaN, infinity or null in the plan; ``certificate.limit`` is null by design where no limit was hit."""
    assert answer.plan is not None
    document = json.loads(write(answer.plan))
    document["certificate"].pop("limit", None)

    def finite(value: Any) -> bool:
        if isinstance(value, (dict, list)):
            return all(map(finite, value.values() if isinstance(value, dict) else value))
        return value is not None and (not isinstance(value, float) or math.isfinite(value))

    return finite(document)


def _is_reported(job: str, answer: Answer, _earlier: Mapping[str, Answer]) -> bool:
    """The job waits, and the plan says why."""
    assert answer.plan is not None
    planned = next(each for each in answer.plan.jobs if each.id == job)
    return not planned.stages and planned.action in {"queue", "evict"} and bool(planned.reason.message.strip())


def _is_zero_or_min(job: str, answer: Answer, _earlier: Mapping[str, Answer]) -> bool:
    assert answer.state is not None
    held = answer.holdings[job]
    stated = next(each for each in answer.state.jobs if each.id == job).min_quota
    units = {resource.name: resource.unit for resource in answer.state.resources}
    return not any(held.values()) or all(held[name] >= parse(least, units[name]) for name, least in stated.items())


def _n_moves(answer: Answer) -> int:
    return sum(any(held.values()) and held != answer.holdings[job] for job, held in answer.current.items())


def _same(project: Callable[[Answer], Any]) -> Callable[[Any, Answer, Mapping[str, Answer]], bool]:
    def check(names: list[str], _answer: Answer, earlier: Mapping[str, Answer]) -> bool:
        first, *others = (project(earlier[name]) for name in names)
        return all(other == first for other in others)

    return check


def _objective(answer: Answer) -> float:
    assert answer.plan is not None
    return round(answer.plan.certificate.objective, 9)


_CHECKS: Mapping[str, Callable[[Any, Answer, Mapping[str, Answer]], bool]] = {
    "le": _compared(operator.le),
    "ge": _compared(operator.ge),
    "eq": _compared(operator.eq),
    "lt": _compared(operator.lt),
    "ne": _compared(operator.ne),
    "in": lambda operand, answer, _: _value(operand[0], answer) in operand[1],
    "zero_or_min": _is_zero_or_min,
    "integral": lambda paths, answer, _: all(_value(path, answer).denominator == 1 for path in paths),
    "finite": _is_finite,
    "reported": _is_reported,
    "reported_any": lambda jobs, answer, earlier: any(_is_reported(job, answer, earlier) for job in jobs),
    "same_plan": _same(lambda answer: answer.holdings),
    "same_object": _same(_objective),
    "unchanged": lambda job, answer, _: answer.holdings[job] == answer.current[job],
    "moves_le": lambda most, answer, _: _n_moves(answer) <= most,
    "no_error": lambda wanted, answer, _: wanted is (not answer.refused),
    "warns": lambda text, answer, _: any(text in warning for warning in answer.plan.warnings if answer.plan),
}
