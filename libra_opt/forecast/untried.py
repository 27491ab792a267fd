"""Untried: a stage that stands at the beginning of a phase that it waits for, and never was in before.

What it used until then says nothing of that phase, and little was used while the phase before came to its end: planned by that, a job that is about to train
for the first time is worth nothing, and would be stopped for it. Nobody knows better than its max quota what it can use then.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from libra_opt.domain.ledger import Ledger
from libra_opt.domain.quantity import UNLIMITED
from libra_opt.forecast.method import Outlook
from libra_opt.forecast.observations import Observations
from libra_opt.forecast.phases import phases_of

__all__ = ["untried", "with_untried"]


def untried(observations: Observations, ledger: Ledger, rows: Sequence[int]) -> NDArray[np.bool_]:
    """Tell what is taken from the max quota, not from the history.

    That is every compressible resource with a maximum, of the stages that stand at the beginning of a phase they wait for of which nothing was ever measured.
    What was measured in a period at whose end nothing of the phase was done (`progress` 0) is the phase before's.

    Parameters
    ----------
    rows
        Which stages of the ledger the observations are of.

    Returns
    -------
    numpy.ndarray
        Shape ``(n_stages, n_resources)``.
    """
    signals, waits = observations.signals, observations.waits
    if signals is None or waits is None:
        return np.zeros((len(rows), len(observations.compressible)), dtype=np.bool_)
    phases = phases_of(signals.step, signals.phase)
    n_periods = phases.phase.shape[1]
    told = np.where(signals.phase >= 0, np.arange(n_periods), -1).max(axis=1)
    at = np.arange(len(told)), np.maximum(told, 0)
    stands = (told >= 0) & waits[at] & (signals.progress[at] <= 0)
    here = (phases.phase == phases.phase[:, -1:]) & ~(signals.progress <= 0)
    is_new = stands & ~(here & observations.known.any(axis=2)).any(axis=1)
    return np.asarray(is_new[:, None] & observations.compressible & (_most(ledger, rows) < UNLIMITED))


def with_untried(outlook: Outlook, raised: NDArray[np.bool_], ledger: Ledger, rows: Sequence[int]) -> Outlook:
    """Return an outlook in which stages can surely use all that they may have, and that there is, of what is taken from the max quota.

    A maximum beyond what the cluster has is not taken for a demand, as a job that could use a thousand times what there is would be worth too much to be moved
    at all.

    Parameters
    ----------
    raised
        Shape ``(n_stages, n_resources)``: what is taken from the max quota (`untried`).
    rows
        Which stages of the ledger the outlook is of.
    """
    if not raised.any():
        return outlook
    most = _most(ledger, rows)
    there = np.array([min(UNLIMITED, sum(held)) for held in zip(*ledger.capacity, strict=True)] or [0] * most.shape[1], dtype=np.int64)
    is_told = raised.any(axis=1, keepdims=True)
    periods = [(outlook.demand, outlook.intensity), *outlook.ahead]
    told = [(np.where(raised, np.minimum(most, np.maximum(demand, there)), demand), np.where(is_told, 1.0, intensity)) for demand, intensity in periods]
    (demand, intensity), *ahead = told
    return Outlook(demand, intensity, outlook.leading, tuple(ahead))


def _most(ledger: Ledger, rows: Sequence[int]) -> NDArray[np.int64]:
    """Return the maxima of stages in quanta, shape ``(n_stages, n_resources)``; `UNLIMITED` where there is none."""
    return np.array([ledger.hi[s] for s in rows], dtype=np.int64)
