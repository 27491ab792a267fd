"""Every policy is held to the same rules: a grant that breaks one is refused before anything happens."""

import pytest

from libra_opt.simulation.loop import simulate
from libra_opt.simulation.plant import Plant
from libra_opt.simulation.registry import POLICIES, make_policy
from tests.simulation.made import Scripted, held, job, part, step, workload

STAGE = {"min_quota": {"gpu": 1, "gpu_mem": 5}, "max_quota": {"gpu": 4}, "unit": 2}


def two_jobs():
    return workload(*(job(step(part(60, gpu=4, memory=5)), name=name, stages=[STAGE]) for name in "ab"))


@pytest.mark.parametrize(
    ("grants", "broken"),
    [
        ({0: held(gpu=2, memory=4)}, "a.main: 4 gpu_mem is below the minimum 5"),
        ({0: held(memory=5)}, "a.main: 0 gpu is below the minimum 1"),
        ({0: held(gpu=6, memory=5)}, "a.main: 6 gpu is above the maximum 4"),
        ({0: held(gpu=3, memory=5)}, "a.main: 3 gpu is no multiple of 2"),
        ({0: held(gpu=2, memory=5, pool="q")}, "a.main: may not sit in q"),
        ({0: held(gpu=4, memory=41), 1: held(gpu=4, memory=40)}, "pool p: 81 of 80 gpu_mem"),
        ({0: held(gpu=4, memory=5), 1: held(gpu=4, memory=5, cpu=33)}, "pool p: 33 of 32 cpu"),
        ({0: (None,)}, "a.main: 0 gpu is below the minimum 1"),
        ({0: (*held(gpu=2, memory=5), None)}, "a has 1 stages and is granted 2"),
    ],
)
def test_a_grant_that_breaks_a_rule_is_refused(grants, broken):
    plant = Plant(two_jobs())
    with pytest.raises(ValueError, match=broken):
        plant.advance(grants, 60)
    assert plant.now == 0
    assert all(state.holding is None for state in plant.states)


def test_all_broken_rules_are_told_at_once():
    with pytest.raises(ValueError, match=r"break 3 rules: a\.main: 5 gpu is above.*a\.main: 5 gpu is no multiple.*pool p: 81 of 80 gpu_mem"):
        Plant(two_jobs()).advance({0: held(gpu=5, memory=81)}, 60)


def test_a_grant_that_keeps_all_rules_is_taken():
    plant = Plant(two_jobs())
    done = plant.advance({0: held(gpu=4, memory=40, cpu=16), 1: held(gpu=4, memory=40, cpu=16)}, 60)
    assert [each.action for each in done] == ["admit", "admit"]


def test_memory_is_bound_to_cards_where_cards_are_exclusive():
    exclusive = two_jobs().replace({"pools": [{"name": "p", "capacity": {"gpu": 8, "gpu_mem": 80, "cpu": 32}, "card_mem": 10}]})
    with pytest.raises(ValueError, match=r"a\.main: 21 gpu_mem on 2 cards of 10"):
        Plant(exclusive).advance({0: held(gpu=2, memory=21)}, 60)
    assert Plant(exclusive).advance({0: held(gpu=2, memory=20)}, 60)[0].kills == 0


def test_a_stage_sits_only_in_pools_it_names():
    asked = job(step(part(60, gpu=4, memory=5)), stages=[{**STAGE, "pools": {"q": 1}}])
    plant = Plant(workload(asked, names="pq"))
    with pytest.raises(ValueError, match=r"a\.main: may not sit in p"):
        plant.advance({0: held(gpu=2, memory=5)}, 60)
    assert plant.advance({0: held(gpu=2, memory=5, pool="q")}, 60)[0].action == "admit"


def test_a_queue_holds_at_most_its_ceiling():
    asked = [job(step(part(60, gpu=4)), name=name, queue="team") for name in "ab"]
    queues = [{"name": "team", "nominal_quota": {"gpu": 2}, "borrowing_limit": {"gpu": 1}}]
    plant = Plant(workload(*asked, queues=queues))
    with pytest.raises(ValueError, match="queue team: 4 gpu is above its ceiling 3"):
        plant.advance({0: held(gpu=2), 1: held(gpu=2)}, 60)
    assert len(plant.advance({0: held(gpu=2, cpu=32), 1: held(gpu=1)}, 60)) == 2


def test_a_policy_that_breaks_a_rule_ends_the_simulation():
    with pytest.raises(ValueError, match="pool p: 9 of 8 gpu"):
        simulate(workload(job(step(part(60, gpu=4)))), Scripted({0: held(gpu=9)}))


# searching and CP-SAT alone take long, and grant through the same doors
@pytest.mark.parametrize("name", [name for name in POLICIES if name not in ("libra_cp_sat", "libra_ahead", "libra_true_ahead")])
def test_every_policy_keeps_the_rules_where_they_bind(name):
    """Minima, units, memory per card, a queue's ceiling and a lost node, all tight at once: a broken rule would raise."""
    stage = {"min_quota": {"gpu": 2, "gpu_mem": 5}, "max_quota": {"gpu": 6, "gpu_mem": 20}, "unit": 2, "request": {"gpu": 4, "gpu_mem": 12, "cpu": 4}}
    parts = (part(50, gpu=2, memory=8, cpu=1), part(40, gpu=6, memory=12, cpu=4, phase="train", waits_for_memory=True))
    jobs = [job(step(*parts), step(*parts), name=name, stages=[stage], queue="team" if name == "a" else None) for name in "abc"]
    queues = [{"name": "team", "nominal_quota": {"gpu": 2, "gpu_mem": 20, "cpu": 8}, "borrowing_limit": {"gpu": 2}}]
    changes = [{"at_seconds": 120, "pool": "p", "capacity": {"gpu": 4, "gpu_mem": 40, "cpu": 8}}]
    made = workload(*jobs, cards=8, queues=queues, changes=changes, horizon_seconds=300)
    made = made.replace({"pools": [{"name": "p", "capacity": {"gpu": 8, "gpu_mem": 80, "cpu": 8}, "card_mem": 10}]})
    run = simulate(made, make_policy(name, made, 60, 0))
    assert len(run.periods) == 5
    assert any(each.holding for record in run.periods for each in record.jobs)
    most = max(sum(grant.amounts[0] for each in record.jobs for grant in each.holding or () if grant is not None) for record in run.periods[2:])
    assert most <= 4
