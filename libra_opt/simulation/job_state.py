"""Where a job of the plant stands, and what it did in one period."""

from dataclasses import dataclass, field

from libra_opt.simulation.grant import Holding

__all__ = ["JobPeriod", "JobState"]


@dataclass(slots=True)
class JobState:
    """Where one job stands.

    Attributes
    ----------
    cycle, position
        How often it began again, and seconds of full service since the beginning of its steps; a job on the wall clock stands where the clock is.
    saved
        Cycle and position of the last checkpoint.
    served
        Work that was served so far, what was lost excluded.
    pause
        Seconds without progress that are still to pass (starting, resizing, migrating).
    holding
        What its stages hold; None when it waits.
    since
        When it came, or was last started or stopped.
    stopped_at
        When it was last stopped; None if it never ran.
    is_down
        It was killed and cannot start with what it holds; it waits for another grant.
    stands
        It made no progress with what it held in the last period: it waits for the memory that a phase begins with, or for a resource it has none of.
    done_at
        When it was done.
    """

    cycle: int = 0
    position: float = 0.0
    saved: tuple[int, float] = (0, 0.0)
    served: float = 0.0
    pause: float = 0.0
    holding: Holding | None = None
    since: float = 0.0
    stopped_at: float | None = None
    is_down: bool = False
    stands: bool = False
    done_at: float | None = None


@dataclass(slots=True)
class JobPeriod:
    """What one job did in one period.

    Attributes
    ----------
    index
        Of the job in its workload.
    action
        What the grant was to it: admit, keep, resize, migrate, evict, or wait.
    holding
        What its stages held.
    ran
        Seconds in which it could make progress.
    paused
        Seconds lost to starting, resizing, migrating and to kills.
    gated
        Seconds it stood at the beginning of a phase that waits for memory.
    progress
        Seconds of full service it made, what a kill took excluded.
    work
        Work it was served, in cards x seconds, what a kill took included.
    lost
        Work that kills took.
    usage
        Per stage: the mean use over the seconds it ran, in the units of the resources; all zero if it did not run.
    watermark
        Per stage: the most it used of incompressible resources; of one that it was killed for, what it held: what it asked for is not known, see `short`.
    level
        Per stage: mean over the seconds it ran of the pace it was held to, by itself or by another stage; at most 1.
    kills
        How often it was killed for want of memory.
    short
        Per stage and resource: whether it was killed, or stood at the beginning of a phase, for want of it.
    short_phase
        The phase in which that was, the last one; None if nothing was short.
    steps
        Steps it finished.
    is_done
        It finished in this period.
    """

    index: int
    action: str = "wait"
    holding: Holding | None = None
    ran: float = 0.0
    paused: float = 0.0
    gated: float = 0.0
    progress: float = 0.0
    work: float = 0.0
    lost: float = 0.0
    usage: list[list[float]] = field(default_factory=list)
    watermark: list[list[float]] = field(default_factory=list)
    level: list[float] = field(default_factory=list)
    kills: int = 0
    short: list[list[bool]] = field(default_factory=list)
    short_phase: str | None = None
    steps: int = 0
    is_done: bool = False
