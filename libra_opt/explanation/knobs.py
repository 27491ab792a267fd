"""What could be changed for one job: groups of knobs, each a limit of the state with the most that turning it can mean.

Prices and the reason say which are likely, and how much is likely to be enough; whether it is, only solving again shows (see `search`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from libra_opt.domain import Plan, Resource, State
from libra_opt.domain.ledger import CARD_MEMORY, CARDS, Ledger
from libra_opt.domain.quantity import LIMIT, UNLIMITED, exact
from libra_opt.domain.queue_tree import way_up
from libra_opt.explanation.values import Kind, WantedBundle

__all__ = ["Group", "Knob", "groups"]

_MOST_QUANTA = 1 << 50


@dataclass(frozen=True)
class Knob:
    """A limit that can be raised in whole steps.

    Attributes
    ----------
    path
        As `apply` takes it.
    resource
        What is raised; None for seconds.
    most
        So many steps leave nothing for it to limit.
    guess
        So many are likely to be enough; 0 where it is not likely to matter.
    total
        How many steps the cluster has in all, what a step costs is told against it.
    """

    path: str
    resource: Resource | None
    most: int
    guess: int
    total: float

    def setting(self, steps: int) -> str:
        """Return the setting that raises the limit by so many steps: quanta of a resource, milliseconds else."""
        seconds = steps // 1000 if steps % 1000 == 0 else steps / 1000
        return f"{self.path}=+{seconds if self.resource is None else self.resource.write(steps)}"


@dataclass(frozen=True)
class Group:
    """Knobs that are turned together, for one kind of change."""

    kind: Kind
    knobs: tuple[Knob, ...]


def _entries(ledger: Ledger, s: int) -> list[tuple[int, ...]]:
    """Return what the entries of a stage's profile list, if it has one (R15)."""
    profile = ledger.profiles.get(s)
    return [] if profile is None else [entry.amounts for entry in profile.entries]


def groups(state: State, ledger: Ledger, plan: Plan, j: int, wanted: WantedBundle | None) -> tuple[Group, ...]:
    """Return what could be changed for job `j`, in the order of `KINDS`; the last group turns everything together.

    Parameters
    ----------
    ledger
        Of the state, forecasts entered.
    wanted
        What the job would rather have.
    """
    scene = _Scene(state, ledger, plan, j, wanted)
    above = way_up(ledger.parent, ledger.job_queue[j])
    found = [Group("queue_ceiling", tuple(scene.ceilings((q,)))) for q in above]
    if len(above) > 1:
        found.append(Group("queue_ceiling", tuple(scene.ceilings(above))))
    found += [Group("queue_guarantee", tuple(scene.guarantees(q))) for q in above]
    found += [Group("lending_limit", tuple(scene.lendings())), Group("cost_ceiling", tuple(scene.cost_ceiling()))]
    found += [Group("max_quota", tuple(scene.maxima())), Group("preemption_budget", tuple(scene.budget()))]
    pools = [Group("capacity", tuple(scene.capacity((k,)))) for k in scene.pools()]
    if len(pools) > 1 and len(ledger.stage_of[j]) > 1:
        pools.append(Group("capacity", tuple(scene.capacity(scene.pools()))))
    limits = [knob for group in found if group.kind != "queue_guarantee" for knob in group.knobs]
    every = list({knob.path: knob for knob in limits}.values())
    every += scene.capacity(scene.pools())
    return tuple(group for group in (*found, *pools, Group("several", tuple(every))) if group.knobs)


