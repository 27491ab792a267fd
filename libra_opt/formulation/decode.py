"""From a choice back to a plan: amounts, spare, actions and reasons in the order of the state, the tiers they reach, and the shares in use."""

from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import Action, PlannedJob, PlannedStage
from libra_opt.domain.state import State
from libra_opt.domain.trusted import maker
from libra_opt.formulation.bundles import SERVICE_TOLERANCE, least_amounts
from libra_opt.formulation.program import Choice, Program, Score
from libra_opt.formulation.reasons import explain
from libra_opt.formulation.settle import settled
from libra_opt.formulation.spare import share_spare
from libra_opt.formulation.tables import Tables
from libra_opt.formulation.wanted import Valued
from libra_opt.formulation.written import Written

__all__ = ["Decoded", "decode"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Decoded:
    """What a choice means outside the program.

    Attributes
    ----------
    jobs
        In the order of the state.
    score
        The tiers they reach.
    service
        Of every job, in canonical order, shape ``(n_jobs,)``.
    utilisation
        Shares of capacity in use, by pool and resource.
    cost_per_hour
        What all costs for one hour, where the cost is limited (R16).
    """

    jobs: tuple[PlannedJob, ...]
    score: Score
    service: _Floats
    utilisation: dict[str, dict[str, float]]
    cost_per_hour: float | None = None


def decode(state: State, ledger: Ledger, program: Program, choice: Choice, valued: Valued | None = None) -> Decoded:
    """Return the plan that `choice` stands for, its spare handed out where the options say so; with prices, reasons say what jobs would rather have."""
    tables = program.tables
    choice = _without_empty_admissions(program, choice)
    cells = choice[choice >= 0]
    way = program.bundles.way[cells]
    stage, pool = program.ways.stage[way], program.ways.pool[way]
    amount, charge_ms = program.bundles.amount[cells], program.cell_ms[cells]
    runs = program.runs(choice)
    amount, charge_ms = settled(ledger, program, way, amount, _service(program, runs, way, amount), charge_ms)
    least = amount
    if state.options.spare:
        amount = share_spare(ledger, tables, stage, pool, amount)
    service = _service(program, runs, way, amount)
    actions = _actions(tables, runs, stage, pool, amount)
    written = Written(ledger.resources)
    reasons = explain(ledger, program, choice, actions, service, written, valued)
    order, stage_made, job_made = program.job_order.tolist(), maker(PlannedStage), maker(PlannedJob)
    names = chain.from_iterable(state.jobs[order[j]].stage_names for j in np.flatnonzero(runs).tolist())
    placed = [
        stage_made({"name": name, "pool": ledger.pools[k], "resources": resources})
        for name, k, resources in zip(names, pool.tolist(), written.rows(amount), strict=True)
    ]
    first = np.append(0, np.cumsum(np.where(runs, np.diff(program.first_stage), 0))).tolist()
    jobs = [
        job_made({"id": ledger.jobs[j], "action": action, "service": share, "stages": tuple(placed[begin:end]), "reason": reason})
        for j, action, share, (begin, end), reason in zip(order, actions, service.tolist(), pairwise(first), reasons, strict=True)
    ]
    score = _score(program, choice, service, way, least, charge_ms)
    in_order = tuple(map(jobs.__getitem__, np.argsort(program.job_order).tolist()))
    return Decoded(in_order, score, service, _utilisation(ledger, pool, amount), _cost(ledger, pool, amount))


def _without_empty_admissions(program: Program, choice: Choice) -> Choice:
    """Let a job wait that would be admitted to hold nothing and be served nothing; no tier knows the difference."""
    runs, level = program.runs(choice), program.level(choice)
    if not runs.any():
        return choice
    held = np.append(program.amount.any(axis=1), False)[choice]
    empty = runs & ~np.logical_or.reduceat(held, program.first_stage[:-1]) & (program.n_wait_moves == 0)
    empty &= program.bundles.service[level] <= SERVICE_TOLERANCE
    return np.where(empty[program.tables.stage_job], -1, choice)


def _service(program: Program, runs: _Flags, way: _Indices, amount: _Ints) -> _Floats:
    """R5 to R7, R15: return the service of every job from what its stages hold."""
    stage = program.ways.stage[way]
    curves, demand = program.curves, program.tables.demand[stage]
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.where(demand > 0, program.ways.speed[way, None] * amount / demand, np.inf).min(axis=1, initial=np.inf)
    stage_service = curves.at(stage, np.minimum(level, curves.top[stage]))
    if program.ways.serves is not None:
        stage_service = np.minimum(stage_service, program.ways.serves[way])
    service = np.where(runs, np.inf, 0.0)
    owner = np.repeat(np.arange(program.n_jobs), np.where(runs, np.diff(program.first_stage), 0))
    np.minimum.at(service, owner, stage_service)
    return service


def _actions(tables: Tables, runs: _Flags, stage: _Indices, pool: _Indices, amount: _Ints) -> list[Action]:
    """Return what the plan does to every job, in canonical order; `stage`, `pool` and `amount` are of the stages that run."""
    job = tables.stage_job[stage]
    moves, grows, shrinks = (
        np.bincount(job[is_so], minlength=tables.n_jobs) > 0
        for is_so in (
            tables.holds[stage] & (tables.here[stage] != pool),
            (amount > tables.held[stage]).any(axis=1),
            (amount < tables.held[stage]).any(axis=1),
        )
    )
    stays = runs & tables.running & ~moves
    done: list[Action] = ["queue", "admit", "evict", "migrate", "keep", "grow", "shrink", "reshape"]
    codes = np.where(tables.running, np.where(runs, 3, 2), np.where(runs, 1, 0))
    codes = np.where(stays, 4 + grows + 2 * shrinks, codes)
    return [done[code] for code in codes.tolist()]


def _score(program: Program, choice: Choice, service: _Floats, way: _Indices, amount: _Ints, charge_ms: _Floats) -> Score:
    """Return the tiers at the final services, given amounts before the spare, which does not count towards guarantees, and charges."""
    plain = program.score(choice)
    runs, cells = program.runs(choice), choice[choice >= 0]
    value = float((program.utility.at(np.arange(program.n_jobs), service) - np.where(runs, 0.0, program.wait_ms) * program.per_ms).sum())
    value -= float((program.per_ms[program.cell_job[cells]] * charge_ms).sum())
    ms = float(charge_ms.sum() + program.wait_ms[~runs].sum())
    over = max(0.0, ms - program.shared.budget_ms) / 1000
    shortfall = plain.shortfall
    if shortfall > 0 or not program.is_exact or not np.array_equal(amount, program.bundles.amount[cells]):
        owner = program.cell_job[cells]
        least = least_amounts(program.tables, program.ways, way, program.curves.pace(program.ways.stage[way], service[owner]))
        used = np.zeros_like(program.limits.floor)
        np.add.at(used, program.queue[owner], np.maximum(least, amount))
        used = program.limits.forest.gathered(used)
        shortfall = float((np.maximum(0.0, program.limits.floor - used) / program.limits.nominal).sum())
    return replace(plain, over_seconds=over, shortfall=shortfall, value=value, unevenness=float((program.worth * service**2).sum()))


def _cost(ledger: Ledger, pool: _Indices, amount: _Ints) -> float | None:
    """R16: return what all costs for one hour, where the cost is limited."""
    cost = ledger.cost
    return None if cost is None else float(cost.of(zip(pool.tolist(), amount.tolist(), strict=True)) * cost.unit)


def _utilisation(ledger: Ledger, pool: _Indices, amount: _Ints) -> dict[str, dict[str, float]]:
    used = np.zeros((len(ledger.pools), ledger.n_resources), dtype=np.int64)
    np.add.at(used, pool, amount)
    return {
        name: {resource.name: part / whole for resource, part, whole in zip(ledger.resources, held, capacity, strict=True) if whole}
        for name, held, capacity in zip(ledger.pools, used.tolist(), ledger.capacity, strict=True)
    }
