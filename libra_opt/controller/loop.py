"""One period of the loop, and one after the other.

A period is one round: observe, allocate, apply. Where the scheduler refused something, up to two rounds more follow at once, each from what is really
there, with the refused jobs left as they are; so what was meant for them goes to others.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from libra_opt.allocation import allocate
from libra_opt.controller.apply import Applied, apply, refusals_after
from libra_opt.controller.declare import declare
from libra_opt.controller.follow import follow, outcome_since
from libra_opt.controller.keeping import Keeper
from libra_opt.controller.memory import Followed, Memory
from libra_opt.controller.prepare import prepare
from libra_opt.controller.settings import Settings
from libra_opt.domain import Period, Plan, State
from libra_opt.domain.faults import fault_of
from libra_opt.errors import InputError, LibraError
from libra_opt.feedback import Outcome, Setpoint, adapt
from libra_opt.scheduler import Command, Meter, Observed, Scheduler, UnavailableError

__all__ = ["MOST_ROUNDS", "Controller", "Round", "Turn", "wait_seconds"]

MOST_ROUNDS: Final = 3
"""So often a period is planned at most: once, and again where something was refused."""

_LONGEST_WAIT: Final = 600.0


@dataclass(frozen=True, slots=True)
class Round:
    """One time from observing to applying.

    Attributes
    ----------
    state
        What was planned.
    notes
        What could not be read or had to be assumed, and what was left out.
    plan
        The verified plan.
    commands
        What it leads to, in order.
    applied
        What became of them; empty in a dry run.
    """

    state: State
    notes: tuple[str, ...]
    plan: Plan
    commands: tuple[Command, ...]
    applied: Applied = field(default_factory=Applied)


@dataclass(frozen=True, slots=True)
class Turn:
    """One period.

    Attributes
    ----------
    index, at
        Its number, and when it began, in seconds of the epoch.
    rounds
        What was done; empty where nothing could be.
    outcome
        What came of the period before; None where none was planned.
    setpoint
        What feedback has come to.
    unavailable
        What did not answer; empty where all did.
    """

    index: int
    at: float
    rounds: tuple[Round, ...] = ()
    outcome: Outcome | None = None
    setpoint: Setpoint = field(default_factory=Setpoint)
    unavailable: str = ""


class Controller:
    """The loop beside one scheduler.

    Parameters
    ----------
    scheduler
        What is observed and told what to do.
    settings
        What the configuration says.
    keeper
        Keeps the memory and what was planned; in a dry run nothing is kept.
    seconds
        Length of a period.
    meters
        Where measurements come from.
    is_dry
        Nothing is done.
    clock
        Seconds of the epoch.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        settings: Settings,
        keeper: Keeper,
        seconds: float,
        *,
        meters: Sequence[Meter] = (),
        is_dry: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._scheduler = scheduler
        self._settings = settings
        self._keeper = keeper
        self._seconds = seconds
        self._meters = meters
        self._is_dry = is_dry
        self._clock = clock
        self._has_planned = False
        self._memory = keeper.load() or Memory(seconds=seconds, setpoint=Setpoint(period_seconds=seconds))

    def turn(self) -> Turn:
        """Do one period; a scheduler or meter that does not answer is told of in the turn, and so is whatever else keeps a later period from being planned.

        Raises
        ------
        InputError
            In the first period: what the scheduler says, with the configuration, contradicts itself.
        """
        now = self._clock()
        before, index = self._memory, self._next_index(now)
        rounds: list[Round] = []
        outcome: Outcome | None = None
        try:
            seen = self._look(index, now)
            outcome = outcome_since(before, seen.state, now, before.allocating_seconds)
            memory = before.replace(
                {
                    "period": index,
                    "at": now,
                    "seconds": self._seconds,
                    "setpoint": adapt(before.setpoint, outcome) if outcome is not None else before.setpoint,
                    "jobs": follow(before, seen.state, now),
                    "allocating_seconds": None,
                }
            )
            rounds.append(self._round(seen, memory, now))
            self._has_planned = True
            while len(rounds) < MOST_ROUNDS and rounds[-1].applied.refused and not rounds[-1].applied.failed:
                seen = self._look(index, now)
                memory = self._memory.replace({"jobs": _with_new(self._memory.jobs, follow(self._memory, seen.state, now))})
                rounds.append(self._round(seen, memory, now))
        except LibraError as error:
            if not (isinstance(error, UnavailableError) or self._has_planned):
                raise
            return Turn(index, now, tuple(rounds), outcome, self._memory.setpoint, str(error) or type(error).__name__)
        return Turn(index, now, tuple(rounds), outcome, self._memory.setpoint)

    def _next_index(self, now: float) -> int:
        """Return the number of the period that begins now: one more, and one more for each that was missed."""
        if self._memory.at is None:
            return self._memory.period
        return self._memory.period + max(1, round((now - self._memory.at) / self._seconds))

    def _look(self, index: int, now: float) -> Observed:
        with _refused("what the scheduler says"):
            seen = self._scheduler.observe()
        period = Period(index=index, seconds=self._seconds)
        seen = declare(Observed(state=seen.state.replace({"period": period}), notes=seen.notes), self._settings)
        with _refused("what the meter says"):
            for meter in self._meters:
                seen = meter.measure(seen, now)
        return seen

    def _round(self, seen: Observed, memory: Memory, now: float) -> Round:
        with _refused("the state to be planned"):
            prepared = prepare(seen, self._settings.options, memory, now)
        begun = time.perf_counter()
        plan = allocate(prepared.state)
        memory = memory.replace({"allocating_seconds": time.perf_counter() - begun, "jobs": _with_actions(memory.jobs, plan)})
        commands = self._scheduler.commands(Observed(state=prepared.state, notes=prepared.notes), plan)
        self._memory = memory
        if self._is_dry:
            return Round(prepared.state, prepared.notes, plan, commands)
        self._keeper.keep(memory, prepared.state, plan)
        applied = apply(self._scheduler, commands, memory.refusals, memory.period)
        self._memory = memory.replace({"refusals": refusals_after(memory.refusals, applied, memory.period)})
        return Round(prepared.state, prepared.notes, plan, commands, applied)


