"""Choices in a program made from a seed, and what they mean: the jobs' services, amounts and charges in plain numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import numpy.typing as npt

from libra_opt.domain import State
from libra_opt.formulation.encode import encode
from libra_opt.formulation.program import Choice, Program
from tests.formulation.made import state
from tests.oracle import enumerate as rules

__all__ = ["Meaning", "choices", "in_pools", "in_queues", "meaning", "program", "program_of"]


@dataclass(frozen=True)
class Meaning:
    """One job under a choice: its index in the state, whether it runs, its service, its stages' pools and amounts, its charges and moved stages."""

    job: int
    runs: bool
    service: float
    held: tuple[tuple[int, int, tuple[int, ...]], ...]
    ms: int
    moves: int


def program(seed: int, most_cells: int | None = None) -> Program:
    """Return the program of the state of a seed, made anew."""
    return program_of(state(seed), most_cells)


def program_of(asked: State, most_cells: int | None = None) -> Program:
    """Return the program of a state."""
    return encode(asked, asked.ledger, most_cells)


def choices(made: Program, seed: int, n: int = 4) -> Iterator[Choice]:
    """Yield some choices: every job waits, or runs at some level with some cell for every stage."""
    dice = Random(seed)
    bundles = made.bundles
    for _ in range(n):
        choice = made.nothing
        for job in range(made.n_jobs):
            first, last = int(bundles.first_level[job]), int(bundles.first_level[job + 1])
            if first < last and dice.random() < 0.8:
                level = dice.randrange(first, last)
                for stage, slot in enumerate(range(bundles.first_slot[level], bundles.first_slot[level + 1]), start=int(made.first_stage[job])):
                    choice[stage] = dice.randrange(bundles.first_cell[slot], bundles.first_cell[slot + 1])
        yield choice


def meaning(asked: State, made: Program, choice: Choice) -> list[Meaning]:
    """Read a choice cell by cell, in the order of the program's jobs."""
    ledger, bundles = asked.ledger, made.bundles
    level_of = _levels(tuple(bundles.first_slot.tolist()), tuple(bundles.first_cell.tolist()))
    found = []
    for job, j in enumerate(made.tables.job_order.tolist()):
        stages = list(ledger.stage_of[j])
        cells = choice[made.tables.first_stage[job] : made.tables.first_stage[job + 1]].tolist()
        assert len(cells) == len(stages)
        if cells[0] < 0:
            holding = sum(ledger.current[s] is not None for s in stages)
            found.append(Meaning(j, runs=False, service=0.0, held=(), ms=ledger.evict_ms[j] if ledger.running[j] else 0, moves=holding))
            continue
        [level] = {level_of[cell] for cell in cells}
        held = tuple((s, int(made.ways.pool[bundles.way[cell]]), tuple(bundles.amount[cell].tolist())) for s, cell in zip(stages, cells, strict=True))
        ms = sum(rules._paid(ledger, j, s, rules.Held(k, amounts, Fraction(0))) for s, k, amounts in held)
        moves = 0
        for s, k, amounts in held:
            current = ledger.current[s]
            costly = [resource.costly or not resource.compressible for resource in ledger.resources]
            moves += current is not None and (k != ledger.current_pool[s] or any(c and x != y for c, x, y in zip(costly, current, amounts, strict=True)))
        found.append(Meaning(j, runs=True, service=float(bundles.service[level]), held=held, ms=ms, moves=moves))
    return found


@cache
def _levels(first_slot: tuple[int, ...], first_cell: tuple[int, ...]) -> dict[int, int]:
    return {
        cell: level
        for level in range(len(first_slot) - 1)
        for slot in range(first_slot[level], first_slot[level + 1])
        for cell in range(first_cell[slot], first_cell[slot + 1])
    }


def in_pools(asked: State, meanings: list[Meaning]) -> npt.NDArray[np.float64]:
    """Quanta that jobs use together, shape (n_pools, n_resources)."""
    used = np.zeros((len(asked.ledger.pools), asked.ledger.n_resources))
    for job in meanings:
        for _, k, amounts in job.held:
            used[k] += amounts
    return used


def in_queues(asked: State, meanings: list[Meaning]) -> npt.NDArray[np.float64]:
    """Quanta that the jobs of each queue use together, the last row for jobs outside every queue."""
    used = np.zeros((len(asked.ledger.queues) + 1, asked.ledger.n_resources))
    for job in meanings:
        for _, _, amounts in job.held:
            used[asked.ledger.job_queue[job.job]] += amounts
    return used
