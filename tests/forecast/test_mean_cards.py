"""The cards that jobs use at full service in the mean over their steps, told by their histories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import Observation
from libra_opt.forecast.mean_cards import ToldCards, mean_cards

STEP = [("rollout", 8.0)] * 2 + [("tail", 1.0)] * 4 + [("train", 6.0)] * 2
"""Eight periods that use 32 cards x periods: 4 in the mean."""

LONG = 3000.0
"""A period of which one says ten times as much as what is believed of a job that is not known."""


def entry(period, phase, used, held=None, step=0):
    allocation = {} if held is None else {"allocation": {"gpu": held}}
    return Observation.model_validate({"usage": {"gpu": used}, "period": period, "step": step, "phase": phase, **allocation})


def at_full_service(n_steps, held=None):
    return [entry(t, phase, used, held, t // len(STEP)) for t, (phase, used) in enumerate(STEP * n_steps)]


def alone(history, asked=8.0, seconds=LONG):
    (found,) = mean_cards([ToldCards([history], asked)], "", seconds)
    return found


def test_it_is_the_mean_over_the_steps():
    assert alone(at_full_service(20)) == pytest.approx(4, rel=0.01)
    assert alone(at_full_service(20, held=10)) == pytest.approx(4, rel=0.01)


def test_job_that_was_held_back_is_not_taken_for_a_small_one():
    full = at_full_service(10, held=10)
    slow = [entry(80 + 4 * t + i, phase, used / 4, held=used / 4, step=10 + t // 8) for t, (phase, used) in enumerate(STEP * 10) for i in range(4)]
    assert alone([*full, *slow]) == pytest.approx(4, rel=0.01)


def test_what_it_used_where_it_never_had_room_counts_as_full_service():
    assert alone([entry(t, "train", 4.0, held=4.0) for t in range(50)]) == pytest.approx(4, rel=0.01)


def test_stages_of_a_job_are_added_up_period_by_period():
    halves = [[entry(t, phase, used / 2, step=t // 8) for t, (phase, used) in enumerate(STEP * 20)] for _ in range(2)]
    (found,) = mean_cards([ToldCards(halves, 8.0)], "", LONG)
    assert found == pytest.approx(4, rel=0.01)


def test_of_jobs_that_are_not_known_nothing_is_said_where_nobody_tells_of_steps():
    assert mean_cards([ToldCards([], 8.0), ToldCards([[]], 2.0)], "", 30.0) == [None, None]


def test_new_job_beside_one_that_goes_by_no_steps_counts_as_that_does():
    plain = ToldCards([[{"gpu": 4}, {"gpu": 4}]], 8.0)
    by_steps = ToldCards([at_full_service(1)], 8.0)
    assert [found is None for found in mean_cards([ToldCards([], 8.0), plain, by_steps], "", 30.0)] == [True, True, False]


def test_while_little_is_known_half_of_what_is_asked_for_is_believed():
    *_, found = mean_cards([ToldCards([[entry(0, "train", 8.0)]], 8.0), ToldCards([], 8.0)], "", 30.0)
    assert found == pytest.approx(8 * (1 + 10 * 0.5) / 11)


def test_what_others_use_of_what_they_ask_for_is_believed_of_one_that_is_not_known():
    known = [ToldCards([at_full_service(20)], 16.0)] * 3
    *_, found = mean_cards([*known, ToldCards([[]], 8.0)], "", LONG)
    assert found == pytest.approx(2, rel=0.05)


def test_it_comes_to_the_own_mean_as_more_is_seen():
    one, ten, hundred = (abs(alone([entry(t, "train", 8.0, 16.0) for t in range(n)], seconds=30.0) - 8) for n in (1, 10, 100))
    assert one > ten > hundred > 0


@pytest.mark.parametrize(
    "history",
    [
        [Observation.model_validate({"usage": {"gpu": 4}, "period": t}) for t in range(5)],
        [{"gpu": 4}, {"gpu": 2}],
        [Observation.model_validate({"usage": {}, "period": 1, "step": 3})],
        [],
    ],
    ids=["no step is told", "usage alone", "nothing was measured", "nothing at all"],
)
def test_job_that_tells_of_no_steps_has_none(history):
    assert alone(history) is None


def test_job_that_asks_for_no_cards_and_used_none_has_none():
    assert mean_cards([ToldCards([[]]), ToldCards([[entry(0, "score", 0.0)]])], "", 30.0) == [None, None]


def test_period_in_which_cards_were_not_measured_tells_nothing_of_them():
    untold = [Observation.model_validate({"usage": {"cpu": 3, "gpu": None}, "period": 1000 + t, "step": 99, "phase": "tail"}) for t in range(50)]
    assert alone([*at_full_service(20), *untold]) == alone(at_full_service(20))


def test_phase_in_which_nothing_is_used_or_held_takes_its_time():
    idle = [entry(1000 + t, "score", 0.0, held=0.0, step=99) for t in range(160)]
    assert alone([*at_full_service(20), *idle]) == pytest.approx(2, rel=0.02)


def test_job_that_used_nothing_when_it_had_room_was_at_full_service_when_it_used_the_most():
    waiting, busy = [entry(t, "score", 0.0, held=4.0) for t in range(100)], [entry(100 + t, "score", 4.0, held=4.0) for t in range(100)]
    assert alone([*waiting, *busy]) == pytest.approx(2, rel=0.02)


def test_period_in_which_next_to_nothing_was_had_counts_as_a_twentieth():
    starved = [entry(1000 + t, "train", 1e-6, held=1e-6, step=99) for t in range(200)]
    assert alone([*at_full_service(20, held=10), *starved]) == pytest.approx(4 * 160 / (160 + 200 / 20), rel=0.02)


def test_it_is_never_more_than_a_state_may_say():
    assert alone([entry(0, "train", 4e18)], asked=4e18) == 1e15


def test_there_may_be_no_jobs():
    assert mean_cards([], "", 30.0) == []


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 64), st.none() | st.floats(0, 64)), max_size=12),
            st.floats(0, 64),
        ),
        max_size=4,
    ),
    st.floats(1, 3600),
)
def test_it_is_never_more_than_the_most_that_was_used_or_asked_for(jobs, seconds):
    told = [ToldCards([[entry(t, phase, used, held) for t, (phase, used, held) in enumerate(rows)]], asked) for rows, asked in jobs]
    for (rows, asked), found in zip(jobs, mean_cards(told, "", seconds), strict=True):
        most = max([asked, *(used for _, used, _ in rows)])
        assert found is None or 0 <= found <= most * (1 + 1e-9)
