"""HiGHS as a mixed-integer solver, called directly through SciPy, on any form in neutral arrays."""

from collections.abc import Callable
from time import perf_counter

import numpy as np
import numpy.typing as npt

from libra_opt.benchmark.peers.direct_form import DirectForm
from libra_opt.benchmark.peers.peer import relative_gap
from libra_opt.benchmark.results import PeerMeasurement

__all__ = ["solve_mixed"]

_Floats = npt.NDArray[np.float64]


def solve_mixed(form: DirectForm, gap: float, seconds: float, build_seconds: float = 0.0, check: Callable[[_Floats], str] = lambda _: "") -> PeerMeasurement:
    """Return what HiGHS makes of a form.

    Parameters
    ----------
    gap
        Relative gap at which it may stop, measured without the form's constant.
    seconds
        Limit on wall clock.
    build_seconds
        Handed through to the measurement.
    check
        Is given the columns of the plan found and says what is wrong with it, if anything.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

    if not len(form.gain):
        return PeerMeasurement(
            build_seconds=build_seconds, solve_seconds=0.0, status="nothing to decide", objective=0.0, bound=0.0, gap=0.0, is_within_gap=True
        )
    start = perf_counter()
    found = milp(
        -form.gain,
        integrality=form.is_whole.astype(np.int64),
        bounds=Bounds(form.lower, form.upper),
        constraints=LinearConstraint(form.matrix, form.low, form.high),
        options={"time_limit": max(0.1, seconds), "mip_rel_gap": gap},
    )
    solve_seconds = perf_counter() - start
    objective = None if found.x is None else float(form.gain @ found.x) + form.constant
    is_bound = found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound)
    bound = -float(found.mip_dual_bound) + form.constant if is_bound else None
    proven = relative_gap(objective, bound)
    return PeerMeasurement(
        build_seconds=build_seconds,
        solve_seconds=solve_seconds,
        status={0: "within gap", 1: "time limit", 2: "infeasible", 3: "unbounded"}.get(found.status, "no answer"),
        objective=objective,
        bound=bound,
        gap=proven,
        is_within_gap=proven is not None and proven <= gap + 1e-9,
        is_cut=found.status == 1,
        note="" if found.x is None else check(found.x),
    )
