"""`ElasticGroup`: what a program on Ray uses to have a group of its actors grown and shrunk.

It needs a connection (``ray.init``) and registers the group, nothing more: members come when a plan gives it room. It is the program that says what the
group can use, and that works with the members that are there; each may be stopped at any time.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from libra_opt.adapters.ray import looking, members, store
from libra_opt.adapters.ray.records import Group, Report
from libra_opt.domain.faults import fault_of
from libra_opt.errors import Fault, InputError

__all__ = ["ElasticGroup"]

_MOST_REPORTS: Final = 1000
_LARGEST: Final = 1 << 20


class ElasticGroup:
    """A group of equal actors, detached from the program that registers it.

    Parameters
    ----------
    name
        Of the group; it is also the name of its job in plans and in ``[jobs.NAME]`` of a configuration.
    actor_class
        The class of the members. Nodes must be able to import it, unless it is defined in the program itself.
    resources
        What one actor needs, in Ray's words: ``{"GPU": 1, "CPU": 4, "memory": 8 * 2**30}``, custom resources too.
    minimum, maximum
        How many actors there are at least when the group runs, and at most; whole units.
    args, kwargs
        What each actor is made with.
    unit
        So many actors are started and stopped together, in one placement group.
    strategy
        How a unit is placed, as in Ray.
    pools
        Where the group may run; none: anywhere.
    queue
        Its tenant.
    preemptible
        Whether it may be stopped altogether.
    stop, stop_seconds
        Method of an actor that is called before it is stopped, without arguments, and how long it may take with what the actor was at.
    replace
        Take the place of another group of this name; its members stay.

    Raises
    ------
    InputError
        Something of it is wrong, or a different group has the name.
    """

    def __init__(  # noqa: PLR0913 - most are keywords that few groups need
        self,
        name: str,
        actor_class: type,
        resources: Mapping[str, float],
        minimum: int,
        maximum: int,
        *,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        unit: int = 1,
        strategy: str = "PACK",
        pools: Sequence[str] = (),
        queue: str | None = None,
        preemptible: bool = True,
        stop: str = "",
        stop_seconds: float = 10.0,
        replace: bool = False,
    ) -> None:
        stated: dict[str, Any] = {"name": name, "resources": dict(resources), "minimum": minimum, "maximum": maximum, "unit": unit, "strategy": strategy}
        stated |= {"pools": tuple(pools), "queue": queue, "preemptible": preemptible, "stop": stop, "stop_seconds": stop_seconds}
        self._group = _checked(stated)
        pickled = members.pickled(actor_class, tuple(args), dict(kwargs or {}))
        if len(pickled) > _LARGEST:
            raise InputError(f"group {name!r}", (Fault("args", f"{len(pickled)} bytes with the class; let the actors load what is above {_LARGEST}"),))
        if not store.keep_group(self._group, pickled, replace=replace) and store.group_named(name) != self._group:
            raise InputError(f"group {name!r}", (Fault("name", "a different group has it; choose another, close that one, or say replace=True"),))

    @property
    def name(self) -> str:
        """Its name."""
        return self._group.name

    @property
    def target(self) -> int:
        """How many actors the last plan gave it; 0 before the first."""
        return int(store.value_named("target", self.name) or 0)

    def members(self) -> dict[tuple[int, int], Any]:
        """Return the handles of the actors that are alive, whole units only, by (number of the unit, number in it)."""
        return looking.handles(self._group)

    def report(
        self, *, demand: float | None = None, busy: float | None = None, requests_running: float | None = None, requests_waiting: float | None = None
    ) -> None:
        """Say what the group can use; one process reports for a group.

        Parameters
        ----------
        demand
            How many actors it can use in the next period, as far as the program knows. It is what is planned for.
        busy
            Where it does not know: how many actors were at work, the mean since the last report. The demand is then forecast from all reports.
        requests_running, requests_waiting
            Requests being served, and waiting; signs of more demand than `busy` shows.
        """
        held = len(self.members()) if busy is not None else None
        said = Report(at=time.time(), held=held, demand=demand, busy=busy, requests_running=requests_running, requests_waiting=requests_waiting)
        store.keep_reports(self.name, (*store.reports_of(self.name), said)[-_MOST_REPORTS:])

    def close(self) -> None:
        """Forget the group and stop its members."""
        store.forget(self.name)
        members.stop_all(self._group)


def _checked(stated: Mapping[str, Any]) -> Group:
    try:
        group = Group.model_validate(stated)
    except ValidationError as error:
        raise InputError(f"group {stated['name']!r}", tuple(fault_of(each, Group) for each in error.errors(include_url=False))) from None
    faults = [
        Fault(name, f"{value} is not a multiple of unit {group.unit}")
        for name, value in (("minimum", group.minimum), ("maximum", group.maximum))
        if value % group.unit
    ]
    if group.maximum < group.minimum:
        faults.append(Fault("maximum", f"{group.maximum} is below minimum {group.minimum}"))
    if not any(group.resources.values()):
        faults.append(Fault("resources", "an actor needs nothing, so there is nothing to share out; state GPU or CPU"))
    if faults:
        raise InputError(f"group {group.name!r}", tuple(faults))
    return group
