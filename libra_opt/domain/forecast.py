"""What is expected of every stage in the next period, in whole quanta."""

from dataclasses import dataclass, field

__all__ = ["Forecast", "StageForecast"]


@dataclass(frozen=True, slots=True)
class StageForecast:
    """The next period of one stage that brought a history.

    Attributes
    ----------
    demand
        Demand at full service per resource, whole quanta; 0 for incompressible resources.
    need
        Need per resource, whole quanta; 0 for compressible resources.
    intensity
        Equally likely factors on the demand; empty when it is certain.
    method
        How it was forecast.
    why
        What it rests on, a sentence for people.
    ahead
        Demand and intensities of the periods after the next one, where they were asked for; the need holds for all.
    """

    demand: tuple[int, ...]
    need: tuple[int, ...]
    intensity: tuple[float, ...]
    method: str
    why: str = field(default="", compare=False)
    ahead: tuple[tuple[tuple[int, ...], tuple[float, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecasts of the stages that gave a history, by their index in the state's ledger."""

    stages: tuple[tuple[int, StageForecast], ...] = ()
