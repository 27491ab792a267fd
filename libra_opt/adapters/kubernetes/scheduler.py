"""Kubernetes as a scheduler of the loop: read, say which patches a plan leads to, send one."""

from libra_opt.adapters.kubernetes.commands import commands_of
from libra_opt.adapters.kubernetes.observe import Seen, see
from libra_opt.adapters.kubernetes.settings import Settings
from libra_opt.adapters.kubernetes.snapshot import look
from libra_opt.adapters.kubernetes.transport import Kubectl, Transport
from libra_opt.domain.plan import Plan
from libra_opt.scheduler import Command, Observed, Outcome

__all__ = ["KubernetesScheduler"]


class KubernetesScheduler:
    """Plans become patches of the objects that the settings choose; nothing else is touched.

    Parameters
    ----------
    settings
        What is planned.
    transport
        How the cluster is reached; kubectl where none is given.
    """

    def __init__(self, settings: Settings, transport: Transport | None = None) -> None:
        self._settings = settings
        self._transport = transport if transport is not None else Kubectl(settings.kubectl, settings.timeout_seconds)
        self._seen: Seen | None = None

    def observe(self) -> Observed:
        """Return what is there now; raises `UnavailableError` where the server does not answer or lets us not read."""
        self._seen = see(look(self._transport, self._settings), self._settings)
        return self._seen.observed

    def commands(self, observed: Observed, plan: Plan) -> tuple[Command, ...]:  # noqa: ARG002 - the objects behind what was observed last are kept here
        """Return the patches a plan leads to, for the objects that were observed last; nothing is sent."""
        return () if self._seen is None else commands_of(self._seen, plan, self._settings)

    def perform(self, command: Command) -> Outcome:
        """Send one patch."""
        status, message = self._transport.run(command.arguments)
        return Outcome(command=command, status=status, message=message)
