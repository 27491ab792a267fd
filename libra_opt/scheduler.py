"""What the loop asks of any scheduler: say what is there, say what a plan would have you do, do one thing of it.

Everything that a plan leads to is a `Command` that states what is to be (never by how much something changes), so doing one twice is doing it once: whoever is
killed in the middle begins again by observing. Adapters implement `Scheduler` and `Meter`; the loop knows no more of them than this page.
"""

from typing import Literal, Protocol

from libra_opt.domain.base import Name, Text, Value
from libra_opt.domain.plan import Plan
from libra_opt.domain.state import State
from libra_opt.errors import LibraError

__all__ = ["Command", "Meter", "Observed", "Outcome", "Scheduler", "UnavailableError"]


class UnavailableError(LibraError):
    """A scheduler or a server of measurements did not answer in time; nothing was done, try again next period."""


class Observed(Value):
    """What is really there now.

    Attributes
    ----------
    state
        The cluster, its queues and jobs, and what each stage holds.
    notes
        What could not be read or had to be assumed, a sentence each.
    """

    state: State
    notes: tuple[Text, ...] = ()


class Command(Value):
    """One thing to do, stated as what is to be; doing it twice is doing it once.

    Attributes
    ----------
    key
        What is set, as in ``slurm/array/17/throttle``: a later command with the same key replaces this one.
    job
        The job it serves; none for what serves a queue or the cluster.
    text
        Exactly what is done, as a person would type it or as method, path and body.
    arguments
        The same for the adapter that made it: a command line, or one JSON text.
    effect
        Whether the cluster is fuller after it than before: ``frees``, ``takes``, or ``either`` where the adapter does not say. What takes is held back in a
        round in which something that was to free was not done, so that no more is ever asked for than a verified plan leaves room for.
    """

    key: Name
    job: Name | None = None
    text: Text
    arguments: tuple[Text, ...] = ()
    effect: Literal["frees", "takes", "either"] = "either"


class Outcome(Value):
    """What became of a command.

    Attributes
    ----------
    command
        The command.
    status
        ``done``; ``already`` so; ``refused`` by the scheduler, which will say the same again until something changes; or ``failed``: no
        answer, it may or may not have been done.
    message
        The scheduler's own words where it refused or failed, else empty.
    """

    command: Command
    status: Literal["done", "already", "refused", "failed"]
    message: Text = ""


class Scheduler(Protocol):
    """A scheduler that plans can be applied to."""

    def observe(self) -> Observed:
        """Return what is there now.

        Raises
        ------
        UnavailableError
            It does not answer; nothing was done.
        """
        ...

    def commands(self, observed: Observed, plan: Plan) -> tuple[Command, ...]:
        """Return what a plan for the state that was observed would have it do, in order: what frees before what takes. Does nothing."""
        ...

    def perform(self, command: Command) -> Outcome:
        """Do one thing and say what became of it; never raises for what the scheduler refuses or for a scheduler that is down."""
        ...


class Meter(Protocol):
    """Where measurements come from: fills in the histories of the stages of a state."""

    def measure(self, observed: Observed, now: float) -> Observed:
        """Return the state with what was measured of its stages up to `now`, in seconds of the epoch, and a note for what was missing.

        Raises
        ------
        UnavailableError
            It does not answer.
        """
        ...
