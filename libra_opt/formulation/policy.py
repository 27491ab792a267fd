"""Policies: what one fully served period of a job is worth.

A policy is a small pure function from state to one number per job; the rules stay the same. The first is weighted throughput.
"""

from operator import attrgetter

import numpy as np
import numpy.typing as npt

from libra_opt.domain.ledger import CARDS, Ledger
from libra_opt.domain.state import State
from libra_opt.formulation.tables import Tables

__all__ = ["weighted_throughput", "work"]

_Floats = npt.NDArray[np.float64]


def weighted_throughput(state: State, ledger: Ledger, tables: Tables) -> _Floats:
    """Return weight x priority_base^priority x what a fully served period counts for, per job: its work, or half of it where `rates.cards` is the other half.

    Parameters
    ----------
    state
        Jobs with weights, priorities and rates.
    ledger
        The same state in whole quanta, forecasts entered.
    tables
        The ledger's arrays.

    Returns
    -------
    numpy.ndarray
        Worth of one fully served period, in canonical order, shape ``(n_jobs,)``, never negative; see "Worth" in `models/allocation.md`.
    """
    options, order = state.options, tables.job_order
    weight = np.array([job.weight for job in state.jobs], dtype=np.float64)[order]
    priority = np.array([job.priority for job in state.jobs], dtype=np.float64)[order]
    return np.asarray(weight * options.priority_base**priority * _counted(state, ledger, tables, _mean_cards(state)[order]))


def work(state: State, ledger: Ledger, tables: Tables) -> _Floats:
    """Return the work in one fully served period of every job, its rate or what its demand counts for, in canonical order, shape ``(n_jobs,)``."""
    return _counted(state, ledger, tables, np.full(tables.n_jobs, np.nan))


def _counted(state: State, ledger: Ledger, tables: Tables, mean: _Floats) -> _Floats:
    """Return the same, with half of the cards of a demand and half of the cards of the mean where these are known, shape ``(n_jobs,)``, NaN where not."""
    rate = _rates(state)[tables.job_order]
    return np.where(np.isnan(rate), _work(ledger, tables, mean), rate)


def _rates(state: State) -> _Floats:
    """Return the work per period that every job states, in the order of the state; NaN where it states none."""
    seconds, throughput = state.period.seconds, state.options.throughput
    if throughput == "jobs":
        return np.array([seconds / job.remaining if job.remaining else np.nan for job in state.jobs], dtype=np.float64)
    stated = map(attrgetter(f"rates.{throughput}"), state.jobs)
    return np.array([np.nan if each is None else each for each in stated], dtype=np.float64) * seconds


def _mean_cards(state: State) -> _Floats:
    """Return the cards that every job states to use in the mean over its steps, in the order of the state; NaN where it states none."""
    return np.array([np.nan if each is None else each for each in map(attrgetter("rates.cards"), state.jobs)], dtype=np.float64)


def _work(ledger: Ledger, tables: Tables, mean: _Floats) -> _Floats:
    if tables.n_jobs == 0:
        return np.zeros(0)
    names = [resource.name for resource in ledger.resources]
    first = tables.first_stage[:-1]
    demand = np.add.reduceat(tables.wish, first, axis=0)
    asked = demand + np.add.reduceat(tables.need.astype(np.float64), first, axis=0)
    least = np.add.reduceat(tables.lo.astype(np.float64), first, axis=0)
    total = tables.capacity.astype(np.float64).sum(axis=0)
    cards, scale = np.zeros(tables.n_jobs), 1.0
    if CARDS in names:
        r = names.index(CARDS)
        step = float(ledger.resources[r].step)
        cards = demand[:, r] * step
        scale = total[r] * step or 1.0
    cards = np.where(np.isnan(mean), cards, (cards + mean) / 2)
    return np.where(cards > 0, cards, np.where(asked.any(axis=1), _dominant(asked, total), _dominant(least, total)) * scale)


def _dominant(amounts: _Floats, total: _Floats) -> _Floats:
    present = total > 0
    if not present.any():
        return np.zeros(len(amounts))
    return np.asarray((amounts[:, present] / total[present]).max(axis=1))
