"""The bundled program in a file format that other solvers read: LP or MPS, written by OR-Tools' model builder.

With `cp_sat` this is the only door to OR-Tools. Tiers 1 to 3 enter the objective with penalties, as in the relaxation.
"""

from typing import Literal

import numpy as np

from libra_opt.domain.state import State
from libra_opt.errors import EffortError
from libra_opt.forecast import forecast
from libra_opt.formulation.encode import encode
from libra_opt.solvers.relaxation import relax

__all__ = ["export_model"]

_MOST_CELLS = 300_000


def export_model(state: State, format: Literal["lp", "mps"]) -> str:  # noqa: A002 - the word of the command line
    """Return the program of a state as text.

    Columns named ``level_*`` and ``cell_*`` are yes or no: level i of the program's list, and cell i where a stage has a choice at a level.

    Raises
    ------
    EffortError
        The whole grid of levels is too large to write; export a smaller state, or the data of the direct form (``mathprog-data``).
    """
    from ortools.linear_solver.python import model_builder  # noqa: PLC0415

    program = encode(state, state.ledger.with_forecast(forecast(state)), _MOST_CELLS)
    if not program.bundles.is_whole:
        raise EffortError(f"the whole grid has more than {_MOST_CELLS} bundles; export a smaller state, or mathprog-data")
    relaxation = relax(program)
    model = model_builder.Model()  # type: ignore[no-untyped-call]
    n_levels, n_cells = relaxation.n_levels, len(relaxation.cells)
    variables = [
        model.new_var(
            0.0, float(upper), i < n_levels + n_cells, f"level_{i}" if i < n_levels else f"cell_{i - n_levels}" if i < n_levels + n_cells else f"part_{i}"
        )
        for i, upper in enumerate(relaxation.upper)
    ]
    for matrix, low, high in (
        (relaxation.matrix, np.full(len(relaxation.high), -np.inf), relaxation.high),
        (relaxation.equal, relaxation.target, relaxation.target),
    ):
        for i in range(matrix.shape[0]):
            columns = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
            values = matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]]
            terms = model_builder.LinearExpr.weighted_sum([variables[c] for c in columns], [float(v) for v in values])
            model.add_linear_constraint(terms, float(low[i]), float(high[i]))
    model.maximize(model_builder.LinearExpr.weighted_sum(variables, [float(g) for g in relaxation.gain], constant=relaxation.constant))
    return str(model.export_to_lp_string() if format == "lp" else model.export_to_mps_string())
