"""A setpoint becomes options: the price of moving is the charge of a move, the need its margin."""

import pytest

import libra_opt
from libra_opt import State, allocate
from libra_opt.domain import ForecastOptions, Options
from libra_opt.feedback import Setpoint, planning


def test_loop_needs_the_public_names_only():
    """Observe, plan, feed back, as a caller writes it."""
    setpoint, state = libra_opt.Setpoint(), State.model_validate({"pools": [{"name": "a", "capacity": {"gpu": 1}}]})
    plan = libra_opt.allocate(state.replace({"options": libra_opt.planning(state.options, setpoint)}))
    outcome = libra_opt.Outcome(period_seconds=60, n_running=0, n_waiting=len(plan.jobs), n_preemptions=0)
    assert libra_opt.adapt(setpoint, outcome) == setpoint
    assert libra_opt.aged_weight(1.0, 0.0, setpoint) == 1
    assert libra_opt.__all__ == sorted(libra_opt.__all__)


BASE = Options(hold_periods=2, gap=0.01, preemption_budget_seconds=30, forecast=ForecastOptions(method="ewma", coverage=0.9, horizon=3))


def test_only_what_the_setpoint_says_changes():
    planned = planning(BASE, Setpoint(move_price=4, coverage=0.95, margin=0.4))
    assert planned.hold_periods == 0.5
    assert (planned.forecast.coverage, planned.forecast.margin) == (0.95, 0.4)
    assert planned.replace({"hold_periods": 2, "forecast": BASE.forecast}) == BASE.replace({"hold_periods": 2})
    assert (planned.forecast.method, planned.forecast.horizon) == ("ewma", 3)


@pytest.mark.parametrize(("hold", "price"), [(1e6, 1e-3), (1e-3, 1e3)])
def test_extremes_stay_options(hold, price):
    assert planning(Options(hold_periods=hold), Setpoint(move_price=price)).hold_periods == hold


def test_price_decides_whether_a_move_pays():
    """Stopping the light job costs 30 of 60 seconds; over two periods a quarter of its worth, and the newcomer brings a fifth more."""

    def runs(price):
        jobs = [
            {"id": "light", "weight": 1.0, "preemption_cost": {"evict_seconds": 30}, "allocation": {"pool": "a", "resources": {"gpu": 1}}},
            {"id": "new", "weight": 1.2},
        ]
        quotas = {"min_quota": {"gpu": 1}, "max_quota": {"gpu": 1}, "demand": {"gpu": 1}}
        state = State.model_validate(
            {
                "pools": [{"name": "a", "capacity": {"gpu": 1}}],
                "jobs": [{**job, **quotas} for job in jobs],
                "period": {"seconds": 60},
                "options": planning(Options(hold_periods=2), Setpoint(move_price=price)),
            }
        )
        return {job.id for job in allocate(state).jobs if job.stages}

    assert runs(0.5) == {"new"}
    assert runs(1) == {"light"}
    assert runs(4) == {"light"}


def test_need_follows_the_margin():
    def need(margin):
        state = State.model_validate(
            {
                "pools": [{"name": "a", "capacity": {"gpu": 1, "mem": 400}}],
                "jobs": [{"id": "j", "max_quota": {"gpu": 1, "mem": 400}, "history": [{"gpu": 1, "mem": 100 + t % 2} for t in range(20)]}],
                "options": planning(Options(), Setpoint(margin=margin)),
            }
        )
        return allocate(state).jobs[0].stages[0].resources["mem"]

    assert need(0.5) > need(0.3) > need(0.0)
