"""A job counts for more the further it is in its step, and never for more than the law says."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt import State, allocate
from libra_opt.errors import InputError
from libra_opt.feedback import LAW, Law, begun_weight


def test_step_that_is_all_but_done_counts_as_the_law_says():
    assert [begun_weight(2, done) for done in (0, 0.25, 1)] == [2, 3, 6]
    assert begun_weight(2, 1, Law(begun_worth=0)) == 2


@given(st.floats(0, 1e15), st.floats(0, 1), st.floats(0, 1))
def test_weight_grows_with_the_share_and_stays_a_weight(weight, one, other):
    less, more = sorted((one, other))
    assert weight <= begun_weight(weight, less) <= begun_weight(weight, more) <= min(1e15, weight * (1 + LAW.begun_worth))


@pytest.mark.parametrize(("weight", "done"), [(-1, 0), (math.nan, 0), (2e15, 0), (1, -0.1), (1, 1.1), (1, math.nan)])
def test_what_is_no_weight_and_no_share_is_refused(weight, done):
    with pytest.raises(InputError, match=r"weight|done"):
        begun_weight(weight, done)


@pytest.mark.parametrize("further", ["a", "b"])
def test_of_two_jobs_that_need_the_same_cards_the_one_that_has_begun_goes_on(further):
    cards = {"gpu": 4}
    jobs = [
        {"id": name, "weight": begun_weight(1, 0.6 if name == further else 0.2), "min_quota": cards, "max_quota": cards, "demand": cards} for name in ("a", "b")
    ]
    plan = allocate(State.model_validate({"pools": [{"name": "p", "capacity": cards}], "jobs": jobs}))
    assert [job.id for job in plan.jobs if job.stages] == [further]
