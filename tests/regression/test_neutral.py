"""The evaluator of neutral cases tells what holds from what does not; a checker that passes everything would prove nothing."""

import pytest

from tests.regression.neutral import failures, state_document

CARD = {"gpu": 1}


def case(**changes):
    jobs = [
        {"id": "a.b", "queue": "q", "min": CARD, "max": {"gpu": 3}, "demand": {"gpu": 3}, "weight": 1, "current": {"gpu": 2}, "preemption_cost": 0},
        {"id": "late", "min": {"gpu": 9}, "max": {"gpu": 9}, "demand": {"gpu": 9}, "weight": 1, "current": None},
        {"id": "past", "min": {}, "max": {"gpu": 4}, "history": [{"gpu": 1}], "weight": 1, "current": None},
    ]
    return {"cluster": {"gpu": 4, "cpu": 8}, "jobs": jobs, "config": {}, "expect": [], **changes}


TRUE_AND_FALSE = [
    ({"eq": ["job.a.b.gpu", 3]}, {"eq": ["job.a.b.gpu", 2]}),
    ({"le": ["sum.gpu", 4]}, {"le": ["sum.gpu", 3.999]}),
    ({"ge": ["queue.q.gpu", 3]}, {"ge": ["queue.q.gpu", 4]}),
    ({"lt": ["job.late.gpu", 1]}, {"lt": ["job.late.gpu", 0]}),
    ({"ne": ["job.a.b.gpu", "job.late.gpu"]}, {"ne": ["job.late.gpu", "job.late.cpu"]}),
    ({"ge": ["plan.objective", "keep.objective"]}, {"lt": ["plan.objective", "keep.objective"]}),
    ({"in": ["plan.status", ["optimal"]]}, {"in": ["plan.status", ["fallback"]]}),
    ({"eq": ["plan.n_jobs", 2]}, {"eq": ["plan.n_jobs", 3]}),
    ({"eq": ["plan.ids", ["a.b", "late", "past"]]}, {"eq": ["plan.ids", ["late", "a.b", "past"]]}),
    ({"lt": ["plan.wall_s", 600]}, {"lt": ["plan.wall_s", 0]}),
    ({"eq": ["forecast.past.gpu", 1]}, {"eq": ["forecast.past.gpu", 0]}),
    ({"zero_or_min": "late"}, None),
    ({"integral": ["sum.gpu"]}, None),
    ({"reported": "late"}, {"reported": "a.b"}),
    ({"reported_any": ["a.b", "late"]}, {"reported_any": ["a.b", "past"]}),
    ({"moves_le": 1}, {"moves_le": 0}),
    ({"unchanged": "late"}, {"unchanged": "a.b"}),
    ({"same_plan": ["run1", "run1"]}, None),
    ({"same_object": ["run1", "run1"]}, None),
    ({"finite": True}, None),
    ({"no_error": True}, {"error": "names field jobs[0].min.gpu"}),
    ({"any": [[{"eq": ["sum.gpu", 0]}], [{"eq": ["sum.gpu", 4]}]]}, {"any": [[{"eq": ["sum.gpu", 0]}, {"no_error": True}]]}),
    (None, {"warns": "no such text"}),
]


@pytest.mark.parametrize("check", [true for true, _ in TRUE_AND_FALSE if true], ids=str)
def test_what_holds_is_accepted(check):
    assert failures(case(expect=[check])) == []


@pytest.mark.parametrize("check", [false for _, false in TRUE_AND_FALSE if false], ids=str)
def test_what_does_not_hold_is_told(check):
    assert failures(case(expect=[check])) == [f"run1: {check}"]


def test_shares_of_cards_are_not_integral():
    half = [{"id": "half", "min": {"gpu": 0.5}, "max": {"gpu": 0.5}, "demand": {"gpu": 0.5}, "weight": 1, "current": None}]
    shared = case(jobs=half, config={"fractional_gpu": True})
    assert failures({**shared, "expect": [{"eq": ["job.half.gpu", 0.5]}]}) == []
    assert failures({**shared, "expect": [{"integral": ["job.half.gpu"]}]}) != []


def test_warning_is_found():
    short = [{"id": "short", "min": {}, "max": {"mem": 1}, "demand": {"gpu": 1, "mem": 2}, "weight": 1, "current": None}]
    assert failures(case(cluster={"gpu": 1, "mem": 4}, jobs=short, expect=[{"warns": "above max_quota"}])) == []


def test_refusal_is_named_by_the_neutral_path():
    bad = [{"id": "bad", "min": {"gpu": 2}, "max": {"gpu": 1}, "demand": {"gpu": 1}, "weight": 1, "current": None}]
    assert failures(case(jobs=bad, expect=[{"error": "names field jobs[0].min.gpu or jobs[0].max.gpu"}])) == []
    assert failures(case(jobs=bad, expect=[{"no_error": True}])) == ["run1: {'no_error': True}"]
    assert failures(case(jobs=bad, expect=[{"eq": ["sum.gpu", 0]}])) == ["run1: {'eq': ['sum.gpu', 0]}"]


def test_steps_that_differ_are_told_apart():
    one = {"id": "a", "min": {}, "max": {"gpu": 4}, "demand": {"gpu": 1}, "weight": 1, "current": None}
    steps = [{"name": "s1", "jobs": [one]}, {"name": "s2", "jobs": [{**one, "demand": {"gpu": 2}, "current": "prev", "preemption_cost": 0}]}]
    played = {key: value for key, value in case().items() if key != "jobs"} | {"steps": steps}
    for kind in ("same_plan", "same_object"):
        assert failures({**played, "expect": [{kind: ["s1", "s2"]}]}) == [str({kind: ["s1", "s2"]})]
    steps[1]["expect"] = [{"moves_le": 0}]
    assert failures(played) == ["s2: {'moves_le': 0}"]


def test_variants_pick_jobs_and_have_their_own_expectations():
    varied = case(variants=[{"jobs": ["late"], "expect": [{"eq": ["sum.gpu", 0]}]}, {"cluster": {"gpu": 9}, "expect": [{"eq": ["job.late.gpu", 0]}]}])
    assert failures(varied) == ["run1: {'eq': ['job.late.gpu', 0]}"]


def test_repeated_jobs_are_written_out():
    pattern = {
        "n": 2,
        "id": "f{i}",
        "min": {"gpu": "i + 1"},
        "max": {"gpu": "2 * i / 4 + 1.5"},
        "demand": {"gpu": "-(0 - 2)**i"},
        "weight": "1",
        "current": None,
    }
    jobs = state_document({"cluster": {}, "jobs_repeat": pattern})["jobs"]
    assert [job["id"] for job in jobs] == ["f0", "f1"]
    assert [job["min_quota"]["gpu"] for job in jobs] == [1, 2]
    assert [job["max_quota"]["gpu"] for job in jobs] == [1.5, 2]


def test_cost_in_units_of_the_objective_becomes_seconds():
    job = state_document(case(jobs=[case()["jobs"][0] | {"preemption_cost": 0.5, "weight": 2}]))["jobs"][0]
    assert job["preemption_cost"]["evict_seconds"] == 10
    assert 2 * 3 * 10 / (60 * 2) == 0.5


def test_ageing_is_weight():
    job = state_document(case(jobs=[case()["jobs"][0] | {"waited": 4}], config={"aging": 0.5}))["jobs"][0]
    assert job["weight"] == 3
