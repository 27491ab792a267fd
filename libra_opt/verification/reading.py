"""Reading a plan: its jobs, stages and amounts against the ledger of the state, in whole quanta; what cannot be read is a fault.

An amount is taken as it parses, never rounded: one that is not a whole number of quanta breaks R8. Forecasts in the plan take the place of
the demand of stages that brought a history, so that the rules are checked against what the plan was made for.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import attrgetter, getitem, mul

from libra_opt.domain import Forecast, Forecasted, Ledger, Plan, PlannedJob, PlannedStage, Resource, StageForecast, State, digest
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.profile import Entry
from libra_opt.domain.quantity import LIMIT, WrittenAmount, parse_ratio
from libra_opt.verification.report import Broken, Rule

__all__ = ["Reading", "Vector", "read", "read_later"]

Vector = tuple[int, ...]


@dataclass(slots=True)
class Reading:
    """A plan in whole quanta, in the order of the state's ledger; indices `j` job, `s` stage (over all jobs), `r` resource.

    Attributes
    ----------
    ledger
        The state's ledger with the plan's forecasts in it.
    cards, memory
        Indices of cards and of card memory among the resources; -1 for one the state does not have.
    job_of
        ``[s]``: the job of a stage.
    planned, job_at
        ``[j]``: the job in the plan and its place there; None and -1 for one that the plan forgets.
    runs
        ``[j]``: whether the plan gives it stages.
    held, pool, stage_at
        ``[s]``: amounts, pool and place in the planned job; None, -1 and -1 for a stage that is not planned (or sits in an unknown pool).
    speed
        ``[s]``: numerator and denominator of the speed in that pool; (1, 1) where the pool is not allowed.
    entry
        R15: the entry that a planned stage with a profile holds.
    misplaced
        Planned stages that do not sit in a pool they allow.
    sound
        ``[j]``: whether the job could be read in full, so that its service can be measured.
    broken
        What was found on the way.
    """

    state: State
    plan: Plan
    ledger: Ledger
    cards: int
    memory: int
    job_of: list[int]
    planned: list[PlannedJob | None]
    job_at: list[int]
    runs: list[bool]
    held: list[Vector | None]
    pool: list[int]
    stage_at: list[int]
    speed: list[tuple[int, int]]
    entry: dict[int, Entry]
    misplaced: list[int]
    sound: list[bool]
    broken: list[Broken]

    def job_path(self, j: int) -> str:
        """Return where the plan speaks of a job."""
        return f"jobs[{self.job_at[j]}]" if self.job_at[j] >= 0 else "jobs"

    def stage_path(self, s: int) -> str:
        """Return where the plan speaks of a stage."""
        return f"{self.job_path(self.job_of[s])}.stages[{self.stage_at[s]}]"

    def amount_path(self, s: int, r: int) -> str:
        """Return where the plan speaks of an amount."""
        return f"{self.stage_path(s)}.resources.{self.ledger.resources[r].name}"

    def stage_name(self, s: int) -> str:
        """Return job and stage as messages name them."""
        j = self.job_of[s]
        name = self.state.jobs[j].stage_names[s - self.ledger.stage_of[j].start]
        return f"job {self.ledger.jobs[j]!r}, stage {name!r}"


def read(state: State, plan: Plan) -> Reading:
    """Read a plan against the state it answers; what is wrong with its form is listed in `Reading.broken`."""
    broken: list[Broken] = []
    amounts = _AmountReader(state.resources, broken)
    ledger, unknown = _with_forecast(state, plan, amounts)
    n_jobs, n_stages = len(ledger.jobs), len(ledger.lo)
    reading = Reading(
        state=state,
        plan=plan,
        ledger=ledger,
        cards=amounts.index.get(CARDS, -1),
        memory=amounts.index.get(CARD_MEMORY, -1),
        job_of=list(range(n_jobs)) if n_stages == n_jobs else [j for j, rows in enumerate(ledger.stage_of) for _ in rows],
        planned=[None] * n_jobs,
        job_at=[-1] * n_jobs,
        runs=[False] * n_jobs,
        held=[None] * n_stages,
        pool=[-1] * n_stages,
        stage_at=[-1] * n_stages,
        speed=[(1, 1)] * n_stages,
        entry={},
        misplaced=[],
        sound=[True] * n_jobs,
        broken=broken,
    )
    for s in unknown:
        reading.sound[reading.job_of[s]] = False
    _read_head(reading)
    _read_jobs(reading, plan.jobs, amounts)
    _list_forgotten(reading)
    return reading


def read_later(reading: Reading, ledger: Ledger, jobs: Sequence[PlannedJob]) -> Reading:
    """Read what jobs are to hold in a later period, against a ledger of that period; its faults are its own."""
    broken: list[Broken] = []
    n_jobs, n_stages = len(ledger.jobs), len(ledger.lo)
    later = replace(
        reading,
        ledger=ledger,
        planned=[None] * n_jobs,
        job_at=[-1] * n_jobs,
        runs=[False] * n_jobs,
        held=[None] * n_stages,
        pool=[-1] * n_stages,
        stage_at=[-1] * n_stages,
        speed=[(1, 1)] * n_stages,
        entry={},
        misplaced=[],
        sound=[True] * n_jobs,
        broken=broken,
    )
    _read_jobs(later, jobs, _AmountReader(reading.state.resources, broken))
    return later


class _Quanta(dict[WrittenAmount, int]):
    """The amounts of one resource that were read so far; looking up one that was not reads it, and raises KeyError where it is no whole number of quanta."""

    def __init__(self, resource: Resource) -> None:
        super().__init__()
        self._unit, (self._up, self._down) = resource.unit, resource.step.as_integer_ratio()

    def __missing__(self, written: WrittenAmount) -> int:
        try:
            p, q = parse_ratio(written, self._unit)
        except ValueError:
            raise KeyError(written) from None
        quanta, rest = divmod(p * self._down, q * self._up)
        if rest or quanta >= LIMIT:
            raise KeyError(written)
        self[written] = quanta
        return quanta


class _AmountReader:
    """Amounts to whole quanta and speeds to pairs of whole numbers, each written form of a resource and each set of pools read once."""

    def __init__(self, resources: tuple[Resource, ...], broken: list[Broken]) -> None:
        self.resources = resources
        self.index = {resource.name: r for r, resource in enumerate(resources)}
        self.names = tuple(self.index)
        self.known = tuple(map(_Quanta, resources))
        self.broken = broken
        self.by_pools: dict[int, dict[int, tuple[int, int]]] = {}

    def speeds(self, allowed: tuple[tuple[int, Fraction], ...]) -> dict[int, tuple[int, int]]:
        """Return numerator and denominator of the speed in every allowed pool; the ledger holds the same set of pools as the same object."""
        known = self.by_pools.get(id(allowed))
        if known is None:
            known = self.by_pools[id(allowed)] = {k: (speed.numerator, speed.denominator) for k, speed in allowed}
        return known

    def plain(self, amounts: Mapping[str, WrittenAmount]) -> Vector | None:
        """Return the amounts in quanta where all resources are named in their order and nothing is wrong with any amount, else None."""
        if tuple(amounts) != self.names:
            return None
        try:
            return tuple(map(getitem, self.known, amounts.values()))
        except KeyError:
            return None

    def vector(self, amounts: Mapping[str, WrittenAmount], where: Callable[[], str], fraction_breaks: Rule) -> Vector | None:
        """Return the amounts in quanta, or None (and list the faults, with where they are) where one of them cannot be read as whole quanta."""
        values, n_before = [0] * len(self.resources), len(self.broken)
        for name, written in amounts.items():
            r = self.index.get(name, -1)
            if r < 0:
                self.broken.append(Broken("format", f"{where()}.{name}", f"unknown resource {name!r}", 1.0))
                continue
            try:
                values[r] = self.known[r][written]
            except KeyError:
                self.broken.append(self._fault(r, written, f"{where()}.{name}", fraction_breaks))
        return tuple(values) if len(self.broken) == n_before else None

    def _fault(self, r: int, written: WrittenAmount, where: str, fraction_breaks: Rule) -> Broken:
        """Return what is wrong with an amount that is no whole number of quanta."""
        resource = self.resources[r]
        try:
            p, q = parse_ratio(written, resource.unit)
            quanta = resource.quanta(written, round_up=False)
        except ValueError as error:
            return Broken("format", where, str(error), 1.0)
        message = f"{written!r} is not a whole number of quanta of {resource.quantum} {resource.unit}"
        return Broken(fraction_breaks, where, message, float(Fraction(p, q) - quanta * resource.step))


def _with_forecast(state: State, plan: Plan, amounts: _AmountReader) -> tuple[Ledger, set[int]]:
    """Return the ledger with the plan's forecasts, and the stages whose demand stays unknown."""
    ledger, broken = state.ledger, amounts.broken
    waiting = set(ledger.uncertain)
    if not waiting and not plan.forecast:
        return ledger, waiting
    rows = zip(ledger.jobs, ledger.stage_of, state.jobs, strict=True)
    row_of = {(job, name): s for job, of_job, asked in rows for s, name in zip(of_job, asked.stage_names, strict=True) if s in waiting}
    found: dict[int, StageForecast] = {}
    for i, entry in enumerate(plan.forecast):
        where = f"forecast[{i}]"
        s = row_of.get((entry.job, entry.stage))
        if s is None:
            broken.append(Broken("format", where, f"job {entry.job!r}, stage {entry.stage!r} has no history to forecast from", 1.0))
        elif s not in waiting:
            broken.append(Broken("format", where, f"job {entry.job!r}, stage {entry.stage!r} is forecast twice", 1.0))
        else:
            waiting.remove(s)
            expected = _forecast(entry, where, ledger.hi[s], amounts)
            if expected is not None:
                found[s] = expected
    for (job, name), s in row_of.items():
        if s in waiting:
            broken.append(Broken("format", "forecast", f"job {job!r}, stage {name!r} brought a history and has no forecast", 1.0))
    return ledger.with_forecast(Forecast(tuple(found.items()))), set(ledger.uncertain) - found.keys()


