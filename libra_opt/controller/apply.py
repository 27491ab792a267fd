"""Commands done one after the other: what was refused is not asked again at once, and nothing takes where something was not freed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from libra_opt.controller.memory import Refusal
from libra_opt.scheduler import Command, Outcome, Scheduler, UnavailableError

__all__ = ["MOST_PATIENCE", "Applied", "apply", "refusals_after"]

MOST_PATIENCE: Final = 16
"""What is refused again and again is asked again after at most so many periods."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of the commands of one round.

    Attributes
    ----------
    outcomes
        Of the commands that were given, in order.
    held_back
        Those that were not given, each with the reason.
    """

    outcomes: tuple[Outcome, ...] = ()
    held_back: tuple[tuple[Command, str], ...] = ()

    @property
    def refused(self) -> tuple[Outcome, ...]:
        """What the scheduler refused."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "refused")

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """What got no answer."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "failed")


def apply(scheduler: Scheduler, commands: Sequence[Command], refusals: Sequence[Refusal], period: int) -> Applied:
    """Do commands in their order.

    After one that got no answer none is given: the scheduler is gone, and what it did is seen in the next period. After one that should have freed
    something and was refused, none that may take is given; and after any that was refused none for the same job.
    """
    asked_before = {(refusal.key, refusal.text): refusal for refusal in refusals if refusal.until > period}
    outcomes: list[Outcome] = []
    held_back: list[tuple[Command, str]] = []
    refused_jobs: set[str | None] = set()
    stop = ""
    for command in commands:
        refusal = asked_before.get((command.key, command.text))
        if refusal is not None:
            held_back.append((command, f"was refused ({refusal.message}); asked again from period {refusal.until}"))
        elif command.job is not None and command.job in refused_jobs:
            held_back.append((command, f"an earlier command for {command.job!r} was refused"))
        elif stop and (command.effect != "frees" or outcomes[-1].status == "failed"):
            held_back.append((command, stop))
        else:
            outcome = _done(scheduler, command)
            outcomes.append(outcome)
            if outcome.status == "failed":
                stop = f"the scheduler did not answer to {command.text!r}"
            elif outcome.status == "refused":
                refused_jobs.add(command.job)
                if command.effect != "takes" and not stop:
                    stop = f"{command.text!r} was refused, and what it was to free may be needed"
    return Applied(tuple(outcomes), tuple(held_back))


def _done(scheduler: Scheduler, command: Command) -> Outcome:
    try:
        return scheduler.perform(command)
    except UnavailableError as error:
        return Outcome(command=command, status="failed", message=str(error))


def refusals_after(refusals: Sequence[Refusal], applied: Applied, period: int) -> tuple[Refusal, ...]:
    """Return what is remembered of refusals: twice as long every time in a row, and forgotten once the same key is done."""
    after = {refusal.key: refusal for refusal in refusals}
    for outcome in applied.outcomes:
        key = outcome.command.key
        if outcome.status == "refused":
            count = after[key].count + 1 if key in after else 1
            until = period + min(MOST_PATIENCE, 2 ** min(count - 1, 10)) + 1
            after[key] = Refusal(key=key, text=outcome.command.text, job=outcome.command.job, message=outcome.message, count=count, until=until)
        elif outcome.status in ("done", "already"):
            after.pop(key, None)
    return tuple(refusal for refusal in after.values() if refusal.until + MOST_PATIENCE > period)
