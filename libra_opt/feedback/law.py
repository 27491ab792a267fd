"""The constants of the law, in one frozen value; each has its reason in `models/feedback.md`."""

import math
from typing import Annotated, Final, Self

from pydantic import model_validator

from libra_opt.domain.base import Real, Value, WholeNumber
from libra_opt.feedback.setpoint import Ageing, Coverage, Margin, MovePrice, PeriodLength

__all__ = ["LAW", "Band", "Law"]

_Gain = Annotated[float, Real(0, 2)]
_Step = Annotated[float, Real(0, 1)]
_Cost = Annotated[float, Real(0, 1)]
_Dwell = Annotated[int, WholeNumber(0, 1_000_000)]
_Level = Annotated[float, Real(1e-9, 1e9)]


class Band(Value):
    """A dead band with hysteresis: an alarm goes on above `high`, off at or below `middle`, and until then the law steers towards `low`.

    Attributes
    ----------
    low, high
        Its ends, in the unit of what is measured; ``0 < low < high``.
    """

    low: _Level
    high: _Level

    @model_validator(mode="after")
    def _has_width(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low {self.low:g} is not below high {self.high:g}; a band needs width, or the loop never rests")
        return self

    @property
    def middle(self) -> float:
        """Where an alarm goes off: the geometric mean of the ends."""
        return math.sqrt(self.low) * math.sqrt(self.high)

    def alarm(self, value: float, *, on: bool) -> bool:
        """Return whether the alarm is on at `value`, given whether it was `on` before."""
        return value > (self.middle if on else self.high)


class Law(Value):
    """Constants of `adapt`.

    Attributes
    ----------
    filter_rate, least_drift
        Weight of the newest measurement in the filtered one; the filter closes in by at least `least_drift` of the band's low end a period, so that it arrives.
    lost, moved
        Bands of the share of running time lost to moves, and of moves per running job and period.
    delay, stale
        Bands of the mean queue delay in seconds, and of the share of service lost to stale plans.
    price_gain, price_step, price_least, price_most
        Gain of the price of moving on log error, its most in one period (both in log), and its bounds.
    kills
        Band of memory kills per running job and period: above `high` (filtered) the margin that killed is remembered, above `low` nothing is given back.
    waste
        Band of the share of memory held for nothing.
    kill_gain, kill_step, waste_step
        Margin gained per unit of kill share, its most in one period, and margin given back per period of waste.
    tail_rate
        The share not covered, 1 - coverage, falls by the factor exp(-tail_rate x step) when the margin grows by a step, and grows likewise.
    kill_guard, kill_hold
        How far above the margin that killed the margin stays, and for how many periods after the last such kill.
    margin_least, margin_most, coverage_least, coverage_most
        Bounds of the two.
    oldest
        Band of the longest queue delay in seconds.
    ageing_gain, ageing_step, ageing_relax, ageing_least, ageing_home
        Gain of the ageing time on log error, its most in one period (in log), its growth per period back to `ageing_home` once nobody waits
        long, and its least.
    first_wait, first_wait_seconds
        How many times waiting counts before a job's first start, and for how long.
    running_fade
        Seconds of credit for waiting that a second of running takes.
    begun_worth
        What a step that is all but done adds to the weight of its job, as a share of it.
    error_cost, delay_cost
        Share of service that a forecast error of 1 stands for where `stale_share` is not known; share that a queue delay at the end of its band stands for.
    period_floor, period_dominance, period_factor, period_dwell, period_least, period_most
        A new period is proposed when one of the two costs is above `period_floor` and above `period_dominance` times the other: longer or shorter
        by `period_factor`, not again for `period_dwell` periods, within bounds in seconds.
    """

    filter_rate: Annotated[float, Real(0.01, 1)] = 0.3
    least_drift: Annotated[float, Real(1e-6, 1)] = 0.01
    lost: Band = Band(low=0.04, high=0.16)
    moved: Band = Band(low=0.25, high=1)
    delay: Band = Band(low=300, high=1200)
    stale: Band = Band(low=0.02, high=0.08)
    price_gain: _Gain = 0.1
    price_step: _Step = 0.2
    price_least: MovePrice = 0.05
    price_most: MovePrice = 4
    kills: Band = Band(low=0.0005, high=0.001)
    waste: Band = Band(low=0.35, high=0.5)
    kill_gain: _Gain = 1
    kill_step: _Step = 0.1
    waste_step: _Step = 0.0005
    tail_rate: Annotated[float, Real(0, 100)] = 7
    kill_guard: Margin = 0.02
    kill_hold: _Dwell = 500
    margin_least: Margin = 0
    margin_most: Margin = 1
    coverage_least: Coverage = 0.9
    coverage_most: Coverage = 0.9999
    oldest: Band = Band(low=1800, high=7200)
    ageing_gain: _Gain = 0.1
    ageing_step: _Step = 0.2
    ageing_relax: _Step = 0.01
    ageing_least: Ageing = 600
    ageing_home: Ageing = 3600
    first_wait: Annotated[float, Real(1, 100)] = 4
    first_wait_seconds: Annotated[float, Real(0, 1e6)] = 1800
    running_fade: Annotated[float, Real(0, 100)] = 0.5
    begun_worth: Annotated[float, Real(0, 100)] = 2
    error_cost: _Cost = 0.1
    delay_cost: _Cost = 0.02
    period_floor: _Cost = 0.02
    period_dominance: Annotated[float, Real(1, 1000)] = 3
    period_factor: Annotated[float, Real(1, 10)] = 1.25
    period_dwell: _Dwell = 16
    period_least: PeriodLength = 15
    period_most: PeriodLength = 600

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        for name in ("price", "margin", "coverage", "period"):
            least, most = getattr(self, f"{name}_least"), getattr(self, f"{name}_most")
            if least > most:
                raise ValueError(f"{name}_least {least:g} is above {name}_most {most:g}; exchange them")
        if self.ageing_least > self.ageing_home:
            raise ValueError(f"ageing_least {self.ageing_least:g} is above ageing_home {self.ageing_home:g}; exchange them")
        if self.period_dominance <= self.period_factor:
            message = f"period_dominance {self.period_dominance:g} is not above period_factor {self.period_factor:g}; a step could undo itself"
            raise ValueError(message)
        return self


LAW: Final = Law()
"""The law unless another is given."""
