"""Slurm as a scheduler that plans can be applied to."""

import json
import time
from collections.abc import Callable
from typing import Final, Literal

from libra_opt.adapters.slurm.client import Answer, Client
from libra_opt.adapters.slurm.cluster import make_state
from libra_opt.adapters.slurm.commands import Seen, commands_for
from libra_opt.adapters.slurm.groups import group
from libra_opt.adapters.slurm.quotas import Account, read_accounts
from libra_opt.adapters.slurm.reading import NodeRecord, read_jobs, read_nodes
from libra_opt.adapters.slurm.settings import Settings
from libra_opt.domain import Plan
from libra_opt.scheduler import Command, Observed, Outcome

__all__ = ["SlurmScheduler"]

_SO_ALREADY: Final = ("job is pending execution", "already completing or completed", "job/step already")
_NOT_THERE: Final = ("invalid job id",)


class SlurmScheduler:
    """A Slurm cluster.

    Parameters
    ----------
    settings
        What is planned.
    client
        Runs Slurm's commands.
    clock
        Seconds of the epoch.
    """

    def __init__(self, settings: Settings, client: Client, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._client = client
        self._clock = clock
        self._seen = Seen({}, (), {}, 0.0)

    def observe(self) -> Observed:
        """Return what ``squeue``, ``sinfo`` and, for group quotas, ``scontrol show assoc_mgr`` say now."""
        records = read_jobs(self._client.ask(("squeue", "--json")))
        nodes = self._nodes()
        groups, others, notes = group(records, self._settings)
        accounts, told = self._accounts()
        now = self._clock()
        state, of_state = make_state(nodes, groups, others, accounts, self._settings, now)
        self._seen = Seen({one.id: one for one in groups}, others, accounts, now)
        return Observed(state=state, notes=(*notes, *of_state, *told))

    def commands(self, observed: Observed, plan: Plan) -> tuple[Command, ...]:
        """Return the commands that the plan leads to from what was observed last."""
        del observed
        return commands_for(self._seen, plan, self._settings)

    def perform(self, command: Command) -> Outcome:
        """Run one command."""
        answer = self._client.run(command.arguments)
        return Outcome(command=command, status=_status(command, answer), message="" if answer.is_done else answer.message)

    def _nodes(self) -> tuple[NodeRecord, ...]:
        """Return the nodes; releases whose ``sinfo --json`` sums them up list them with ``scontrol show nodes --json``."""
        text = self._client.ask(("sinfo", "--json"))
        if '"sinfo"' in text and "nodes" not in json.loads(text):
            text = self._client.ask(("scontrol", "show", "nodes", "--json"))
        return read_nodes(text)

    def _accounts(self) -> tuple[dict[str, Account], list[str]]:
        if self._settings.group_quotas == "ignore":
            return {}, []
        answer = self._client.run(("scontrol", "-o", "show", "assoc_mgr", "flags=assoc"))
        if answer.is_done:
            return read_accounts(answer.text), []
        return {}, [f"group quotas are not known: {answer.message or 'no slurmdbd'}"]


def _status(command: Command, answer: Answer) -> Literal["done", "already", "refused", "failed"]:
    if answer.is_done:
        return "done"
    if answer.is_gone:
        return "failed"
    told = answer.message.lower()
    is_so = any(words in told for words in _SO_ALREADY) or (command.effect == "frees" and any(words in told for words in _NOT_THERE))
    return "already" if is_so else "refused"
