"""Periods as a range query sees them, and the PromQL of one metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Final

__all__ = ["Window", "promql"]

_FUNCTIONS: Final = {
    "mean": "avg_over_time",
    "max": "max_over_time",
    "last": "last_over_time",
    "present": "present_over_time",
    "rate": "rate",
    "increase": "rate",
}


@dataclass(frozen=True, slots=True)
class Window:
    """The periods that are asked for, each by the moment it ends.

    Attributes
    ----------
    end
        When the newest ends, in whole seconds of the epoch.
    period_seconds
        How long each is.
    n_periods
        How many they are.
    n_missing
        How many more ended since, of which nothing can be known yet.
    """

    end: int
    period_seconds: float
    n_periods: int
    n_missing: int = 0

    @classmethod
    def before(cls, now: float, period_seconds: float, n_periods: int, delay_seconds: float) -> "Window":
        """Return the window whose newest period ends `delay_seconds` before `now`."""
        return cls(floor(now - delay_seconds), period_seconds, n_periods, floor(delay_seconds / period_seconds))

    @property
    def start(self) -> float:
        """When the oldest period ends."""
        return self.end - (self.n_periods - 1) * self.period_seconds


def promql(metric: str, matchers: Sequence[str], over_time: str, period_seconds: float, rate_seconds: float | None = None) -> str:
    """Return the expression whose value at the end of a period is what one series made in it.

    Windows of gauges are a millisecond short: servers before version 3 count a sample that lies on both ends, and it would belong to two periods.

    Examples
    --------
    >>> promql("vllm:num_requests_waiting", ['model_name="m"'], "mean", 60)
    'avg_over_time(vllm:num_requests_waiting{model_name="m"}[59999ms])'
    """
    counts = over_time in ("rate", "increase")
    milliseconds = round(1000 * max(period_seconds, (rate_seconds or 0) if counts else 0))
    selector = f"{metric}{{{','.join(matchers)}}}"
    text = f"{_FUNCTIONS[over_time]}({selector}[{milliseconds if counts else max(milliseconds - 1, 1)}ms])"
    return f"{text} * {period_seconds:g}" if over_time == "increase" else text
