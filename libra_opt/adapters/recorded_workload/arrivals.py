"""Recorded arrivals put on a horizon: as many, in their order and spacing, as make the load that is asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from libra_opt.errors import Fault
from libra_opt.recordings.table import Document, read_table, refuse

__all__ = ["Arrival", "fit", "read_philly"]

_EPOCH: Final = datetime(2017, 1, 1)  # noqa: DTZ001 - the trace names no zone, and only differences count
_LEAST_CARDS: Final = 2
_MOST_CARDS: Final = 16
_LEAST_SECONDS: Final = 600.0
_MOST_SECONDS: Final = 7200.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that came.

    Attributes
    ----------
    seconds
        When, on the clock of the trace.
    duration
        Seconds it ran.
    cards
        Cards it held.
    """

    seconds: float
    duration: float
    cards: int


def read_philly(document: Document) -> list[Arrival]:
    """Return the jobs of 2 to 16 cards that ran for ten minutes to two hours, in order of submission.

    Raises
    ------
    InputError
        The document is not the extract of Philly's jobs; every faulty line is named.
    """
    table = read_table(document, "an extract of Philly's jobs", numbers=("duration", "num_gpus"), texts=("timestamp",))
    faults: list[Fault] = []
    found: list[Arrival] = []
    for line, written, duration, cards in zip(table.lines, table.texts["timestamp"], table.numbers["duration"], table.numbers["num_gpus"], strict=True):
        try:
            moment = (datetime.fromisoformat(written).replace(tzinfo=None) - _EPOCH).total_seconds()
        except ValueError:
            faults.append(Fault(f"line {line}, timestamp", f"{written[:40]!r} is not a time such as 2017-10-09 07:01:55; mend or remove the line"))
            continue
        if _LEAST_CARDS <= cards <= _MOST_CARDS and _LEAST_SECONDS <= duration <= _MOST_SECONDS:
            found.append(Arrival(moment, float(duration), int(cards)))
    if not found and not faults:
        faults.append(Fault("", f"holds no job of {_LEAST_CARDS} to {_MOST_CARDS} cards and {_LEAST_SECONDS:g} to {_MOST_SECONDS:g} s; give more of the trace"))
    refuse(document.name, faults)
    return sorted(found, key=lambda arrival: arrival.seconds)


def fit(seconds: Sequence[float], within: Callable[[int, float], float], work: float, horizon_seconds: float) -> list[float]:
    """Return when the first jobs come, on the horizon: as few of them as do so much work in it.

    Parameters
    ----------
    seconds
        When the jobs came, on the clock of the trace, in order.
    within
        Number of a job and seconds left to the work it does in them at full service.
    work
        Work to reach.
    horizon_seconds
        The spacing is kept and scaled so that the job after the last one comes at the end of the horizon.
    """
    times: list[float] = []
    for n in range(1, len(seconds)):
        span = max(seconds[n] - seconds[0], 1.0)
        times = [float(np.round((moment - seconds[0]) / span * horizon_seconds, 1)) for moment in seconds[:n]]
        if sum(within(i, horizon_seconds - time) for i, time in enumerate(times)) >= work:
            break
    return times
