"""A recording: what one source says of its jobs over time, and how far it can be trusted.

Every list of `recorded`, `derived` and `assumed` is part of the value, so that a report can print it beside the figures.
"""

from dataclasses import dataclass

from libra_opt.forecast.series import Series

__all__ = ["Measured", "Recording"]


@dataclass(frozen=True, slots=True)
class Measured:
    """Series of one resource.

    Attributes
    ----------
    resource, unit
        What was measured, in the words and units of a state.
    series
        One row per label.
    labels
        Whose series they are, shape ``(n_series,)``.
    compressible
        Whether a job short of it is slower (True) or killed (False). Of compressible resources a value is the mean over its period, of
        the others the highest.
    season
        Periods after which a series is expected to repeat, where the source has such a thing by its nature; shape ``(n_series,)``.
    """

    resource: str
    unit: str
    series: Series
    labels: tuple[str, ...]
    compressible: bool
    season: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """All that a converter takes from one source.

    Attributes
    ----------
    name, title, source
        How reports call it, what it is, where it comes from.
    period_seconds
        Length of a period, in the source's own time.
    measured
        The series, by resource.
    recorded, derived, assumed
        What the source measured; what follows from it by a rule, which is stated; what nobody measured.
    synthetic
        Nothing of it was measured anywhere.
    """

    name: str
    title: str
    source: str
    period_seconds: float
    measured: tuple[Measured, ...]
    recorded: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    synthetic: bool = False
