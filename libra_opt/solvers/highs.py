"""HiGHS, called directly: linear programs that are solved again and again with some columns fixed, and small mixed-integer ones; the only door to highspy.

The solver object keeps its basis, so that a program whose columns were fixed since is solved by the dual simplex method from where it stood (Huangfu and
Hall, *Parallelizing the dual revised simplex method*, 2018); one thread, limits in iterations and nodes, so the same input gives the same output.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from highspy import HighsBasis

__all__ = ["Guess", "Integer", "Linear", "Optimum", "certified_bound", "solve_integer"]

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]

_ITERATIONS = 2_000
"""Simplex iterations that any program gets; larger ones get more by their rows and columns, and none cycles for ever."""

_INTERIOR_ITERATIONS = 200

_GUESSED = 500
"""Simplex iterations from a guess, and one more for ten rows, after which the guess counts as wrong and the program is solved from nothing."""

_LIMIT, _PERTURBATION = "simplex_iteration_limit", "dual_simplex_cost_perturbation_multiplier"


@dataclass(frozen=True)
class Guess:
    """Where a linear program begins that is near its optimum.

    Attributes
    ----------
    duals
        Of every row, not negative, 0 for the rows that hold with equality, shape ``(n_rows,)``.
    columns
        One column of each row that holds with equality, in any order: at these duals the best it has.
    """

    duals: _Floats
    columns: _Indices


@dataclass(frozen=True)
class Linear:
    """``max gain @ x`` under ``low <= A x <= high`` and ``0 <= x <= upper``.

    Attributes
    ----------
    gain, upper
        Shape ``(n_columns,)``.
    matrix
        Shape ``(n_rows, n_columns)``.
    low, high
        Shape ``(n_rows,)``; infinite for none.
    """

    gain: _Floats
    matrix: sparse.csc_array
    low: _Floats
    high: _Floats
    upper: _Floats

    def open(self, guess: Guess | None = None) -> "Optimum":
        """Solve it, from nothing or from a guess."""
        return Optimum(self, guess)

    def extended(self, guess: Guess) -> "Linear":
        """Return the same program with a column of nothing for every row that has a dual: held at zero, worth that dual per unit of the row."""
        rows, matrix = np.flatnonzero(guess.duals > 0), self.matrix
        cells = np.append(matrix.data, np.ones(len(rows))), np.append(matrix.indices, rows.astype(matrix.indices.dtype))
        first = np.append(matrix.indptr, matrix.indptr[-1] + np.arange(1, len(rows) + 1, dtype=matrix.indptr.dtype))
        return Linear(
            np.concatenate([self.gain, guess.duals[rows]]),
            sparse.csc_array((*cells, first), shape=(matrix.shape[0], matrix.shape[1] + len(rows))),
            self.low,
            self.high,
            np.concatenate([self.upper, np.zeros(len(rows))]),
        )


class Optimum:
    """A linear program at its optimum, which stays one while columns are fixed.

    It changes its own state, so it lives inside one call.

    From a guess the dual simplex method has little left to do: the basis is the guess's columns, and of every row with a dual its column of nothing, so that
    no column has a better reduced cost and only these few rows may be violated. Costs are not perturbed then, as what the perturbation spoils takes the primal
    method longer than all the rest.

    Attributes
    ----------
    is_optimal
        Whether the last solve ended with an optimum; if not, the columns and duals mean nothing.
    columns
        Shape ``(n_columns,)``.
    duals
        Value per unit of each row's limit, shape ``(n_rows,)``; not negative for rows with `high` alone.
    value
        The objective.
    """

    def __init__(self, program: Linear, guess: Guess | None = None) -> None:
        n_rows, n_columns = program.matrix.shape
        self._scale = max(1e-300, float(np.abs(program.gain).max(initial=0.0)))
        limit = _ITERATIONS + 20 * (n_rows + n_columns)
        self._highs = _open(program if guess is None else program.extended(guess), {_LIMIT: limit, "presolve": "off"}, self._scale)
        self._upper = program.upper
        self._fixed: list[_Indices] = []
        if guess is None:
            self._solve()
        else:
            self._set({_LIMIT: _GUESSED + n_rows // 10, _PERTURBATION: 0.0})
            self._highs.setBasis(_basis(program, guess))
            self._solve()
            self._set({_LIMIT: limit})
            if not self.is_optimal:
                self._set({_PERTURBATION: 1.0})
                self._highs.clearSolver()
                self._solve()
        self._basis = self._highs.getBasis()
        self._is_first = True

    def fix(self, columns: _Indices, values: _Floats) -> None:
        """Hold columns at values and solve again; with no columns at all, and none held since it was solved, it is at its optimum already."""
        if not len(columns) and self._is_first:
            return
        self._highs.changeColsBounds(len(columns), columns.astype(np.int32), values, values)
        self._fixed.append(columns)
        self._is_first = False
        self._solve()

    def release(self) -> None:
        """Let all columns go again, and go back to the basis of the first optimum."""
        if self._fixed:
            columns = np.concatenate(self._fixed)
            self._highs.changeColsBounds(len(columns), columns.astype(np.int32), np.zeros(len(columns)), self._upper[columns])
            self._highs.setBasis(self._basis)
            self._fixed = []

    def _set(self, options: "Mapping[str, int | float]") -> None:
        for name, value in options.items():
            self._highs.setOptionValue(name, value)

    def _solve(self) -> None:
        from highspy import HighsModelStatus  # noqa: PLC0415

        self.is_optimal = _run(self._highs) == HighsModelStatus.kOptimal
        solution = self._highs.getSolution()
        self.columns = np.array(solution.col_value)[: len(self._upper)]
        self.duals = -np.array(solution.row_dual) * self._scale
        self.value = -float(self._highs.getInfo().objective_function_value) * self._scale


def certified_bound(program: Linear) -> float:
    """Return a number that the optimum of a linear program does not pass, whatever the solver made of it.

    HiGHS looks for duals by an interior-point method, without crossover; any duals that are not negative give a bound by weak duality,
    ``high @ y + upper @ max(0, gain - y @ A)``, good ones a close one. The program has upper limits alone (`low` is not read), and all are finite.

    Parameters
    ----------
    program
        The program; every entry of `high` and `upper` finite.
    """
    if not len(program.gain):
        return 0.0
    n_rows = program.matrix.shape[0]
    scale = max(1e-300, float(np.abs(program.gain).max(initial=0.0)))
    highs = _open(program, {"solver": "ipm", "run_crossover": "off", "ipm_iteration_limit": _INTERIOR_ITERATIONS}, scale)
    _run(highs)
    duals = -np.array(highs.getSolution().row_dual) * scale
    usable = len(duals) == n_rows and bool(np.isfinite(duals).all())
    prices = np.maximum(0.0, duals) if usable else np.zeros(n_rows)
    return float(program.high @ prices + program.upper @ np.maximum(0.0, program.gain - program.matrix.T @ prices))


def _basis(program: Linear, guess: Guess) -> "HighsBasis":
    """Return the basis of a guess, for the program with its columns of nothing."""
    from highspy import HighsBasis, HighsBasisStatus  # noqa: PLC0415

    low, basic, high = HighsBasisStatus.kLower, HighsBasisStatus.kBasic, HighsBasisStatus.kUpper
    has_dual = guess.duals > 0
    basis, columns = HighsBasis(), [low] * program.matrix.shape[1]
    for column in guess.columns.tolist():
        columns[column] = basic
    basis.col_status = columns + [basic] * int(has_dual.sum())
    basis.row_status = [high if is_tight else basic for is_tight in (has_dual | (program.low == program.high)).tolist()]
    basis.valid = True
    return basis


@dataclass(frozen=True)
class Integer:
    """What a search in whole numbers found.

    Attributes
    ----------
    columns
        0 or 1, shape ``(n_columns,)``.
    iterations
        Simplex iterations it took.
    is_proven
        Whether the gap asked for was reached.
    """

    columns: npt.NDArray[np.bool_] = field(repr=False)
    iterations: int
    is_proven: bool = False


def solve_integer(
    program: Linear, start: npt.NDArray[np.bool_] | _Floats, n_nodes: int, gap: float, n_whole: int | None = None, *, restarts: bool = True
) -> Integer:
    """Search a program whose columns are 0 or 1, from a feasible start; the answer is the start where nothing better was found.

    Parameters
    ----------
    n_nodes
        Most nodes of the search tree.
    gap
        Relative gap that ends the search.
    n_whole
        How many of the columns, the first, are 0 or 1, and the answer tells of; all unless given. Where it is given, `is_proven` can be relied on.
    restarts
        Whether the search may begin again once much is fixed at the root: it finds more among many columns, and takes twice the time.
    """
    from highspy import HighsModelStatus, HighsSolution, kSolutionStatusFeasible  # noqa: PLC0415

    scale = max(1e-300, float(np.abs(program.gain).max(initial=0.0)))
    options: dict[str, int | float | str] = {"mip_max_nodes": n_nodes, "mip_rel_gap": gap, "mip_abs_gap": 1e-9, "mip_allow_restart": restarts}
    if n_whole is not None:
        options["presolve"] = "off"  # with a start, presolve of HiGHS 1.16 cuts off better plans and then calls the start optimal
    n_whole = len(start) if n_whole is None else n_whole
    highs = _open(program, options, scale, n_whole)
    begin = HighsSolution()
    begin.col_value = start.astype(np.float64).tolist()
    highs.setSolution(begin)
    status = _run(highs)
    about = highs.getInfo()
    found = np.array(highs.getSolution().col_value) > 0.5
    is_found = about.primal_solution_status == kSolutionStatusFeasible and len(found) == len(start)
    is_proven = is_found and status == HighsModelStatus.kOptimal
    return Integer((found if is_found else start > 0.5)[:n_whole], int(max(0, about.simplex_iteration_count)), is_proven)


def _run(highs: Any) -> Any:
    """Solve, and return how it ended; raises `MemoryError` where memory was short, for a plan made without the answer would be another on another machine."""
    from highspy import HighsModelStatus  # noqa: PLC0415

    highs.run()
    status = highs.getModelStatus()
    if status == HighsModelStatus.kMemoryLimit:
        raise MemoryError("HiGHS ran out of memory")
    return status


def _open(program: Linear, options: "Mapping[str, int | float | str]", scale: float, n_whole: int = 0) -> Any:
    """Return the solver with a program passed on, minimised and divided by `scale`; the first `n_whole` columns are whole numbers."""
    from highspy import HighsVarType, MatrixFormat, ObjSense, kHighsInf  # noqa: PLC0415
    from highspy._core import _Highs  # noqa: PLC0415 - the wrapper around it prints on standard output when it is made

    highs = _Highs()
    for name, value in {"output_flag": False, "threads": 1, "parallel": "off", "random_seed": 0, **options}.items():
        highs.setOptionValue(name, value)
    n_rows, n_columns = program.matrix.shape
    matrix = program.matrix
    lower = np.where(np.isinf(program.low), -kHighsInf, program.low)
    upper = np.where(np.isinf(program.high), kHighsInf, program.high)
    kinds = np.where(np.arange(n_columns) < n_whole, HighsVarType.kInteger.value, HighsVarType.kContinuous.value).astype(np.int32)
    # As arrays: a model made field by field is copied number by number, and that takes longer than solving it.
    sizes = n_columns, n_rows, matrix.nnz, MatrixFormat.kColwise.value, ObjSense.kMinimize.value, 0.0
    columns, cells = (-program.gain / scale, np.zeros(n_columns), program.upper), (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)
    highs.passModel(*sizes, *columns, lower, upper, *cells, kinds)
    return highs
