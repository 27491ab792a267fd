"""Ray as a scheduler that plans can be applied to."""

import json
import time
from collections.abc import Callable
from typing import Any

from libra_opt.adapters.ray.child import Child
from libra_opt.adapters.ray.cluster import make_state
from libra_opt.adapters.ray.commands import BUNDLES, commands_for
from libra_opt.adapters.ray.looking import look
from libra_opt.adapters.ray.members import RefusedError, request, set_target
from libra_opt.adapters.ray.records import Snapshot
from libra_opt.adapters.ray.settings import Settings
from libra_opt.domain import Plan
from libra_opt.scheduler import Command, Observed, Outcome, UnavailableError

__all__ = ["RayScheduler"]


class RayScheduler:
    """The elastic groups of a Ray cluster.

    Parameters
    ----------
    settings
        Where it is and how it is read.
    clock
        Seconds of the epoch.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._child = Child(settings.address, settings.timeout_seconds)
        self._clock = clock
        self._seen = Snapshot()

    def observe(self) -> Observed:
        """Return what is there now; raises `UnavailableError` where Ray does not answer."""
        self._seen = self._child.ask(look)
        state, notes = make_state(self._seen, self._settings, self._clock())
        return Observed(state=state, notes=tuple(notes))

    def commands(self, observed: Observed, plan: Plan) -> tuple[Command, ...]:
        """Return what the plan leads to from what was observed last."""
        del observed
        return commands_for(self._seen, plan, self._settings, self._clock())

    def perform(self, command: Command) -> Outcome:
        """Do one thing."""
        try:
            is_done = self._do(command.arguments)
        except RefusedError as error:
            return Outcome(command=command, status="refused", message=str(error)[:1000])
        except UnavailableError as error:
            return Outcome(command=command, status="failed", message=str(error)[:1000])
        return Outcome(command=command, status="done" if is_done else "already")

    def close(self) -> None:
        """End the connection."""
        self._child.close()

    def _do(self, arguments: tuple[str, ...]) -> bool:
        if arguments[0] == BUNDLES:
            wanted: list[Any] = json.loads(arguments[1])
            self._child.ask(request, arguments[1], [bundle for bundle, n in wanted for _ in range(n)])
            return True
        _, name, n_actors, pool = arguments
        return self._child.ask(set_target, name, int(n_actors), pool, self._settings)
