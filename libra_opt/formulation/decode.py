"""From a choice back to a plan: amounts, spare, actions and reasons in the order of the state, the tiers they reach, and the shares in use."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.ledger import Ledger
from libra_opt.domain.plan import Action, PlannedJob, PlannedStage
from libra_opt.domain.state import State
from libra_opt.formulation.bundles import SERVICE_TOLERANCE, least_amounts
from libra_opt.formulation.program import Choice, Program, Score
from libra_opt.formulation.reasons import explain
from libra_opt.formulation.spare import share_spare

__all__ = ["Decoded", "decode"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Decoded:
    """What a choice means outside the program: planned jobs in the order of the state, the tiers they reach, and shares of capacity in use."""

    jobs: tuple[PlannedJob, ...]
    score: Score
    utilisation: dict[str, dict[str, float]]


def decode(state: State, ledger: Ledger, program: Program, choice: Choice) -> Decoded:
    """Return the plan that `choice` stands for, its spare handed out where the options say so."""
    tables = program.tables
    choice = _without_empty_admissions(program, choice)
    cells = choice[choice >= 0]
    way = program.bundles.way[cells]
    stage, pool = program.ways.stage[way], program.ways.pool[way]
    row_of = tables.stage[stage]
    amount = program.bundles.amount[cells]
    if state.options.spare:
        amount = share_spare(ledger, row_of, pool, amount)
    runs = program.runs(choice)
    service = _service(program, runs, way, amount)
    first = np.cumsum(np.append(0, np.where(runs, np.diff(program.first_stage), 0)))
    actions = [_action(ledger, int(j), bool(runs[i]), row_of[first[i] : first[i + 1]], pool, amount, int(first[i])) for i, j in enumerate(program.job_order)]
    reasons = explain(ledger, program, choice, actions, service)
    jobs: list[PlannedJob | None] = [None] * program.n_jobs
    names = [resource.name for resource in ledger.resources]
    rows, pools = amount.tolist(), pool.tolist()
    for i, j in enumerate(program.job_order.tolist()):
        job = state.jobs[j]
        stages = tuple(
            PlannedStage(
                name=source.name,
                pool=ledger.pools[pools[row]],
                resources=Amounts({name: resource.write(n) for name, resource, n in zip(names, ledger.resources, rows[row], strict=True)}),
            )
            for row, source in zip(range(first[i], first[i + 1]), job.all_stages, strict=False)
        )
        jobs[j] = PlannedJob(id=job.id, action=actions[i], service=float(service[i]), stages=stages, reason=reasons[i])
    score = _score(program, choice, service, way)
    return Decoded(tuple(job for job in jobs if job is not None), score, _utilisation(ledger, pool, amount))


def _without_empty_admissions(program: Program, choice: Choice) -> Choice:
    """Let a job wait that would be admitted to hold nothing and be served nothing; no tier knows the difference."""
    runs, level = program.runs(choice), program.level(choice)
    if not runs.any():
        return choice
    held = np.append(program.amount.any(axis=1), False)[choice]
    empty = runs & ~np.logical_or.reduceat(held, program.first_stage[:-1]) & (program.n_wait_moves == 0)
    empty &= program.bundles.service[level] <= SERVICE_TOLERANCE
    return np.where(empty[program.tables.stage_job], -1, choice)


def _service(program: Program, runs: npt.NDArray[np.bool_], way: _Indices, amount: _Ints) -> _Floats:
    """R5 to R7: return the service of every job from what its stages hold."""
    stage = program.ways.stage[way]
    curves, demand = program.curves, program.tables.demand[stage]
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.where(demand > 0, program.ways.speed[way, None] * amount / demand, np.inf).min(axis=1, initial=np.inf)
    stage_service = curves.at(stage, np.minimum(level, curves.top[stage]))
    service = np.where(runs, np.inf, 0.0)
    owner = np.repeat(np.arange(program.n_jobs), np.where(runs, np.diff(program.first_stage), 0))
    np.minimum.at(service, owner, stage_service)
    return service


def _action(ledger: Ledger, job: int, is_run: bool, stage: _Indices, pool: _Indices, amount: _Ints, first: int) -> Action:  # noqa: FBT001
    if not ledger.running[job]:
        return "admit" if is_run else "queue"
    if not is_run:
        return "evict"
    grows = shrinks = False
    for row, s in enumerate(stage.tolist(), start=first):
        held = ledger.current[s]
        if held is not None and ledger.current_pool[s] != pool[row]:
            return "migrate"
        for new, old in zip(amount[row].tolist(), held or (0,) * ledger.n_resources, strict=True):
            grows |= new > old
            shrinks |= new < old
    if grows:
        return "reshape" if shrinks else "grow"
    return "shrink" if shrinks else "keep"


def _score(program: Program, choice: Choice, service: _Floats, way: _Indices) -> Score:
    """Return the tiers at the final services; the spare itself does not count towards guarantees."""
    plain = program.score(choice)
    runs, cells = program.runs(choice), choice[choice >= 0]
    value = float((program.worth * service - np.where(runs, 0.0, program.wait_ms) * program.per_ms).sum())
    value -= float((program.per_ms[program.cell_job[cells]] * program.cell_ms[cells]).sum())
    shortfall = plain.shortfall
    if shortfall > 0:
        owner = program.cell_job[cells]
        least = least_amounts(program.tables, program.ways, way, program.curves.pace(program.ways.stage[way], service[owner]))
        used = np.zeros_like(program.shared.floor)
        np.add.at(used, program.queue[owner], np.maximum(least, program.bundles.amount[cells]) / program.scale)
        shortfall = float((np.maximum(0.0, program.shared.floor - used) / program.shared.nominal).sum())
    return Score(plain.lost, plain.over_seconds, shortfall, value, float((program.worth * service**2).sum()), plain.moves)


def _utilisation(ledger: Ledger, pool: _Indices, amount: _Ints) -> dict[str, dict[str, float]]:
    shares: dict[str, dict[str, float]] = {}
    for k, name in enumerate(ledger.pools):
        used = amount[pool == k].sum(axis=0).tolist() if len(pool) else [0] * ledger.n_resources
        shares[name] = {resource.name: used[r] / ledger.capacity[k][r] for r, resource in enumerate(ledger.resources) if ledger.capacity[k][r]}
    return shares
