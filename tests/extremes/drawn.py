"""Hypothesis strategy of states whose every number may stand at an end of its range: amounts, weights, times, intensities, options and histories.

What only a contradiction of two fields would refuse is not drawn (a minimum above its maximum, a unit that does not divide it), so that most states
are valid; now and then one number lies outside its range, or is none, and then the state must be refused.
"""

from typing import Any, get_args

from hypothesis import strategies as st

from libra_opt.domain.options import BackendName, Objective
from libra_opt.domain.policy_needs import DIVIDES

__all__ = ["OBJECTIVES", "extreme_documents"]

Document = dict[str, Any]
Draw = st.DrawFn

OBJECTIVES: tuple[str, ...] = get_args(Objective)

_USUAL = (0, 1, 2, 3, 9, 44.6)
_TINY = (1e-30, 1e-12, 1e-9, 0.001, "1n", "500m", 5e-324, 0.1 + 0.2)
_HUGE = (10**9 + 7, 10**12, 2**31, 2**42, 2**53 - 1, 2**53 + 1, 10**15, 1e15, 3 * 10**17, 2**62, 2**62 + 1, 9 * 10**18, 2**63 - 1)
_WRONG = (2**63, 10**30, 1e300, "8Ei", "9E", "80Gi", -1, float("nan"), float("inf"), "x", "-5", True, None)
_CURVES = (
    [[0, 0.25], [1, 1]],
    [[0, 0.3], [1e6, 1]],
    [[1e-9, 1e-9], [1e6, 1]],
    [[1e-9, 0.5], [1, 1]],
    [[1e-9, 1]],
    [[0, 0.5]],
    [[0, 0]],
    [[1e6, 1]],
    [[0, 0.1], [1e-9, 0.1 + 1e-9], [1, 0.7], [1e6, 0.8]],
    [[1, 1e-9]],
)
_SECONDS = st.sampled_from([0, 1e-30, 5e-324, 0.0004, 0.001, 1, 15, 60, 1e6, 1e9])
_WHOLE = st.sampled_from([0, 1, 1, 2**31, 2**53 + 1, 2**63 - 1])


@st.composite
def extreme_documents(draw: Draw, objectives: tuple[str, ...] = OBJECTIVES, horizons: tuple[int, ...] = (1, 1, 1, 2, 3)) -> Document:
    """Return documents of states, ready for JSON, with ends of ranges at any number."""
    resources = _resources(draw)
    pools = [_pool(draw, f"p{k}", resources) for k in range(draw(st.integers(1, 2)))]
    names = [pool["name"] for pool in pools]
    options = _options(draw, objectives, horizons)
    queues: list[Document] = []
    for q in range(draw(st.sampled_from((0, 0, 1, 2, 3)))):
        queues.append(_queue(draw, f"q{q}", resources, queues if options.get("lookahead", 1) == 1 and options["objective"] != "drf" else []))
    document = {
        "period": _given(draw, index=_WHOLE, seconds=_number(1e-3, 1e9), start=_number(-1e15, 1e15)),
        "resources": resources,
        "pools": pools,
        "queues": queues,
        "jobs": [_job(draw, f"j{j}", resources, names, [queue["name"] for queue in queues]) for j in range(draw(st.integers(1, 3)))],
        "options": options,
    }
    if draw(_one_in(20)):
        _put_outside(draw, document)
    return document


def _put_outside(draw: Draw, document: Document) -> None:
    """Put a number that is outside every range, or no number at all, in the place of another."""
    found: list[tuple[Any, Any]] = []
    inner: list[Any] = [document]
    for value in inner:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(each, dict | list):
                inner.append(each)
            elif isinstance(each, int | float) and not isinstance(each, bool):
                found.append((value, key))
    holder, key = draw(st.sampled_from(found))
    holder[key] = draw(st.sampled_from(_WRONG))


