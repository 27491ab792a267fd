"""Hypothesis strategies of states in which some stages bring a profile: states of `tests.strategies` with measured tables put in place of demands."""

import json
from typing import Any

from hypothesis import strategies as st

from libra_opt.domain import State, read_state
from tests.strategies import TINY, Shape, documents

__all__ = ["profiled_documents", "profiled_states"]

Document = dict[str, Any]
REPLACED = ("demand", "demand_intensity", "curve", "pools", "history", "demand_ahead")
RATES = (1, 2, 3, 4, 5, 1.5, 0.25)


def profiled_states(shape: Shape = TINY) -> st.SearchStrategy[State]:
    """Return valid states in which at least one stage brings a profile."""
    return profiled_documents(shape).map(lambda document: read_state(json.dumps(document)))


@st.composite
def profiled_documents(draw: st.DrawFn, shape: Shape = TINY) -> Document:
    """Return documents of such states, ready for JSON."""
    document: Document = draw(documents(shape))
    stages = [stage for job in document["jobs"] for stage in job.get("stages", [job])]
    chosen = draw(st.sets(st.integers(0, len(stages) - 1), min_size=1))
    for i in sorted(chosen):
        _profile(draw, document, stages[i], shape.most)
    return document


def _profile(draw: st.DrawFn, document: Document, stage: Document, most: int) -> None:
    """Put a profile in the place of the demand; what the stage holds is often an entry of it."""
    names = [resource["name"] for resource in document["resources"]]
    listed = sorted(draw(st.sets(st.sampled_from(names), min_size=1)) | draw(st.sampled_from(({"gpu"}, {"gpu"}, set()))))
    pools = {pool["name"]: pool.get("card_mem") for pool in document["pools"]}
    wished = {name: stage["demand"].get(name, 1) for name in names}
    for name in REPLACED:
        stage.pop(name, None)
    if "need" in stage and draw(st.booleans()):
        del stage["need"]
    places = [
        (draw(st.sampled_from(sorted(pools))), {name: _amount(draw, stage, name, min(most, wished[name])) for name in listed})
        for _ in range(draw(st.integers(1, 5)))
    ]
    now = stage.get("allocation")
    if now is not None and draw(st.integers(0, 3)):
        places.append((now["pool"], {name: now["resources"].get(name, 0) for name in listed}))
    entries: list[Document] = []
    for pool, amounts in places:
        entry = {"pool": pool, "resources": amounts, "rate": draw(st.sampled_from(RATES))}
        if _is_sound(stage, amounts, pools[pool]) and all((pool, amounts) != (other["pool"], other["resources"]) for other in entries):
            entries.append(entry)
    if not entries:
        stage.pop("min_quota", None), stage.pop("max_quota", None), stage.pop("unit", None), stage.pop("need", None)
        entries = [{"pool": min(pools), "resources": dict.fromkeys(listed, 1) | {"gpu": 2} if "gpu" in listed else {"gpu": 2}, "rate": 1}]
        if "gpu_mem" in entries[0]["resources"]:
            entries[0]["resources"]["gpu_mem"] = 1
    stage["profile"] = entries
    if draw(st.integers(0, 3)) == 0:
        stage["full_rate"] = max(entry["rate"] for entry in entries) * draw(st.sampled_from((1, 2)))


def _amount(draw: st.DrawFn, stage: Document, name: str, most: int) -> int:
    unit = stage.get("unit", {})
    step = (unit if name == "gpu" else 1) if isinstance(unit, int) else unit.get(name, 1)
    amount: int = step * -(-draw(st.integers(0, max(1, most))) // step)
    return max(amount, stage.get("min_quota", {}).get(name, 0))


def _is_sound(stage: Document, amounts: Document, card_mem: int | None) -> bool:
    unit = stage.get("unit", {})
    for name, amount in amounts.items():
        step = (unit if name == "gpu" else 1) if isinstance(unit, int) else unit.get(name, 1)
        need = stage.get("need", {}).get(name, 0)
        most = stage.get("max_quota", {}).get(name, max(amount, need))
        need = min(need, most)
        if amount % step or not max(stage.get("min_quota", {}).get(name, 0), need) <= amount <= most:
            return False
    return card_mem is None or not {"gpu", "gpu_mem"} <= amounts.keys() or amounts["gpu_mem"] <= card_mem * amounts["gpu"]
