"""How far a job is in its step, told by its history."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import Observation
from libra_opt.forecast.step_done import step_done

PHASES = {"rollout": 6, "reward": 1, "train": 3}


def entries(n_steps, upto, *, told=("step", "phase", "progress"), first=0):
    """Return a history of whole steps and of so many periods of the next; numbers of steps begin at `first`."""
    place = [(phase, (i + 1) / n) for phase, n in PHASES.items() for i in range(n)]
    found = []
    for t in range(n_steps * len(place) + upto):
        phase, progress = place[t % len(place)]
        all_told = {"step": first + t // len(place), "phase": phase, "progress": progress}
        found.append(Observation.model_validate({"usage": {"gpu": 2}, "period": t, **{name: all_told[name] for name in told}}))
    return found


@pytest.mark.parametrize("told", [("step", "phase", "progress"), ("step", "phase"), ("step",)])
@pytest.mark.parametrize("upto", range(1, 11))
def test_it_is_the_share_of_the_periods_that_earlier_steps_took(told, upto):
    assert step_done([entries(3, upto, told=told)]) == pytest.approx(upto / 10)


def test_step_that_is_served_slowly_is_as_far_as_its_progress_and_not_as_old():
    history = entries(2, 1)
    slow = [Observation.model_validate({"usage": {"gpu": 1}, "period": 100 + t, "step": 2, "phase": "rollout", "progress": 0.5}) for t in range(40)]
    assert step_done([[*history, *slow]]) == pytest.approx(0.3)


def test_oldest_step_may_have_been_cut_and_is_left_out_where_there_is_another():
    assert step_done([entries(3, 5)[8:]]) == pytest.approx(0.5)
    assert step_done([entries(1, 5)[8:]]) == 1  # two periods of training are all that is known of a step


def test_step_longer_than_those_before_is_done_at_most_whole():
    history = entries(2, 1, told=("step",))
    assert step_done([[*history, *(Observation.model_validate({"usage": {"gpu": 2}, "step": 2, "period": 100 + t}) for t in range(50))]]) == 1


def test_first_step_is_half_done_by_every_phase():
    shares = [step_done([entries(0, upto)]) for upto in range(1, 11)]
    assert shares[5] == pytest.approx(0.5)
    assert shares[6] == pytest.approx(0.75)
    assert all(a < b for a, b in pairwise(shares))
    assert step_done([entries(0, 3, told=("step",))]) == 0.5
    assert step_done([entries(0, 3, told=("step", "phase"))]) == pytest.approx(1 - 0.5**0.5)


def test_phase_that_no_earlier_step_had_is_told_by_the_periods():
    new = [Observation.model_validate({"usage": {"gpu": 2}, "step": 2, "phase": "evaluate", "progress": 0.9, "period": 100 + t}) for t in range(4)]
    assert step_done([[*entries(2, 0), *new]]) == pytest.approx(0.4)


def test_who_waits_since_the_step_began_has_done_nothing_of_it():
    assert step_done([[*entries(2, 0), Observation.model_validate({"usage": {}, "step": 2, "phase": "rollout", "progress": 0.0, "period": 100})]]) == 0


def test_who_was_stopped_in_the_middle_of_a_step_is_as_far_as_it_was():
    stopped = Observation.model_validate({"usage": {}, "step": 2, "phase": "train", "progress": 0.0, "period": 100})
    assert step_done([[*entries(2, 7), stopped]]) == pytest.approx(0.7)


@pytest.mark.parametrize("histories", [[], [[]], [[{"gpu": 2}, {"gpu": 3}]], [[Observation(usage={"gpu": 2})]]])
def test_who_tells_no_step_has_done_nothing(histories):
    assert step_done(histories) == 0


def test_stage_that_tells_most_speaks_for_the_job():
    assert step_done([entries(2, 0)[-1:], entries(2, 3), []]) == pytest.approx(0.3)


def test_periods_of_which_nothing_was_measured_are_no_part_of_a_step():
    lost = [Observation.model_validate({"usage": {}, "step": 2, "period": 100 + t}) for t in range(5)]
    measured = [Observation.model_validate({"usage": {"gpu": 2}, "step": 2, "period": 200 + t}) for t in range(2)]
    assert step_done([[*entries(2, 0, told=("step",)), *lost, *measured]]) == pytest.approx(0.2)
    unseen = [*entries(2, 0), *lost, *(each.replace({"step": 3, "period": 300 + t}) for t, each in enumerate(entries(0, 5, told=("step",))))]
    assert step_done([unseen]) == pytest.approx(0.5)


def test_phases_come_in_the_order_of_the_newest_step():
    order = [(0, "reward"), (0, "train"), (1, "reward"), (1, "train"), (2, "train"), (2, "reward"), (3, "train")]
    history = [Observation.model_validate({"usage": {"gpu": 1}, "step": step, "phase": phase, "progress": 0.5}) for step, phase in order]
    assert step_done([history]) == pytest.approx(0.25)  # half of training, which came first in step 2
    assert step_done([history[:5]]) == pytest.approx(0.75)  # and last in step 1
    assert step_done([history[:3]]) == pytest.approx(0.25)  # half of the reward, which came first in the only step before


def test_late_entries_are_put_where_they_belong():
    history = entries(3, 5)
    late = [*history[:20], *history[21:], history[20]]
    assert step_done([late]) == pytest.approx(step_done([history]))


def test_job_that_went_back_to_a_checkpoint_is_where_it_went_back_to():
    again = [each.replace({"step": 1, "period": 100 + t}) for t, each in enumerate(entries(0, 2))]
    assert step_done([[*entries(2, 9), *again]]) == pytest.approx(0.2)


SAMPLES = st.builds(
    Observation,
    usage=st.sampled_from([{}, {"gpu": 1.0}, {"gpu": 0}, {"cpu": 2}, {"gpu": None}]),
    step=st.none() | st.integers(0, 3),
    phase=st.none() | st.sampled_from(["a", "b"]),
    progress=st.none() | st.floats(0, 1),
)


@given(st.lists(st.lists(SAMPLES, max_size=12), max_size=3))
def test_share_is_a_share_whatever_was_told(histories):
    assert 0 <= step_done(histories) <= 1