def _one_in(n: int) -> st.SearchStrategy[bool]:
    return st.integers(0, n - 1).map(lambda i: i == n // 2)


def _number(least: float, most: float, *usual: float) -> st.SearchStrategy[float]:
    """Return a usual number, an end of the range or something between."""
    between = [value for value in (1e-9, 1e-6, 0.001, 0.3, 0.5, 1, 1.1, 3, 60, 1e6, 1e9, 1e12) if least <= value <= most]
    return st.sampled_from([*usual, *usual, *usual, least, most, *between])


def _amount(resource: Document) -> st.SearchStrategy[Any]:
    """Return an amount that is below 2^63 in quanta of its resource."""
    most = (2**63 - 1) if resource["quantum"] >= 1 else 9.2e18 * resource["quantum"]
    return st.sampled_from([*_USUAL, *_USUAL, *_TINY, *(amount for amount in _HUGE if amount <= most)])


def _given(draw: Draw, **fields: st.SearchStrategy[Any]) -> Document:
    """Return some of the fields."""
    return {name: draw(field) for name, field in fields.items() if draw(st.booleans())}


def _amounts(draw: Draw, resources: list[Document]) -> Document:
    return {resource["name"]: draw(_amount(resource)) for resource in resources if draw(st.sampled_from((True, True, False)))}


def _resources(draw: Draw) -> list[Document]:
    kinds = [("gpu", True), ("gpu_mem", False), ("cpu", True)]
    quanta = st.sampled_from([1, 1, 1, 1, 0.1, 1e-9, 1e-3, 7, 1e6, 1e15])
    return [
        {"name": name, "unit": "", "quantum": draw(quanta), "compressible": kind ^ draw(_one_in(12)), "costly": (name != "cpu") ^ draw(_one_in(6))}
        for name, kind in kinds[: draw(st.sampled_from((1, 2, 3, 3)))]
    ]


def _pool(draw: Draw, name: str, resources: list[Document]) -> Document:
    pool: Document = {"name": name, "capacity": {resource["name"]: draw(_capacity(resource)) for resource in resources if not draw(_one_in(4))}}
    if len(resources) > 1 and draw(_one_in(4)):
        pool["card_mem"] = draw(st.sampled_from((0, 1e-9, 1, 2, 80, 44.6, 10**12, 2**53 + 1)))
    return pool | _given(draw, price=_number(0, 1e15))


def _capacity(resource: Document) -> st.SearchStrategy[Any]:
    """Return a capacity of which there may be two."""
    most = 2**62 if resource["quantum"] >= 1 else 4e18 * resource["quantum"]
    return st.sampled_from([*_USUAL, *_USUAL, *_TINY, *(amount for amount in _HUGE if amount < most)])


def _queue(draw: Draw, name: str, resources: list[Document], above: list[Document]) -> Document:
    queue: Document = {"name": name, "nominal_quota": {resource["name"]: draw(_capacity(resource)) for resource in resources if draw(st.booleans())}}
    if draw(st.booleans()):
        queue["borrowing_limit"] = _amounts(draw, resources)
    if draw(st.booleans()):
        queue["lending_limit"] = {r: draw(st.sampled_from((0, amount))) for r, amount in queue["nominal_quota"].items()}
    if above and draw(_one_in(3)):
        queue["parent"] = draw(st.sampled_from(above))["name"]
    return queue | _given(draw, weight=_number(1e-9, 1e15, 1))


def _job(draw: Draw, name: str, resources: list[Document], pools: list[str], queues: list[str]) -> Document:
    job: Document = {"id": name} | _given(
        draw,
        priority=st.sampled_from([-12, 0, 0, 1, 12]),
        weight=_number(0, 1e15, 1, 1e-30),
        preemptible=st.booleans(),
        min_runtime_seconds=_number(0, 1e15),
        running_seconds=_number(0, 1e15),
        preemption_cost=st.fixed_dictionaries({}, optional={"evict_seconds": _SECONDS, "resize_seconds": _SECONDS, "migrate_seconds": _SECONDS}),
        rates=st.fixed_dictionaries({}, optional={"tokens": _number(0, 1e15, 1e-30), "steps": _number(0, 1e15), "cards": _number(0, 1e15, 1e-30)}),
        remaining_work=_number(0, 1e15, 1e-30),
    )
    job |= {"submitted": draw(_number(-1e15, 1e15)), "deadline": draw(_number(-1e15, 1e15)), "remaining": draw(_number(0, 1e15, 60))}
    if queues and draw(st.booleans()):
        job["queue"] = draw(st.sampled_from(queues))
    stages = [_stage(draw, f"s{s}", resources, pools) for s in range(draw(st.sampled_from((1, 1, 2))))]
    return job | ({key: value for key, value in stages[0].items() if key != "name"} if len(stages) == 1 and draw(st.booleans()) else {"stages": stages})


def _stage(draw: Draw, name: str, resources: list[Document], pools: list[str]) -> Document:
    stage: Document = {"name": name}
    listed = [resource["name"] for resource in resources if resource["quantum"] <= 1]
    if listed and draw(_one_in(6)):
        _profile(draw, stage, listed, pools)
    else:
        _quotas(draw, stage, resources)
        _wishes(draw, stage, resources, pools)
    if draw(st.booleans()):
        stage["allocation"] = {"pool": draw(st.sampled_from(pools)), "resources": _amounts(draw, resources)}
    return stage


def _quotas(draw: Draw, stage: Document, resources: list[Document]) -> None:
    kind = draw(st.sampled_from(("none", "none", "min", "max", "both", "unit")))
    if kind == "unit":
        unit = draw(st.sampled_from((2, 3, 2**31, 2**40, 2**62)))
        stage["unit"] = {resource["name"]: unit for resource in resources if resource["quantum"] == 1 and draw(st.booleans())}
    if kind in ("min", "both"):
        stage["min_quota"] = {resource["name"]: draw(st.sampled_from((0, 1e-12, 1, 2))) for resource in resources if draw(st.booleans())}
    if kind in ("max", "both"):
        most = [(resource["name"], _amount(resource).filter(_is_above_two)) for resource in resources if resource["quantum"] <= 1 and draw(st.booleans())]
        stage["max_quota"] = {name: draw(amount) for name, amount in most}


def _is_above_two(amount: Any) -> bool:
    return not isinstance(amount, str) and amount > 2


def _profile(draw: Draw, stage: Document, names: list[str], pools: list[str]) -> None:
    listed = names[: draw(st.integers(1, 3))]
    held = st.fixed_dictionaries(dict.fromkeys(listed, st.sampled_from([1, 2, 9, 2**31, 10**9 + 7])))
    entries = draw(st.lists(st.tuples(st.sampled_from(pools), held), min_size=1, max_size=4, unique_by=lambda pair: (pair[0], *pair[1].values())))
    stage["profile"] = [{"pool": pool, "resources": amounts, "rate": draw(_number(1e-9, 1e6))} for pool, amounts in entries]
    if draw(_one_in(3)):
        stage["full_rate"] = draw(_number(1e6, 1e15))


def _wishes(draw: Draw, stage: Document, resources: list[Document], pools: list[str]) -> None:
    kind = draw(st.sampled_from(("demand", "demand", "demand", "history", "ahead")))
    if kind == "history":
        stage["history"] = draw(st.lists(_entries(resources), max_size=6))
        if draw(_one_in(3)):
            stage["waits_in"] = draw(st.sampled_from(([], ["train"], ["rollout"], ["train", "rollout"])))
    else:
        stage["demand"] = _amounts(draw, resources)
        if kind == "ahead":
            stage["demand_ahead"] = [_amounts(draw, resources) for _ in range(draw(st.integers(1, 3)))]
        if draw(_one_in(3)):
            stage["demand_intensity"] = draw(st.lists(_number(0, 1e6, 0.5, 1, 1.5, 1e-9), min_size=1, max_size=3))
    if draw(_one_in(4)):
        stage["need"] = {resource["name"]: draw(_amount(resource)) for resource in resources if not resource["compressible"]}
    if draw(_one_in(4)):
        stage["curve"] = draw(st.sampled_from(_CURVES))
    if draw(_one_in(4)):
        stage["pools"] = {pool: draw(_number(1e-6, 1e6)) for pool in pools if draw(st.booleans())} or {pools[0]: 1e-6}


def _entries(resources: list[Document]) -> st.SearchStrategy[Document]:
    """Return one entry of a history."""
    used = st.fixed_dictionaries({}, optional={resource["name"]: _amount(resource) | st.none() for resource in resources})
    given = st.fixed_dictionaries({resource["name"]: _amount(resource) for resource in resources})
    signs = _number(0, 1e15)
    observed = {"allocation": given, "requests_waiting": signs, "requests_running": signs, "cpu_queue": signs, "tool_calls": signs}
    return used | st.fixed_dictionaries(
        {"usage": used}, optional={**observed, "progress": _number(0, 1), "step": _WHOLE, "phase": st.sampled_from(("rollout", "train"))}
    )


def _options(draw: Draw, objectives: tuple[str, ...], horizons: tuple[int, ...]) -> Document:
    options: Document = {"objective": draw(st.sampled_from(objectives)), "effort": 0.02}
    if options["objective"] == "weighted_throughput":
        options["lookahead"] = draw(st.sampled_from(horizons))
    if draw(_one_in(3)):
        options["backend"] = draw(st.sampled_from(("auto", "cp_sat") if options["objective"] in DIVIDES else get_args(BackendName)))
    return options | _given(
        draw,
        gap=_number(0, 1, 0.001),
        effort=st.sampled_from((0, 1e-9, 0.02)),
        seed=st.sampled_from((0, 2**31 - 1)),
        preemption_budget_seconds=_number(0, 1e15, 0, 0),
        hold_periods=_number(1e-3, 1e6),
        priority_base=_number(1, 100),
        spare=st.booleans(),
        throughput=st.sampled_from(("tokens", "steps", "jobs")),
    )