def _forecast(entry: Forecasted, where: str, hi: Vector, amounts: _AmountReader) -> StageForecast | None:
    demand = amounts.vector(entry.demand, lambda: f"{where}.demand", "format")
    need = amounts.vector(entry.need, lambda: f"{where}.need", "format")
    if demand is None or need is None:
        return None
    for r, resource in enumerate(amounts.resources):
        if (need if resource.compressible else demand)[r]:
            field, kind = ("need", "compressible") if resource.compressible else ("demand", "incompressible")
            amounts.broken.append(Broken("format", f"{where}.{field}.{resource.name}", f"{resource.name} is {kind} and has no {field}", 1.0))
            return None
    ahead = []
    for t, told in enumerate(entry.ahead):
        later = amounts.vector(told.demand, partial("{}.ahead[{}].demand".format, where, t), "format")
        if later is None:
            return None
        ahead.append((tuple(map(mul, later, (resource.compressible for resource in amounts.resources))), told.demand_intensity))
    return StageForecast(demand, tuple(map(min, need, hi)), entry.demand_intensity, entry.method, ahead=tuple(ahead))


def _read_head(reading: Reading) -> None:
    state, plan = reading.state, reading.plan
    expected = digest(state)
    if plan.state_digest != expected:
        reading.broken.append(Broken("format", "state_digest", f"{plan.state_digest} answers another state; this one is {expected}", 1.0))
    if plan.period != state.period:
        reading.broken.append(
            Broken("format", "period", f"period {plan.period.index} is planned, not {state.period.index} as asked, or its length differs", 1.0)
        )