def wait_seconds(seconds: float, began: float, now: float, n_unavailable: int) -> float:
    """Return how long to wait until the next period begins: not before now, and twice as long for every time in a row that nothing answered.

    Examples
    --------
    >>> wait_seconds(60.0, 1000.0, 1010.0, 0), wait_seconds(60.0, 1000.0, 1130.0, 0), wait_seconds(60.0, 1000.0, 1010.0, 3)
    (50.0, 0.0, 230.0)
    """
    longest = max(_LONGEST_WAIT, seconds)
    every = min(longest, seconds * 2.0 ** min(max(n_unavailable - 1, 0), 10))
    return max(0.0, every - (now - began))


@contextmanager
def _refused(source: str) -> Iterator[None]:
    """Turn a state that cannot be into an `InputError`, which a loop survives."""
    try:
        yield
    except ValidationError as error:
        raise InputError(source, tuple(fault_of(details, State) for details in error.errors(include_url=False))) from None


def _with_actions(jobs: tuple[Followed, ...], plan: Plan) -> tuple[Followed, ...]:
    """Return the jobs with what the plan does to each; that an earlier round of the period stopped one is kept."""
    actions: Mapping[str, str] = {job.id: job.action for job in plan.jobs}
    return tuple(job if job.action == "evict" else job.replace({"action": actions.get(job.id)}) for job in jobs)


def _with_new(before: tuple[Followed, ...], now: tuple[Followed, ...]) -> tuple[Followed, ...]:
    """Return what is remembered of the period's beginning, and of the jobs that came since."""
    known = {job.id for job in before}
    return (*before, *(job for job in now if job.id not in known))
