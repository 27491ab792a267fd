"""Worth: what one fully served period of a job counts, worked out by hand."""

from typing import Any

import pytest

from libra_opt.domain import State
from libra_opt.formulation.policy import weighted_throughput
from tests.formulation.made import SEEDS, cut, parts
from tests.oracle import enumerate as rules

POOLS = [{"name": "p", "capacity": {"gpu": 8, "cpu": 20}}, {"name": "q", "capacity": {"gpu": 8, "mem": 100}}]


def worths(*jobs: dict[str, Any], **more: Any) -> list[float]:
    made = cut(State.model_validate({"pools": POOLS, "jobs": [{"id": name, **job} for name, job in zip("abcdefgh", jobs, strict=False)], **more}))
    return weighted_throughput(made.state, made.ledger, made.tables).tolist()


def test_work_is_cards_of_the_demand() -> None:
    assert worths({"demand": {"gpu": 3}}, {"demand": {"gpu": 2, "cpu": 20}}) == [3, 2]


def test_weight_and_priority_multiply() -> None:
    jobs = [{"demand": {"gpu": 3}, "weight": 2.5, "priority": 2}, {"demand": {"gpu": 3}, "priority": -1}, {"demand": {"gpu": 3}, "weight": 0}]
    assert worths(*jobs) == pytest.approx([750, 0.3, 0])
    assert worths(*jobs, options={"priority_base": 2}) == pytest.approx([30, 1.5, 0])


def test_without_cards_the_dominant_share_of_the_cluster_in_cards() -> None:
    assert worths({"demand": {"cpu": 5}}, {"demand": {"cpu": 5, "mem": 50}}, {"demand": {"net": 9, "cpu": 1}}) == [4, 8, 0.8]


def test_without_any_demand_the_minimum_counts() -> None:
    assert worths({"min_quota": {"cpu": 10}}, {}, {"min_quota": {"cpu": 10}, "demand": {"cpu": 1}}) == [8, 0, 0.8]


def test_stages_add_up() -> None:
    stages = [{"name": "x", "demand": {"gpu": 3}}, {"name": "y", "demand": {"gpu": 1, "mem": 9}}]
    assert worths({"demand": {"cpu": 1}}, {"stages": stages}, {"stages": [{"name": name, "demand": {"mem": 25}} for name in "xy"]}) == [0.8, 4, 8]


def test_share_is_bare_where_the_cluster_has_no_cards() -> None:
    without = [{"name": "p", "capacity": {"cpu": 20}}]
    assert worths({"demand": {"cpu": 5}}, pools=without) == [0.25]
    assert worths({"demand": {"cpu": 5}}, pools=without, resources=[{"name": "cpu"}]) == [0.25]
    assert worths({"demand": {"cpu": 5}}, pools=[]) == [0]
    assert worths({"demand": {"cpu": 3}}, pools=[{"name": "p", "capacity": {"cpu": 1}}], resources=[{"name": "cpu"}]) == [3]


def test_fractions_of_cards_count_as_such() -> None:
    resources = [{"name": "cpu"}, {"name": "gpu", "quantum": 0.25}]
    assert worths({"demand": {"gpu": 1.5}}, {"demand": {"cpu": 2}}, resources=resources, pools=[{"name": "p", "capacity": {"gpu": 2, "cpu": 8}}]) == [1.5, 0.5]


@pytest.mark.parametrize(
    ("throughput", "work"),
    [("tokens", [300, 4]), ("steps", [4, 120]), ("trajectories", [4, 4]), ("jobs", [0.5, 4])],
)
def test_stated_rates_take_the_place_of_cards(throughput: str, work: list[float]) -> None:
    jobs = [{"demand": {"gpu": 4}, "rates": {"tokens": 5}, "remaining": 120}, {"demand": {"gpu": 4}, "rates": {"steps": 2}, "remaining": 0}]
    assert worths(*jobs, options={"throughput": throughput}, period={"seconds": 60}) == work


def test_where_no_rate_is_stated_the_mean_over_the_steps_is_half_of_the_worth() -> None:
    demanding = {"demand": {"gpu": 4}}
    jobs = [{**demanding, "rates": rates} for rates in ({"cards": 3}, {"cards": 0}, {"cards": 3, "tokens": 5})]
    assert worths(*jobs, {"demand": {"cpu": 1}, "rates": {"cards": 3}}, period={"seconds": 60}) == [3.5, 2, 300, 1.5]


def test_worth_agrees_with_the_oracle() -> None:
    n_worths = 0
    for seed in SEEDS:
        made = parts(seed)
        found = weighted_throughput(made.state, made.ledger, made.tables)
        expected = [float(rules._worth(made.state, made.ledger, j)) for j in made.tables.job_order.tolist()]
        assert found.tolist() == pytest.approx(expected)
        n_worths += sum(worth > 0 for worth in expected)
    assert n_worths > 50


def test_state_without_jobs_has_no_worth() -> None:
    assert worths() == []
