"""From what was observed to what is expected: demand, intensity and need of the stages that brought a history."""

from libra_opt.forecast.describe import describe
from libra_opt.forecast.predict import forecast

__all__ = ["describe", "forecast"]
