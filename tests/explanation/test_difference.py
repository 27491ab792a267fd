"""What is different in a second plan."""

from hypothesis import given, settings

from libra_opt import State, allocate
from libra_opt.domain import Plan
from libra_opt.explanation import apply, difference
from tests.strategies import states

STATE = State.model_validate(
    {
        "pools": [{"name": "a100", "capacity": {"gpu": 8, "gpu_mem": "640Gi", "cpu": 8}}, {"name": "h100", "capacity": {}}],
        "jobs": [{"id": "a", "demand": {"gpu": 8, "gpu_mem": "80Gi"}}, {"id": "b", "min_quota": {"gpu": 4, "cpu": 1}, "demand": {"gpu": 4}, "weight": 0.4}],
    }
)


def changed(*made: str) -> Plan:
    return allocate(apply(STATE, made))


def test_plan_does_not_differ_from_itself() -> None:
    found = difference(changed(), changed())
    assert (found.is_same_decision, found.is_same_state, found.jobs, found.n_same) == (True, True, (), 2)


def test_amounts_actions_and_value_are_told() -> None:
    found = difference(changed(), changed("pools.a100.gpu=+3"))
    one, two = found.jobs
    assert (one.id, [(each.resource, each.before, each.after, each.change) for each in one.amounts]) == ("a", [("gpu", 8, 7, "-1")])
    assert (two.actions, two.services, two.pools) == (("queue", "admit"), (0, 1), ("", "a100"))
    assert [(each.resource, each.change) for each in two.amounts] == [("gpu", "+4"), ("cpu", "+1")]
    assert found.value == (8, 8.6)
    assert not found.is_same_decision
    assert not found.is_same_state


def test_memory_is_subtracted_in_bytes() -> None:
    [job] = difference(changed(), changed("jobs.a.demand.gpu_mem=0.5")).jobs
    assert [(each.before, each.after, each.change) for each in job.amounts] == [("80Gi", "1Gi", "-79Gi")]
    [job] = difference(changed(), changed("jobs.a.demand.gpu_mem=0")).jobs
    assert [(each.before, each.after, each.change) for each in job.amounts] == [("80Gi", 0, "-80Gi")]


def test_pool_alone_makes_another_decision() -> None:
    one = changed("jobs.b.weight=0")
    two = allocate(apply(STATE, ["jobs.b.weight=0", "pools.h100.gpu=8", "pools.h100.gpu_mem=640Gi", "pools.h100.cpu=8", "pools.a100.gpu=0"]))
    job = next(job for job in difference(one, two).jobs if job.id == "a")
    assert (job.pools, job.amounts) == (("a100", "h100"), ())
    assert not difference(one, two).is_same_decision


def test_jobs_that_one_plan_lacks_are_told() -> None:
    less = allocate(STATE.replace({"jobs": STATE.jobs[:1]}))
    [job] = difference(less, changed()).jobs
    assert (job.id, job.actions) == ("b", (None, "queue"))
    assert not difference(less, changed()).is_same_decision


@settings(max_examples=10)
@given(states())
def test_difference_is_the_same_backwards_with_sides_swapped(state: State) -> None:
    greedy = allocate(state.replace({"options": state.options.replace({"backend": "greedy"})}))
    there, back = difference(allocate(state), greedy), difference(greedy, allocate(state))
    assert there.value == back.value[::-1]
    assert {job.id: [(each.stage, each.resource, each.before, each.after) for each in job.amounts] for job in there.jobs} == {
        job.id: [(each.stage, each.resource, each.after, each.before) for each in job.amounts] for job in back.jobs
    }
    assert there.is_same_decision == back.is_same_decision
