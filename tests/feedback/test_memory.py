"""Kills add memory at once, waste gives it back slowly, and what killed is not tried again soon."""

import pytest

from libra_opt.feedback import LAW, Setpoint, adapt
from tests.feedback.made import CALM, at_work, settled

WASTEFUL = at_work(memory_waste_share=0.7)


def killed_below(margin_needed, n_periods, n_running=10):
    """Return setpoints and kills of a plant that kills one job a period while the margin is short, and wastes memory all the time."""
    setpoint, margins, kills = Setpoint(), [], []
    for _ in range(n_periods):
        kills.append(int(setpoint.margin < margin_needed))
        margins.append(setpoint.margin)
        setpoint = adapt(setpoint, at_work(n_running=n_running, n_memory_kills=kills[-1], memory_waste_share=0.7))
    return margins, kills


def test_one_kill_is_answered_at_once_and_waste_takes_its_time():
    killed = adapt(Setpoint(), at_work(n_memory_kills=1))
    assert killed.margin == pytest.approx(0.4)
    assert 1 - killed.coverage == pytest.approx(0.01 * 2 ** (-LAW.tail_rate * 0.1 / 0.6931), rel=1e-3)
    given_back = settled(Setpoint(), WASTEFUL, 100)
    assert 0 < Setpoint().margin - given_back.margin <= 100 * LAW.waste_step + 1e-12
    assert given_back.coverage < 0.99


def test_no_spiral_when_kills_stop():
    margins, kills = killed_below(0.45, 450)
    assert sum(kills[:10]) == 2
    assert max(margins[:100]) == pytest.approx(0.5)
    assert max(margins) < 0.6
    first_quiet = kills.index(0)
    what_killed = margins[first_quiet - 1]
    assert all(margin > what_killed for margin in margins[first_quiet:])
    assert sum(kills) <= 3
    assert margins[-1] < max(margins)


@pytest.mark.parametrize("n_running", [5, 10, 200])
def test_kills_become_as_rare_as_the_law_says(n_running):
    margins, kills = killed_below(0.45, 6000, n_running)
    assert max(margins) < LAW.margin_most
    assert sum(kills[1000:]) / (5000 * n_running) <= LAW.waste_step / LAW.kill_gain


def test_margin_does_not_rise_without_kills_nor_fall_without_waste():
    assert settled(Setpoint(), CALM, 300).margin == Setpoint().margin
    assert settled(Setpoint(), WASTEFUL, 2000).margin == LAW.margin_least


def test_kills_that_no_margin_ends_stop_at_the_bound():
    hopeless = settled(Setpoint(), at_work(n_memory_kills=3), 100)
    assert (hopeless.margin, hopeless.coverage) == (LAW.margin_most, LAW.coverage_most)
    assert settled(hopeless, at_work(memory_waste_share=0.7), 2).margin == LAW.margin_most
    assert settled(hopeless, at_work(memory_waste_share=0.7), 700).margin < LAW.margin_most


def test_rare_kills_in_a_large_cluster_are_no_reason_to_hold_memory():
    one_in_many = at_work(n_running=10_000, n_memory_kills=1)
    assert settled(Setpoint(), one_in_many, 20).margin < Setpoint().margin + 0.01
    assert settled(Setpoint(), one_in_many, 20).remembered.kill_hold_periods == 0