@dataclass(frozen=True)
class _Scene:
    """One job in its cluster, and who uses how much of what under the plan."""

    state: State
    ledger: Ledger
    plan: Plan
    j: int
    wanted: WantedBundle | None

    def pools(self) -> list[int]:
        """Return the pools that some stage of the job may sit in."""
        return sorted({k for s in self.ledger.stage_of[self.j] for k, _ in self.ledger.allowed[s]})

    def resources(self) -> list[int]:
        """Return the resources that the job uses at all."""
        ledger = self.ledger
        rows = [(ledger.lo[s], ledger.need[s], ledger.demand[s], *_entries(ledger, s)) for s in ledger.stage_of[self.j]]
        used = {r for row in rows for amounts in row for r, amount in enumerate(amounts) if amount}
        names = [resource.name for resource in ledger.resources]
        if CARDS in names and CARD_MEMORY in names and names.index(CARD_MEMORY) in used and any(ledger.card_ratio):
            used.add(names.index(CARDS))
        return sorted(used)

    def ceilings(self, queues: Sequence[int]) -> Iterator[Knob]:
        """Yield the borrowing limits of some queues on the way up from the job."""
        for q in queues:
            for r in self.resources():
                if self.ledger.ceiling[q][r] < UNLIMITED:
                    lacks = self._wish(None, r) - (self.ledger.ceiling[q][r] - self._used_by(q, r))
                    yield self._knob(f"queues.{self.ledger.queues[q]}.borrowing_limit", r, lacks)

    def guarantees(self, q: int) -> Iterator[Knob]:
        """Yield the nominal quotas of a queue on the way up from the job."""
        for r in self.resources():
            yield self._knob(f"queues.{self.ledger.queues[q]}.nominal_quota", r, self._wish(None, r))

    def lendings(self) -> Iterator[Knob]:
        """Yield the lending limits of other queues that keep something back."""
        for q, queue in enumerate(self.state.queues):
            for r in self.resources():
                kept = self.ledger.reserved[q][r]
                if kept and q != self.ledger.job_queue[self.j] and queue.lending_limit is not None:
                    path = f"queues.{queue.name}.lending_limit.{self.ledger.resources[r].name}"
                    yield Knob(path, self.ledger.resources[r], kept, min(kept, max(1, self._wish(None, r))), self._total(r))

    def maxima(self) -> Iterator[Knob]:
        """Yield the maxima of the job's stages."""
        job = self.state.jobs[self.j]
        for s, name in zip(self.ledger.stage_of[self.j], job.stage_names, strict=True):
            place = f"jobs.{job.id}" if job.is_shorthand else f"jobs.{job.id}.stages.{name}"
            unit = self.ledger.unit[s]
            for r in self.resources():
                if self.ledger.hi[s][r] < UNLIMITED:
                    step = self.ledger.resources[r]
                    most = -(-self._most_of(s, r) // unit[r])
                    if unit[r] == 1:
                        yield Knob(f"{place}.max_quota.{step.name}", step, most, 1, self._total(r))
                    else:
                        yield _UnitKnob(f"{place}.max_quota.{step.name}", step, most, 1, self._total(r) / unit[r], unit[r])

    def budget(self) -> Iterator[Knob]:
        """Yield the preemption budget, in milliseconds."""
        ledger, state = self.ledger, self.state
        if state.options.preemption_budget_seconds is None:
            return
        most = sum(
            max(e, len(rows) * max(m, *resize))
            for e, m, resize, rows in zip(ledger.evict_ms, ledger.migrate_ms, ledger.resize_ms, ledger.stage_of, strict=True)
        )
        spent = sum(ledger.running) or 1
        charges = [*ledger.evict_ms, *ledger.migrate_ms, *(charge for row in ledger.resize_ms for charge in row)]
        budget = round(exact(state.options.preemption_budget_seconds) * 1000)
        step = gcd(budget, *charges) or 1  # all sums of charges, and what is missing to one, are whole multiples
        guess = self._priced("preemption_budget") if self.plan.jobs[self.j].reason.code == "preemption_budget" else 0.0
        steps = max(1, most // step)
        whole = 1000 * state.period.seconds * spent / step
        yield _UnitKnob("options.preemption_budget_seconds", None, steps, min(steps, int(1000 * guess) // step), whole, step)

    def cost_ceiling(self) -> Iterator[Knob]:
        """Yield the cost ceiling, in the amounts of money that all prices are multiples of."""
        cost, ledger = self.ledger.cost, self.ledger
        if cost is None or not any(map(any, cost.price)):
            return
        spent = cost.of((k, [self._used_in(k, r) for r in range(ledger.n_resources)]) for k in range(len(ledger.pools)))
        dearest = cost.of(enumerate(ledger.capacity))
        wished, held = (
            sum(cost.of([(ledger.pools.index(stage.pool), [self._held(stage.resources, r) for r in range(ledger.n_resources)])]) for stage in stages)
            for stages in (self.wanted.stages if self.wanted else (), self.plan.jobs[self.j].stages)
        )
        if self.wanted is None:
            least = [sum(max(ledger.lo[s][r], ledger.need[s][r]) for s in ledger.stage_of[self.j]) for r in range(ledger.n_resources)]
            wished = min(cost.of([(k, least)]) for k in range(len(ledger.pools)))
        lacks = wished - held - (min(cost.ceiling, dearest) - spent)
        most, rest = max(1, dearest - cost.ceiling), exact(self.state.options.cost_ceiling or 0) % cost.unit
        if most > 1 or cost.ceiling < dearest:
            yield _MoneyKnob("options.cost_ceiling", None, most, min(max(0, lacks), most), float(dearest) or 1.0, cost.unit, rest)

    def _priced(self, kind: str) -> float:
        """Return how much of a limit what the job would rather have takes beyond what it has, 0 where that is not known."""
        return sum(part.amount for part in self.wanted.parts if part.kind == kind) if self.wanted else 0.0

    def capacity(self, pools: Sequence[int]) -> list[Knob]:
        """Return the capacities of some pools."""
        found = []
        for k in pools:
            for r in self.resources():
                left = self.ledger.capacity[k][r] - self._used_in(k, r)
                found.append(self._knob(f"pools.{self.ledger.pools[k]}.capacity", r, self._wish(k, r) - left))
        return found

    def _knob(self, path: str, r: int, lacks: int) -> Knob:
        resource = self.ledger.resources[r]
        most = min(_MOST_QUANTA, sum(self._most_of(s, r) for s in range(len(self.ledger.lo))), LIMIT - 1 - sum(row[r] for row in self.ledger.capacity))
        return Knob(f"{path}.{resource.name}", resource, max(1, most), min(max(0, lacks), max(1, most)), self._total(r))

    def _total(self, r: int) -> float:
        return float(sum(row[r] for row in self.ledger.capacity)) or 1.0

    def _most_of(self, s: int, r: int) -> int:
        """Return more than stage `s` can use of resource `r`, whatever its maximum."""
        ledger = self.ledger
        slowest = min((speed for _, speed in ledger.allowed[s]), default=1)
        level = max(ledger.intensity[s], default=1.0) * (float(ledger.curve[s][-1][0]) if ledger.curve[s] else 1.0)  # type: ignore[index]
        used = max(ledger.lo[s][r], ledger.need[s][r], int(ledger.demand[s][r] * level / float(slowest)) + 1, *(amounts[r] for amounts in _entries(ledger, s)))
        if ledger.resources[r].name == CARDS and any(ledger.card_ratio):
            memory = [resource.name for resource in ledger.resources].index(CARD_MEMORY)
            held = max(ledger.lo[s][memory], ledger.need[s][memory])
            used = max(used, *(-(-held * ratio[1] // ratio[0]) for ratio in ledger.card_ratio if ratio is not None and ratio[0]), 0)
        if s in ledger.profiles:
            used = max(used, *(entry.amounts[r] for entry in ledger.profiles[s].entries))
        return used + ledger.unit[s][r]

    def _wish(self, k: int | None, r: int) -> int:
        """Return what the job would rather have beyond what it gets, in pool `k` or in all; without prices, its least."""
        ledger = self.ledger
        resource = ledger.resources[r]
        if self.wanted is None:
            return max((max(ledger.lo[s][r], ledger.need[s][r]) for s in ledger.stage_of[self.j]), default=0)
        pool = None if k is None else ledger.pools[k]
        wished, held = (
            sum(resource.quanta(stage.resources.get(resource.name, 0), round_up=False) for stage in stages if pool in (None, stage.pool))
            for stages in (self.wanted.stages, self.plan.jobs[self.j].stages)
        )
        return wished - held

    def _used_in(self, k: int, r: int) -> int:
        name = self.ledger.pools[k]
        return sum(self._held(stage.resources, r) for job in self.plan.jobs for stage in job.stages if stage.pool == name)

    def _used_by(self, q: int, r: int) -> int:
        jobs = [job for job, queue in zip(self.plan.jobs, self.ledger.job_queue, strict=True) if q in way_up(self.ledger.parent, queue)]
        return sum(self._held(stage.resources, r) for job in jobs for stage in job.stages)

    def _held(self, amounts: object, r: int) -> int:
        resource = self.ledger.resources[r]
        return resource.quanta(amounts.get(resource.name, 0), round_up=False)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class _UnitKnob(Knob):
    """A limit that only whole units of several quanta or milliseconds may raise."""

    unit: int

    def setting(self, steps: int) -> str:
        """Return the setting that raises the limit by so many units."""
        return super().setting(steps * self.unit)


@dataclass(frozen=True)
class _MoneyKnob(Knob):
    """A limit in money; `unit` is one step of it, and `rest` what is stated above a whole number of them."""

    unit: Fraction
    rest: Fraction

    def setting(self, steps: int) -> str:
        """Return the setting that raises the limit by so many steps."""
        money = steps * self.unit - self.rest
        return f"{self.path}=+{money.numerator if money.denominator == 1 else repr(float(money))}"