_name_of = attrgetter("name")


def _read_jobs(reading: Reading, jobs: Sequence[PlannedJob], amounts: _AmountReader) -> None:
    ledger, broken, asked = reading.ledger, reading.broken, reading.state.jobs
    planned, job_at, runs, stage_at, stage_of = reading.planned, reading.job_at, reading.runs, reading.stage_at, ledger.stage_of
    index = {job: j for j, job in enumerate(ledger.jobs)}
    pools = {name: k for k, name in enumerate(ledger.pools)}
    for i, entry in enumerate(jobs):
        j = index.get(entry.id)
        if j is None:
            broken.append(Broken("format", f"jobs[{i}].id", f"unknown job {entry.id!r}", 1.0))
        elif planned[j] is not None:
            broken.append(Broken("format", f"jobs[{i}].id", f"job {entry.id!r} is planned twice", 1.0))
        else:
            planned[j], job_at[j] = entry, i
            stages = entry.stages
            if stages:
                runs[j] = True
                if tuple(map(_name_of, stages)) != asked[j].stage_names:
                    _read_stages(reading, j, entry, amounts, pools)
                    continue
                for place, (s, stage) in enumerate(zip(stage_of[j], stages, strict=True)):
                    stage_at[s] = place
                    _read_stage(reading, j, s, stage, amounts, pools)


