"""Weights age, faster where somebody waits too long, and a starved job wins in the end."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt import State, allocate
from libra_opt.errors import InputError
from libra_opt.feedback import LAW, Setpoint, adapt, aged_weight, waiting_credit
from tests.feedback.made import at_work, settled

WEIGHTS = st.one_of(st.just(0.0), st.floats(1e-30, 1e15))


def test_weight_doubles_in_the_ageing_time():
    setpoint = Setpoint(ageing_seconds=600)
    assert [aged_weight(3, waited, setpoint) for waited in (0, 600, 1200, 300)] == [3, 6, 12, pytest.approx(3 * math.sqrt(2))]


@given(WEIGHTS, st.floats(0, 1e300), st.floats(0, 1e300))
def test_weight_only_grows_and_stays_a_weight(weight, one, other):
    less, more = sorted((one, other))
    setpoint = Setpoint()
    assert weight <= aged_weight(weight, less, setpoint) <= aged_weight(weight, more, setpoint) <= 1e15


def test_any_weight_above_nothing_outgrows_any_other():
    assert aged_weight(1e-30, 200 * 3600, Setpoint()) == 1e15
    assert aged_weight(0, 1e9, Setpoint()) == 0


@pytest.mark.parametrize(("weight", "waited"), [(-1, 0), (math.nan, 0), (2e15, 0), (1, -1), (1, math.nan), (1, math.inf)])
def test_what_is_no_weight_and_no_time_is_refused(weight, waited):
    with pytest.raises(InputError, match=r"weight|waited_seconds"):
        aged_weight(weight, waited, Setpoint())


def test_waiter_beyond_its_bound_makes_weights_age_faster_and_its_end_slows_them_again():
    neglected = settled(Setpoint(), at_work(n_waiting=1, max_delay_seconds=20_000.0), 12)
    assert LAW.ageing_least <= neglected.ageing_seconds < 1800
    assert settled(neglected, at_work(n_waiting=1, max_delay_seconds=10_000.0), 1).ageing_seconds == neglected.ageing_seconds
    assert settled(neglected, at_work(), 400).ageing_seconds == LAW.ageing_home


def test_ageing_time_of_ones_own_is_left_alone_in_calm():
    assert settled(Setpoint(ageing_seconds=7200), at_work(), 100).ageing_seconds == 7200


CARDS, PERIOD = 4, 60


def asking(name, n_cards, weight, *, runs=False):
    """Return a job that wants so many cards and no others."""
    cards = {"gpu": n_cards}
    held = {"allocation": {"pool": "a", "resources": cards}} if runs else {}
    return {"id": name, "weight": weight, "min_quota": cards, "max_quota": cards, "demand": cards, **held}


def admitted_after(setpoint, n_periods):
    """Return in which period a big light job gets in beside a stream of small heavy ones that never leaves a gap; None if never."""
    waited: dict[str, float] = {"big": 0.0}
    ran: dict[str, int] = {}
    for t in range(n_periods):
        waited[f"small-{t}"] = 0.0
        jobs = [
            asking(name, CARDS if name == "big" else 1, aged_weight(0.1 if name == "big" else 10, seconds, setpoint), runs=name in ran)
            for name, seconds in waited.items()
        ]
        state = State.model_validate({"pools": [{"name": "a", "capacity": {"gpu": CARDS}}], "jobs": jobs, "period": {"seconds": PERIOD}})
        runs = {job.id for job in allocate(state).jobs if job.stages}
        if "big" in runs:
            return t
        assert len(runs) == min(t + 1, CARDS)
        ran = {name: ran.get(name, 0) + 1 for name in runs}
        done = {name for name, n_ran in ran.items() if n_ran == CARDS}
        waited = {name: seconds + (0 if name in runs else PERIOD) for name, seconds in waited.items() if name not in done}
        ran = {name: n_ran for name, n_ran in ran.items() if name not in done}
    return None


def test_starved_job_gets_in_beside_an_endless_stream():
    assert admitted_after(Setpoint(ageing_seconds=1e9), 40) is None
    assert admitted_after(Setpoint(ageing_seconds=2 * PERIOD), 40) is not None


def test_starved_job_needs_no_setting_by_hand():
    """The law itself shortens the ageing time of one who waits beyond the bound, until it is short enough."""
    setpoint, waited, doublings = Setpoint(), 0.0, []
    for _ in range(600):
        waited += PERIOD
        setpoint = adapt(setpoint, at_work(n_waiting=1, mean_delay_seconds=waited, max_delay_seconds=waited))
        doublings.append(math.log2(aged_weight(1, waited, setpoint)))
    assert setpoint.ageing_seconds == LAW.ageing_least
    assert doublings[120] > 2
    assert doublings[-1] > 49


def test_first_wait_counts_four_times_for_half_an_hour_and_then_as_any_other():
    waited = [waiting_credit(0, seconds, runs=False, has_run=False) for seconds in (0, 600, 1800, 3600)]
    assert waited == [0, 2400, 7200, 9000]
    assert waiting_credit(1000, 600, runs=False, has_run=True) == 1600


def test_running_pays_at_half_the_rate_and_owes_nothing_beyond():
    assert [waiting_credit(1000, seconds, runs=True, has_run=True) for seconds in (0, 600, 2000, 1e9)] == [1000, 700, 0, 0]
    assert waiting_credit(1000, 600, runs=True, has_run=False) == 700


@given(st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0, 1e5), st.booleans(), st.booleans())
def test_credit_does_not_depend_on_how_time_is_cut(credit, one, other, runs, has_run):
    at_once = waiting_credit(credit, one + other, runs=runs, has_run=has_run)
    in_two = waiting_credit(waiting_credit(credit, one, runs=runs, has_run=has_run), other, runs=runs, has_run=has_run)
    assert at_once == pytest.approx(in_two, abs=1e-6)


@given(st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0, 1e5))
def test_who_comes_later_is_never_owed_more_than_the_first_wait_is_worth(ahead, together, ran):
    """What the argument in `models/feedback.md` needs: the credit of a waiter against that of one who comes when it has waited `ahead` seconds."""
    owed = waiting_credit(waiting_credit(0, ran, runs=True, has_run=True), ahead + together, runs=False, has_run=True)
    later = waiting_credit(0, together, runs=False, has_run=False)
    assert later <= owed - ahead + (LAW.first_wait - 1) * LAW.first_wait_seconds + 1e-6


@pytest.mark.parametrize(("credit", "seconds"), [(-1, 0), (math.nan, 0), (math.inf, 0), (0, -1), (0, math.nan), (0, math.inf)])
def test_what_is_no_time_is_refused(credit, seconds):
    with pytest.raises(InputError, match=r"credit|seconds"):
        waiting_credit(credit, seconds, runs=False, has_run=False)
