"""A window: series scaled to 1, with the origins at which past forecasts are scored.

Series that begin at different periods share a window where each is long enough to be scored at all its origins: few series cost little more than one,
as most of the time goes into the calls. What depends on a series' own length is computed part by part (`Window.own`): the same to the last bit.

Everything is in single precision, a few hundred series at a time, so that a whole window stays in the processor's cache; the exact amounts are
put back where the forecast leaves this package's arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_ORIGINS", "SCORED", "Floats", "Part", "Told", "Window"]

Floats: TypeAlias = NDArray[np.float32]

SCORED: Final = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
"""Levels at which past forecasts are compared with what came."""

MOST_ORIGINS: Final = 24
"""Past forecasts are scored at so many origins where the history has them."""

_MOST_ERRORS: Final = 64


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a window that begin at the same period.

    Attributes
    ----------
    rows
        Neighbouring rows.
    begin
        The first period that is theirs; before it they are NaN.
    """

    rows: slice
    begin: int


@dataclass(frozen=True, slots=True)
class Window:
    """Series that end at the same period.

    Attributes
    ----------
    measured
        Shape ``(n_series, n_periods)``, 0 to 1, NaN where nothing was measured; every row has a number.
    filled
        Same shape: every gap filled with the value before it, NaN only before the first. The same array where nothing is missing.
    lead
        Shape ``(n_series,)``: how many periods lie before the first value.
    horizon
        How many periods ahead is predicted; less than `n_periods`.
    parts
        Which rows begin when, in their order, where not all begin with the window; each has at least `MOST_ORIGINS` origins.
    """

    measured: Floats
    filled: Floats
    lead: NDArray[np.int64]
    horizon: int
    parts: tuple[Part, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every period of every series was measured."""
        return self.measured is self.filled

    @property
    def n_series(self) -> int:
        """How many series."""
        return len(self.measured)

    @property
    def n_periods(self) -> int:
        """How many periods."""
        return int(self.measured.shape[1])

    @property
    def n_origins(self) -> int:
        """At how many past origins forecasts are scored: the latest ones of which the outcome is known."""
        return min(MOST_ORIGINS, self.n_periods - self.horizon)

    @property
    def first_origin(self) -> int:
        """The earliest of the scored origins."""
        return self.n_periods - self.horizon - self.n_origins

    @property
    def n_errors(self) -> int:
        """Of how many past origins the errors are looked at: the latest ones of which the outcome is known."""
        return min(_MOST_ERRORS, self.n_periods - self.horizon)

    @property
    def first(self) -> int:
        """The earliest origin whose error is looked at; what is said "from then on" has the columns ``first`` to ``n_periods - 1``."""
        return self.n_periods - self.horizon - self.n_errors

    @property
    def outcomes(self) -> Floats:
        """What came `horizon` after each scored origin, shape ``(n_series, n_origins)``."""
        return self.measured[:, self.n_periods - self.n_origins :]

    def own(self, first: int) -> Iterator[tuple[slice, int]]:
        """Yield rows that belong together in an array whose columns are the periods from `first` on, and how many of its columns come before theirs."""
        if not self.parts:
            yield slice(0, self.n_series), 0
        for skipped, parts in groupby(self.parts, lambda part: max(part.begin - first, 0)):
            each = [part.rows for part in parts]
            yield slice(each[0].start, each[-1].stop), skipped

    def at_origins(self, ahead: Floats) -> Floats:
        """Return the columns of the scored origins of something said from `first` on, shape ``(n_series, n_origins)``."""
        skipped = self.first_origin - self.first
        return ahead[:, skipped : skipped + self.n_origins]

    def errors(self, ahead: Floats) -> Floats:
        """Return what came minus what was said from `first` on, shape ``(n_series, n_errors)``; the last column is the newest outcome."""
        return self.measured[:, self.n_periods - self.n_errors :] - ahead[:, : self.n_errors]


@dataclass(frozen=True, slots=True)
class Told:
    """What one expert says, and what it would have said.

    Attributes
    ----------
    past
        Shape ``(len(SCORED), n_series, n_origins)``: its quantiles at the scored origins.
    now
        Shape ``(n_series, n_levels)``: its quantiles at the last period, at the levels asked for.
    able
        Shape ``(n_series,)``: whether it has anything to say; None: always.
    """

    past: Floats
    now: Floats
    able: NDArray[np.bool_] | None = None
