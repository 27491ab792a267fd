"""The best route of a job that may finish within the horizon, at given gains.

How far the job has come matters beside what it holds, so the dynamic program keeps, for every way and every part of the progress that is left, the label of
most value. Labels carry the true progress and value; two that share a part are not told apart, so the answer is a good route and always a true one.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from libra_opt.lookahead.routes import FINISHED, Journey, Route

__all__ = ["best_finishing_route"]

_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
_Indices = npt.NDArray[np.intp]

_MOST_PARTS, _LEAST_PARTS = 64, 8
_LABELS = 400_000
"""About how many labels are compared per period."""


def best_finishing_route(journey: Journey, allowed: Sequence[_Flags]) -> Route:
    """Return a route of much value among the ways that are allowed, per period of shape ``(n + 1,)``; progress beyond what is left is worth nothing."""
    widest = max(len(value) for value in journey.value)
    parts = int(np.clip(_LABELS // widest**2, _LEAST_PARTS, _MOST_PARTS))
    value, made, came = _entered(journey, 0, np.where(allowed[0], -journey.charge[0][0], -np.inf)[:, None], np.zeros((len(allowed[0]), 1)), parts)
    trail = [came]
    ends = [_finished(value, made, journey.left)]
    for t in range(1, len(journey.value)):
        going = np.where(made >= journey.left * (1 - FINISHED), -np.inf, value)
        arrived, came_made, came_from = _moved(journey.charge[t], going, made)
        arrived = np.where(allowed[t][:, None], arrived, -np.inf)
        value, made, slot = _entered(journey, t, arrived, came_made, parts)
        trail.append(np.where(slot >= 0, came_from.ravel()[slot], -1))
        ends.append(_finished(value, made, journey.left))
    ends[-1] = (float(value.max()), int(value.argmax()))
    end = max(range(len(ends)), key=lambda t: (ends[t][0], -t))
    label, width = ends[end][1], parts + 1
    route = [0] * len(journey.value)
    for t in range(end, -1, -1):
        route[t] = label // width
        label = int(trail[t].ravel()[label])
    return tuple(route)


def _moved(charge: _Floats, value: _Floats, made: _Floats) -> tuple[_Floats, _Floats, _Indices]:
    """Return the best value, its progress and its label of those that can come to each way with progress in each part."""
    width = value.shape[1]
    part = np.arange(width)
    if not charge.any():
        best = value.argmax(axis=0)
        n_after = charge.shape[1]
        shape = (n_after, width)
        return np.broadcast_to(value[best, part], shape), np.broadcast_to(made[best, part], shape), np.broadcast_to(best * width + part, shape)
    onward = value[:, None, :] - charge[:, :, None]
    best = onward.argmax(axis=0)
    after = np.arange(charge.shape[1])[:, None]
    return onward[best, after, part], made[best, part], best * width + part


def _entered(journey: Journey, t: int, value: _Floats, made: _Floats, parts: int) -> tuple[_Floats, _Floats, _Indices]:
    """Add a period's service to labels of every way and sort them into parts: value, progress and which label it was, each of shape ``(n + 1, parts + 1)``."""
    step = journey.progress[t][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(step > 0, np.minimum(1.0, (journey.left - made) / step), 1.0)
    gained, come = value + journey.value[t][:, None] * share, made + step
    part = np.minimum(come / journey.left * parts, parts).astype(np.intp)
    part = np.where(come >= journey.left * (1 - FINISHED), parts, np.minimum(part, parts - 1))
    n, width = value.shape[0], parts + 1
    slot = (np.arange(n)[:, None] * width + part).ravel()
    order = np.argsort(gained.ravel(), kind="stable")
    order = order[np.isfinite(gained.ravel()[order])]
    best, progress, label = np.full(n * width, -np.inf), np.zeros(n * width), np.full(n * width, -1, dtype=np.intp)
    best[slot[order]], progress[slot[order]], label[slot[order]] = gained.ravel()[order], come.ravel()[order], order
    return best.reshape(n, width), progress.reshape(n, width), label.reshape(n, width)


def _finished(value: _Floats, made: _Floats, left: float) -> tuple[float, int]:
    """Return the best value of a label that has finished, and that label."""
    done = np.where(made >= left * (1 - FINISHED), value, -np.inf)
    return float(done.max()), int(done.argmax())
