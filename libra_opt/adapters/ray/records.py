"""What is kept of elastic groups, and one look at a Ray cluster: plain values that need no Ray."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from pydantic import Field

from libra_opt.domain.base import Flag, Name, NonNegative, Time, Value, WholeNumber
from libra_opt.domain.frozen import FrozenMapping

__all__ = ["Group", "Member", "Node", "Report", "Reports", "Snapshot", "actor_name", "member_of"]

_ACTOR: Final = re.compile(r"libra:(?P<group>.+)/(?P<slot>\d+)\.(?P<part>\d+)", re.DOTALL)


class Group(Value):
    """One elastic group, as it was registered.

    Attributes
    ----------
    name
        Of the group, and of its job in states and plans.
    resources
        What one actor needs, in Ray's words: ``{"GPU": 1, "CPU": 4}``.
    minimum, maximum
        How many actors there are at least when it runs, and at most.
    unit
        So many actors are started and stopped together, in one placement group (a gang).
    strategy
        How a gang is placed.
    pools
        Where it may run; none: anywhere.
    queue
        Its tenant.
    preemptible
        Whether it may be stopped altogether.
    stop
        Method of an actor that is called before it is stopped; empty: none.
    stop_seconds
        How long that may take, with what the actor was at.
    """

    name: Name
    resources: FrozenMapping[Name, NonNegative]
    minimum: Annotated[int, WholeNumber(1, 1_000_000)] = 1
    maximum: Annotated[int, WholeNumber(1, 1_000_000)]
    unit: Annotated[int, WholeNumber(1, 10_000)] = 1
    strategy: Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"] = "PACK"
    pools: tuple[Name, ...] = ()
    queue: Name | None = None
    preemptible: Flag = True
    stop: Annotated[str, Field(strict=True, max_length=253)] = ""
    stop_seconds: NonNegative = 10


class Report(Value):
    """What a group said of its load.

    Attributes
    ----------
    at
        When, in seconds of the epoch.
    demand
        How many actors it can use.
    busy
        How many were at work, the mean since the report before.
    held
        How many actors it had.
    requests_running, requests_waiting
        Requests being served, and waiting.
    """

    at: Time
    held: NonNegative | None = None
    demand: NonNegative | None = None
    busy: NonNegative | None = None
    requests_running: NonNegative | None = None
    requests_waiting: NonNegative | None = None


class Reports(Value):
    """The latest reports of a group, oldest first."""

    reports: Annotated[tuple[Report, ...], Field(max_length=1000)] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A node: what it has, what of it is free, its labels."""

    id: str
    is_alive: bool
    total: Mapping[str, float]
    free: Mapping[str, float]
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Member:
    """What is started and stopped together: one actor, or a gang of them.

    Attributes
    ----------
    slot
        Its number in the group.
    status
        ``alive``; ``pending``: waits for room or is being started; ``broken``: a part of the gang is gone.
    parts
        Node of every actor there is, by its number in the gang; empty while it has none.
    reserved
        The same of what the placement group of a gang holds, whether its actors are there or not.
    """

    slot: int
    status: Literal["alive", "pending", "broken"]
    parts: Mapping[int, str]
    reserved: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One look at a cluster.

    Attributes
    ----------
    nodes
        All that Ray remembers, gone ones too.
    groups, reports, targets, members
        By name of the group.
    strays
        Groups of which there are members and nothing else.
    bundles
        What was asked of the autoscaler last.
    faults
        What is kept and cannot be read, a sentence each.
    """

    nodes: tuple[Node, ...] = ()
    groups: Mapping[str, Group] = field(default_factory=dict)
    reports: Mapping[str, tuple[Report, ...]] = field(default_factory=dict)
    targets: Mapping[str, int] = field(default_factory=dict)
    members: Mapping[str, tuple[Member, ...]] = field(default_factory=dict)
    strays: tuple[str, ...] = ()
    bundles: str = ""
    faults: tuple[str, ...] = ()


def actor_name(group: str, slot: int, part: int) -> str:
    """Return the name of an actor; its group and place are read from it again by `member_of`.

    Examples
    --------
    >>> actor_name("rollout", 3, 0), member_of("libra:rollout/3.0"), member_of("somebody")
    ('libra:rollout/3.0', ('rollout', 3, 0), None)
    """
    return f"libra:{group}/{slot}.{part}"


def member_of(name: str) -> tuple[str, int, int] | None:
    """Return group, slot and part of an actor of a group, None for any other."""
    found = _ACTOR.fullmatch(name)
    return (found["group"], int(found["slot"]), int(found["part"])) if found else None
