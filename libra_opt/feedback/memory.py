"""Memory: margin and coverage of the need, up fast on kills and down slowly on waste (`models/feedback.md`, "Memory")."""

import math
from dataclasses import dataclass

from libra_opt.feedback.law import Law
from libra_opt.feedback.measured import Measured
from libra_opt.feedback.setpoint import Remembered, Setpoint

__all__ = ["Memory", "adapt_memory"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Margin and coverage for the next period, and the margin that killed with the periods it is remembered for."""

    margin: float
    coverage: float
    killed_margin: float
    kill_hold_periods: int


def adapt_memory(setpoint: Setpoint, seen: Measured, new: Remembered, law: Law) -> Memory:
    """Return margin and coverage for the next period.

    A kill raises both at once, by its share of the running jobs. Waste gives back a little every period without a kill, but for a long time not what killed.
    """
    old = setpoint.remembered
    killed, hold = old.killed_margin, max(old.kill_hold_periods - 1, 0)
    if seen.kill_share and new.kill_share > law.kills.high:
        killed, hold = max(setpoint.margin, killed if hold else 0), law.kill_hold
    if not hold:
        killed = 0.0
    if seen.kill_share:
        step = min(law.kill_step, law.kill_gain * seen.kill_share)
        margin = max(setpoint.margin, min(setpoint.margin + step, law.margin_most))
        return Memory(margin, _covered(setpoint.coverage, step, law), killed, hold)
    held = hold > 0 and setpoint.margin <= killed + law.kill_guard
    if seen.kill_share is None or seen.waste_share is None or not new.wasting or new.kill_share > law.kills.low or held:
        return Memory(setpoint.margin, setpoint.coverage, killed, hold)
    floor = max(law.margin_least, killed + law.kill_guard if hold else 0)
    margin = min(setpoint.margin, max(setpoint.margin - law.waste_step, floor))
    return Memory(margin, _covered(setpoint.coverage, -law.waste_step, law), killed, hold)


def _covered(coverage: float, step: float, law: Law) -> float:
    """Return the coverage whose uncovered tail is exp(-tail_rate * step) times as large, within bounds as in `stepped`."""
    moved = 1 - (1 - coverage) * math.exp(-law.tail_rate * step)
    if step > 0:
        return max(coverage, min(moved, law.coverage_most))
    return min(coverage, max(moved, law.coverage_least)) if step < 0 else coverage
