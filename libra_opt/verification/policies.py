"""What each policy makes of a job, from the prose of `models/policies.md`: the value of its service and the charge of a period without any."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from libra_opt.domain.options import Objective
from libra_opt.verification.reading import Reading
from libra_opt.verification.work import importances, worths

__all__ = ["Valued", "valued"]

_FLOOR: Final = 0.01
_EARLY: Final = 1e-3
_SHORTEST: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Valued:
    """Tier 4 as a policy has it.

    Attributes
    ----------
    gain
        The value of a service of a job, given its index.
    worth
        ``[j]``: the value of one fully served period, which tier 1 counts.
    charge
        ``[j]``: what a period without service costs a job that moves.
    """

    gain: Callable[[int, float], float]
    worth: Sequence[float]
    charge: Sequence[float]


def valued(reading: Reading) -> Valued:
    """Return what the policy that the state's options name makes of its jobs."""
    return _POLICIES[reading.state.options.objective](reading)


def _weighted_throughput(reading: Reading) -> Valued:
    return _linear(worths(reading))


def _least_completion_time(reading: Reading) -> Valued:
    """Count the share of what is left that a period does: Smith's ratio of weight to remaining time."""
    seconds = reading.state.period.seconds
    left = [max(job.remaining or 0.0, _SHORTEST * seconds) for job in reading.state.jobs]
    return _linear([weight * seconds / rest for weight, rest in zip(importances(reading), left, strict=True)])


def _linear(worth: Sequence[float]) -> Valued:
    return Valued(lambda j, service: worth[j] * service, worth, worth)


def _proportional_fairness(reading: Reading) -> Valued:
    """Take the logarithm of service above the floor, and the line that touches it there below."""
    weight = importances(reading)

    def gain(j: int, service: float) -> float:
        return weight[j] * (service / _FLOOR if service < _FLOOR else 1 + log(service / _FLOOR))

    return Valued(gain, [gain(j, 1.0) for j in range(len(weight))], weight)


def _on_time(reading: Reading) -> Valued:
    """Count the seconds of lateness that service avoids, at that service until the deadline and full service from there on."""
    state = reading.state
    seconds, weight = state.period.seconds, importances(reading)
    hold = seconds * state.options.hold_periods

    def until(j: int) -> float:
        return (state.jobs[j].deadline or 0.0) - state.period.begins

    def late(j: int) -> float:
        """Return the lateness without any service until the deadline; the two that may cancel are subtracted first."""
        job = state.jobs[j]
        if job.deadline is None or job.remaining is None:
            return 0.0
        return max(0.0, max(until(j), hold) - until(j) + job.remaining)

    def gain(j: int, service: float) -> float:
        return weight[j] * (min(late(j), max(until(j), hold) * service) + _EARLY * seconds * service)

    def slope(j: int) -> float:
        """Return the lateness that the first bit of service avoids, per unit of service."""
        return weight[j] * ((max(until(j), hold) if late(j) > 0 else 0.0) + _EARLY * seconds)

    jobs = range(len(state.jobs))
    return Valued(gain, [gain(j, 1.0) for j in jobs], [slope(j) for j in jobs])


_POLICIES: Final[Mapping[Objective, Callable[[Reading], Valued]]] = {
    "weighted_throughput": _weighted_throughput,
    "proportional_fairness": _proportional_fairness,
    "on_time": _on_time,
    "least_completion_time": _least_completion_time,
    "max_min": _weighted_throughput,
    "drf": _weighted_throughput,
    "finish_time_fairness": _weighted_throughput,
    "makespan": _weighted_throughput,
    "fifo_backfill": _weighted_throughput,
}
