"""Settings by name: what they change, and what is refused with what there is instead."""

from typing import Any

import pytest

from libra_opt import InputError, State
from libra_opt.explanation import apply

STAGES = [{"name": "rollout", "max_quota": {"gpu": 4}, "pools": {"a100": 1, "h100": 2}}, {"name": "train", "demand": {"gpu": 2}}]
STATE = State.model_validate(
    {
        "pools": [{"name": "a100", "capacity": {"gpu": 8, "gpu_mem": "640Gi", "cpu": 0.5}}, {"name": "h100", "capacity": {"gpu": 4}}],
        "queues": [{"name": "q", "nominal_quota": {"gpu": 2}, "borrowing_limit": {"gpu": 1}}],
        "jobs": [{"id": "a", "queue": "q", "demand": {"gpu": 2}}, {"id": "a.b=c", "stages": STAGES}, {"id": "a.b", "priority": -1}],
    }
)


def at(state: State, *steps: Any) -> Any:
    value: Any = state
    for step in steps:
        value = value[step] if isinstance(value, tuple | dict) else getattr(value, step)
    return value


@pytest.mark.parametrize(
    ("setting", "place", "value"),
    [
        ("pools.a100.gpu=+8", ("pools", 0, "capacity", "gpu"), 16),
        ("pools.a100.capacity.gpu=-3", ("pools", 0, "capacity", "gpu"), 5),
        ("pools.a100.gpu_mem=+80Gi", ("pools", 0, "capacity", "gpu_mem"), "720Gi"),
        ("pools.a100.gpu_mem=-40", ("pools", 0, "capacity", "gpu_mem"), "600Gi"),
        ("pools.a100.cpu=+500m", ("pools", 0, "capacity", "cpu"), 1),
        ("pools.a100.mem=+1Ti", ("pools", 0, "capacity", "mem"), "1Ti"),
        ("pools.h100.gpu=6", ("pools", 1, "capacity", "gpu"), 6),
        ("pools.h100.price=2.5", ("pools", 1, "price"), 2.5),
        ("queues.q.nominal_quota.gpu=16", ("queues", 0, "nominal_quota", "gpu"), 16),
        ("queues.q.borrowing_limit.gpu=+2", ("queues", 0, "borrowing_limit", "gpu"), 3),
        ("queues.q.borrowing_limit=null", ("queues", 0, "borrowing_limit"), None),
        ("queues.q.lending_limit.gpu=1", ("queues", 0, "lending_limit", "gpu"), 1),
        ("jobs.a.priority=2", ("jobs", 0, "priority"), 2),
        ("jobs.a.priority=-2", ("jobs", 0, "priority"), -2),
        ("jobs.a.b.priority=+3", ("jobs", 2, "priority"), 2),
        ("jobs.a.b.priority==-3", ("jobs", 2, "priority"), -3),
        ("jobs.a.weight=+0.5", ("jobs", 0, "weight"), 1.5),
        ("jobs.a.preemptible=false", ("jobs", 0, "preemptible"), False),
        ("jobs.a.queue=null", ("jobs", 0, "queue"), None),
        ("jobs.a.max_quota.gpu=4", ("jobs", 0, "max_quota", "gpu"), 4),
        ("jobs.a.b=c.stages.rollout.max_quota.gpu=+2", ("jobs", 1, "stages", 0, "max_quota", "gpu"), 6),
        ("jobs.a.b=c.stages.rollout.pools.h100=+1", ("jobs", 1, "stages", 0, "pools", "h100"), 3),
        ("jobs.a.preemption_cost.evict_seconds=+15", ("jobs", 0, "preemption_cost", "evict_seconds"), 60),
        ('jobs.a.preemption_cost.resize_seconds={"gpu": 5}', ("jobs", 0, "preemption_cost", "resize_seconds", "gpu"), 5),
        ("options.hold_periods=4", ("options", "hold_periods"), 4),
        ("options.preemption_budget_seconds=30", ("options", "preemption_budget_seconds"), 30),
        ("options.forecast.margin=+0.1", ("options", "forecast", "margin"), 0.2),
        ("period.seconds=30", ("period", "seconds"), 30),
    ],
)
def test_setting_changes_what_it_names_and_nothing_else(setting: str, place: tuple[Any, ...], value: object) -> None:
    changed = apply(STATE, [setting])
    assert at(changed, *place) == value
    sections = ("period", "resources", "pools", "queues", "jobs", "options")
    assert [name for name in sections if getattr(changed, name) != getattr(STATE, name)] == [place[0]]


def test_settings_are_made_one_after_the_other() -> None:
    assert at(apply(STATE, ["pools.a100.gpu=+1", "pools.a100.gpu=+1"]), "pools", 0, "capacity", "gpu") == 10
    assert apply(STATE, []) == STATE


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("pools.b100.gpu=1", "pools are 'a100', 'h100'"),
        ("pools.a100.tpu=1", "a pool has 'name', 'capacity', 'card_mem', 'price'"),
        ("pools.a100.capacity.tpu=1", "capacity is of 'gpu', 'gpu_mem', 'cpu', 'mem', 'net'"),
        ("machines.a100.gpu=1", "a state has 'period'"),
        ("about.title=x", "a state has"),
        ("jobs.a.b=c.stages.reward.max_quota.gpu=1", "stages are 'rollout', 'train'"),
        ("pools.a100.gpu", "sets nothing"),
        ("pools.a100.gpu=", "has no value behind ="),
        ("pools.a100=8", "is nothing that one value sets"),
        ("pools=8", "is nothing that one value sets"),
        ("pools.a100.gpu=-9", "would fall below 0"),
        ("pools.a100.gpu=+x", "is not a quantity"),
        ("jobs.a.max_quota.gpu=+1", "is not limited, so there is nothing to change"),
        ("jobs.a.queue=+q", "changes a number, and there is 'q'"),
        ("options.preemption_budget_seconds=+1", "changes a number, and there is none"),
        ("jobs.a.priority=13", "is not a whole number from -12 to 12"),
        ("jobs.a.queue=z", "unknown queue 'z'"),
        ("jobs.a.b=c.max_quota.gpu=1", "belongs to a stage once the job lists stages"),
        ("pools.a100.gpu=[1]", "is not an amount"),
        ("", "nothing is called ''"),
    ],
)
def test_what_leads_nowhere_is_refused_with_what_there_is(setting: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        apply(STATE, [setting])
    [fault] = caught.value.faults
    assert fault.path == setting
    assert says in fault.message


def test_every_wrong_setting_is_named() -> None:
    with pytest.raises(InputError) as caught:
        apply(STATE, ["pools.x.gpu=1", "jobs.a.priority=1", "jobs.y.priority=1"])
    assert [fault.path for fault in caught.value.faults] == ["pools.x.gpu=1", "jobs.y.priority=1"]