def _list_forgotten(reading: Reading) -> None:
    for job, planned in zip(reading.ledger.jobs, reading.planned, strict=True):
        if planned is None:
            reading.broken.append(Broken("format", "jobs", f"job {job!r} is missing", 1.0))


def _read_stages(reading: Reading, j: int, job: PlannedJob, amounts: _AmountReader, pools: Mapping[str, int]) -> None:
    """Read the stages of a job that are not just those of the state in their order."""
    names = reading.state.jobs[j].stage_names
    first, stage_at = reading.ledger.stage_of[j].start, reading.stage_at
    for i, stage in enumerate(job.stages):
        place = i if i < len(names) and names[i] == stage.name else names.index(stage.name) if stage.name in names else -1
        if place < 0 or stage_at[first + place] >= 0:
            fault = "unknown to" if place < 0 else "planned twice in"
            reading.broken.append(Broken("format", f"{reading.job_path(j)}.stages[{i}].name", f"stage {stage.name!r} is {fault} job {job.id!r}", 1.0))
            reading.sound[j] = False
            continue
        stage_at[first + place] = i
        _read_stage(reading, j, first + place, stage, amounts, pools)
    if len(job.stages) < len(names):
        _list_missing(reading, j, Counter(stage.name for stage in job.stages))


def _read_stage(reading: Reading, j: int, s: int, stage: PlannedStage, amounts: _AmountReader, pools: Mapping[str, int]) -> None:
    held = amounts.plain(stage.resources)
    if held is None:
        held = amounts.vector(stage.resources, lambda: f"{reading.stage_path(s)}.resources", "R8")
    k = pools.get(stage.pool, -1)
    reading.pool[s] = k
    reading.held[s] = held
    speed = amounts.speeds(reading.ledger.allowed[s]).get(k)
    if speed is None:
        reading.misplaced.append(s)
        reading.sound[j] = False
    else:
        reading.speed[s] = speed
    if held is None:
        reading.sound[j] = False
    elif speed is not None and s in reading.ledger.profiles:
        _read_entry(reading, s, k, held)


def _read_entry(reading: Reading, s: int, k: int, held: Vector) -> None:
    """R15: find the entry of its profile that a stage holds; without one its service is unknown."""
    ledger = reading.ledger
    profile = ledger.profiles[s]
    found = profile.matching(k, held)
    if found is not None:
        reading.entry[s] = found
        return
    names = ", ".join(
        f"{resource.write(amount)} {resource.name}" for resource, amount, is_listed in zip(ledger.resources, held, profile.listed, strict=True) if is_listed
    )
    message = f"{reading.stage_name(s)} holds {names} in pool {ledger.pools[k]!r}, which is no entry of its profile"
    reading.broken.append(Broken("R15", reading.stage_path(s), message, 1.0))
    reading.sound[reading.job_of[s]] = False


def _list_missing(reading: Reading, j: int, given: Counter[str]) -> None:
    for name in reading.state.jobs[j].stage_names:
        if not given[name]:
            message = f"job {reading.ledger.jobs[j]!r} runs without its stage {name!r}; all stages run or none"
            reading.broken.append(Broken("R2", f"{reading.job_path(j)}.stages", message, 1.0))
            reading.sound[j] = False
