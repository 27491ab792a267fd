"""Small workloads for properties: short of something, with gangs, memory, several stages and pools, on either clock.

Every job can run somewhere: quotas and requests follow what is used. Seconds are odd, so that steps end within periods.
"""

import json
from typing import Any

from hypothesis import strategies as st

from libra_opt.domain import Workload, read_workload

__all__ = ["PERIOD", "workloads"]

PERIOD = 60.0

GPU = {"name": "gpu", "unit": "cards", "quantum": 1, "compressible": True, "costly": True}
GPU_MEM = {"name": "gpu_mem", "unit": "GiB", "quantum": 1, "compressible": False, "costly": True}
CPU = {"name": "cpu", "unit": "cores", "quantum": 0.5, "compressible": True, "costly": False}
CARD_MEM = 10


@st.composite
def workloads(draw: st.DrawFn, *, most_jobs: int = 4, has_horizon: bool = True, has_changes: bool = False) -> Workload:
    """Return a valid workload of one or two pools."""
    pools = [f"p{k}" for k in range(draw(st.sampled_from((1, 1, 2))))]
    is_exclusive = draw(st.booleans())
    jobs = [_job(draw, j, pools, has_horizon=has_horizon) for j in range(draw(st.integers(1, most_jobs)))]
    document: dict[str, Any] = {
        "format": "libra-opt/workload/1",
        "period_seconds": PERIOD,
        "resources": [GPU, GPU_MEM, CPU],
        "pools": [_pool(draw, name, is_exclusive=is_exclusive) for name in pools],
        "jobs": jobs,
    }
    if has_horizon:
        document["horizon_seconds"] = draw(st.sampled_from((300, 450, 600)))
    if has_changes and draw(st.booleans()):
        at = draw(st.sampled_from((60, 130, 240)))
        document["changes"] = [
            {"at_seconds": at, "pool": pools[0], "capacity": {"gpu": draw(st.integers(0, 4)), "gpu_mem": 40, "cpu": 8}},
            {"at_seconds": at + 100, "pool": pools[0], "capacity": document["pools"][0]["capacity"]},
        ]
    return read_workload(json.dumps(document))


def _pool(draw: st.DrawFn, name: str, *, is_exclusive: bool) -> dict[str, Any]:
    pool: dict[str, Any] = {"name": name, "capacity": {"gpu": draw(st.integers(4, 8)), "gpu_mem": draw(st.integers(40, 80)), "cpu": draw(st.integers(6, 16))}}
    if is_exclusive:
        pool["card_mem"] = CARD_MEM
    return pool


def _job(draw: st.DrawFn, j: int, pools: list[str], *, has_horizon: bool) -> dict[str, Any]:
    names = ["main", "other"][: draw(st.sampled_from((1, 1, 2)))]
    unit = draw(st.sampled_from((1, 1, 2)))
    steps = [_step(draw, names) for _ in range(draw(st.integers(1, 3)))]
    parts = [part for step in steps for part in step["parts"]]
    is_wall = draw(st.sampled_from((False, False, True)))
    if is_wall:  # a job on the wall clock is never to be short of memory where it is predicted
        for part in parts:
            part["waits_for_memory"] = False
    job: dict[str, Any] = {
        "id": f"j{j}",
        "weight": draw(st.sampled_from((1, 1, 2.5))),
        "submitted": draw(st.sampled_from((0, 0, 50, 60, 190))),
        "clock": "wall" if is_wall else "progress",
        "stages": [_stage(draw, name, parts, unit, pools) for name in names],
        "steps": steps,
        "preemption_cost": {"evict_seconds": 10, "resize_seconds": draw(st.sampled_from((0, 7))), "migrate_seconds": 20},
        "restart": {"cold_seconds": draw(st.sampled_from((0, 20, 65))), "warm_seconds": 5, "warm_within_seconds": 100},
    }
    works = sum(part["seconds"] * sum(use.get("gpu", 0) for use in part["use"].values()) for part in parts)
    if works and not is_wall and draw(st.booleans()):
        job["repeats"] = True
        job["work"] = works * draw(st.sampled_from((0.6, 1.0, 2.3)))
    elif works and is_wall and has_horizon and draw(st.booleans()):
        job["repeats"] = draw(st.booleans())
        job["work"] = works * draw(st.sampled_from((0.4, 0.9)))
    return job


def _step(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    return {"parts": [_part(draw, names, p) for p in range(draw(st.integers(1, 3)))]}


def _part(draw: st.DrawFn, names: list[str], p: int) -> dict[str, Any]:
    use = {}
    for name in names:
        gpu = draw(st.sampled_from((0, 0.5, 1, 2, 2.5, 4)))
        use[name] = {"gpu": gpu, "gpu_mem": draw(st.sampled_from((0, 5, 10, 25))), "cpu": draw(st.sampled_from((0, 0.7, 2)))}
    return {"seconds": draw(st.sampled_from((13, 30, 47.5, 90))), "phase": f"phase{p}", "use": use, "waits_for_memory": draw(st.booleans())}


def _stage(draw: st.DrawFn, name: str, parts: list[dict[str, Any]], unit: int, pools: list[str]) -> dict[str, Any]:
    peak = {r: max(part["use"][name][r] for part in parts) for r in ("gpu", "gpu_mem", "cpu")}
    cards = -(-max(peak["gpu"], peak["gpu_mem"] / CARD_MEM) // unit) * unit
    stage: dict[str, Any] = {"name": name, "unit": unit, "request": {**peak, "gpu": cards}}
    if draw(st.booleans()):
        stage["max_quota"] = {"gpu": cards, "gpu_mem": peak["gpu_mem"] + draw(st.sampled_from((0, 10)))}
    if cards >= unit and draw(st.booleans()):
        stage["min_quota"] = {"gpu": unit}
    if len(pools) > 1 and draw(st.booleans()):
        stage["pools"] = {pools[-1]: 1.0} if draw(st.booleans()) else {pools[0]: 1.0, pools[1]: draw(st.sampled_from((0.5, 2.0)))}
    return stage
