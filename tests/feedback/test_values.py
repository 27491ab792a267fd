"""Setpoint, outcome and law are values: validated, unchangeable, to JSON and back; `adapt` is deterministic."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from pydantic import ValidationError

from libra_opt.feedback import LAW, Band, Law, Outcome, Remembered, Setpoint, adapt
from tests.feedback.made import at_work, outcomes, setpoints, settled

STORM = at_work(n_preemptions=4, lost_seconds=180.0, n_memory_kills=1, max_delay_seconds=9000.0)


@given(setpoints(), outcomes())
def test_json_there_and_back_is_the_identity(setpoint, outcome):
    assert Setpoint.model_validate_json(setpoint.model_dump_json()) == setpoint
    assert Outcome.model_validate_json(outcome.model_dump_json()) == outcome
    again = Setpoint.model_validate_json(setpoint.model_dump_json())
    assert adapt(again, outcome) == adapt(setpoint, outcome)


def test_law_goes_to_json_and_back():
    assert Law.model_validate_json(LAW.model_dump_json()) == LAW
    assert json.loads(LAW.model_dump_json())["price_gain"] == LAW.price_gain


def test_another_process_finds_the_same_bytes():
    script = "\n".join(
        (
            "from libra_opt.feedback import Outcome, Setpoint, adapt",
            f"setpoint, outcome = Setpoint(), Outcome.model_validate_json({STORM.model_dump_json()!r})",
            "for _ in range(20): setpoint = adapt(setpoint, outcome)",
            "print(setpoint.model_dump_json())",
        )
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)  # noqa: S603 - our own script
    assert found.stdout.strip() == settled(Setpoint(), STORM, 20).model_dump_json()


@pytest.mark.parametrize(
    "wrong",
    [{"move_price": 0.0}, {"coverage": 1.0}, {"margin": -0.1}, {"ageing_seconds": float("inf")}, {"period_seconds": float("nan")}, {"price": 1.0}],
)
def test_setpoint_refuses_what_no_loop_can_hold(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Setpoint.model_validate(wrong)


@pytest.mark.parametrize("wrong", [{}, {"period_seconds": 0}, {"period_seconds": 60, "n_running": -1}, {"period_seconds": 60, "memory_waste_share": 1.5}])
def test_outcome_refuses_what_cannot_have_happened(wrong):
    with pytest.raises(ValidationError):
        Outcome.model_validate(wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"price_least": 5.0}, "price_least 5 is above price_most 4"),
        ({"ageing_least": 7200.0}, "ageing_least 7200 is above ageing_home 3600"),
        ({"period_dominance": 1.25}, "a step could undo itself"),
        ({"lost": {"low": 0.04, "high": 0.04}}, "a band needs width"),
    ],
)
def test_law_refuses_constants_that_would_never_rest(wrong, message):
    with pytest.raises(ValidationError, match=message):
        Law.model_validate(wrong)


def test_setpoint_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        Setpoint().margin = 0.2
    with pytest.raises(ValidationError, match="frozen"):
        Remembered().churning = True


def test_alarm_has_hysteresis():
    band = Band(low=1, high=4)
    assert band.middle == 2
    assert [band.alarm(value, on=False) for value in (1, 3, 4, 4.1)] == [False, False, False, True]
    assert [band.alarm(value, on=True) for value in (1, 2, 2.1, 4.1)] == [False, False, True, True]
