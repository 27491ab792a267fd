"""From what was seen of every job in a period to the outcome that feedback learns from: the same count for a simulated cluster and for a real one."""

from collections.abc import Sequence
from dataclasses import dataclass

from libra_opt.feedback.outcome import Outcome

__all__ = ["SeenJob", "outcome_of"]


@dataclass(frozen=True, slots=True)
class SeenJob:
    """What was seen of one job in one period.

    Attributes
    ----------
    action
        What happened to it: ``admit``, ``keep``, ``resize`` (in place), ``migrate`` (to another pool), ``evict`` (stopped by the plan) or ``wait``.
    lost_seconds
        Seconds of service it lost to a resize or a migration.
    is_killed
        It was killed because it held less of an incompressible resource than it used.
    held, used
        Incompressible amounts it held, and the most it used of them, in any order; empty where that is not known.
    delay_seconds
        How long it had waited, since it came or was last stopped, when it was admitted or the period ended; None for one that ran before.
    """

    action: str
    lost_seconds: float = 0.0
    is_killed: bool = False
    held: tuple[float, ...] = ()
    used: tuple[float, ...] = ()
    delay_seconds: float | None = None


def outcome_of(jobs: Sequence[SeenJob], period_seconds: float) -> Outcome:
    """Return what feedback is told of one period; of the memory that is wasted nothing is told where nobody's is known."""
    count = [job.action for job in jobs].count
    delays = [job.delay_seconds for job in jobs if job.delay_seconds is not None]
    held = sum(amount for job in jobs for amount in job.held)
    used = sum(amount for job in jobs for amount in job.used)
    outcome = Outcome(
        period_seconds=period_seconds,
        n_running=len(jobs) - count("wait"),
        n_waiting=count("wait") + count("evict"),
        n_preemptions=count("evict"),
        n_resizes=count("resize"),
        n_migrations=count("migrate"),
        lost_seconds=sum(job.lost_seconds for job in jobs if job.action in ("resize", "migrate")),
        n_memory_kills=sum(job.is_killed for job in jobs),
        memory_waste_share=min(1.0, max(0.0, 1 - used / held)) if held else None,
    )
    return outcome.replace({"mean_delay_seconds": sum(delays) / len(delays), "max_delay_seconds": max(delays)}) if delays else outcome
