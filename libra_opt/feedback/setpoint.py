"""The setpoint: what feedback tunes, and what the law has to remember from one period to the next.

Every field is bounded by its type, so no sequence of outcomes can lead outside; the narrower limits in which the law moves them are in `Law`.
"""

from typing import Annotated, Literal

from libra_opt.domain.base import Flag, Real, Value, WholeNumber

__all__ = ["Ageing", "Coverage", "Margin", "MovePrice", "PeriodLength", "Remembered", "Setpoint"]

MovePrice = Annotated[float, Real(1e-3, 1e3)]
Coverage = Annotated[float, Real(0.5, 0.9999)]
Margin = Annotated[float, Real(0, 4)]
Ageing = Annotated[float, Real(1, 1e9)]
PeriodLength = Annotated[float, Real(1e-3, 1e6)]

_Share = Annotated[float, Real(0, 100)]
_Waited = Annotated[float, Real(0, 1e9)]
_Periods = Annotated[int, WholeNumber(0, 1_000_000)]


class Remembered(Value):
    """What the law remembers: filtered measurements, which alarms are on, and what still has to pass.

    Attributes
    ----------
    lost_share, moved_share, kill_share, waste_share, allocating_share, stale_share, forecast_error
        Exponentially weighted means of the measurements of the same name (`libra_opt.feedback.measured`), shares.
    delay_seconds, oldest_seconds
        The same of the mean and the longest queue delay.
    churning, waiting, starving, wasting
        Alarms with hysteresis: too many moves; queue delay or stale plans; a waiter beyond its bound; too much memory held for nothing.
    killed_margin
        The margin at which jobs were killed last, while `kill_hold_periods` is above 0.
    kill_hold_periods
        For so many periods more the margin stays above `killed_margin`.
    dwell_periods
        For so many periods more the proposed period stays what it is.
    """

    lost_share: _Share = 0
    moved_share: _Share = 0
    kill_share: _Share = 0
    waste_share: _Share = 0
    allocating_share: _Share = 0
    stale_share: _Share = 0
    forecast_error: _Share = 0
    delay_seconds: _Waited = 0
    oldest_seconds: _Waited = 0
    churning: Flag = False
    waiting: Flag = False
    starving: Flag = False
    wasting: Flag = False
    killed_margin: Margin = 0
    kill_hold_periods: _Periods = 0
    dwell_periods: _Periods = 0


class Setpoint(Value):
    """What feedback tunes; the first one of a loop is `Setpoint()`, with the caller's `period_seconds`.

    Attributes
    ----------
    format
        Names the document this is when it is stored between calls.
    move_price
        Scale on the charge of moving (R11): 1 charges what a move costs, spread over the periods a plan is expected to hold; less moves more readily.
        It starts at a half: the full charge every period can freeze a plan.
    coverage
        Share of next periods that the need of incompressible resources is to cover.
    margin
        Share on top of the covered need where the history is not constant.
    ageing_seconds
        The waiting time in which the weight of a waiting job doubles.
    period_seconds
        The period that is proposed to the caller, who need not follow it.
    remembered
        The memory of the law.
    """

    format: Literal["libra-opt/setpoint/1"] = "libra-opt/setpoint/1"
    move_price: MovePrice = 0.5
    coverage: Coverage = 0.99
    margin: Margin = 0.3
    ageing_seconds: Ageing = 3600
    period_seconds: PeriodLength = 60
    remembered: Remembered = Remembered()
