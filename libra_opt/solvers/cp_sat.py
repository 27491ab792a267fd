"""CP-SAT, with `export` the only door to OR-Tools: a program tier by tier, exact within a deterministic limit.

One worker, a fixed seed and deterministic time, so that the same program gives the same answer everywhere. A plan is always at hand before the
solver is called: it enters as a hint and comes back when nothing better was found in time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from libra_opt.domain.options import Options
from libra_opt.formulation.fairness import Fairness
from libra_opt.formulation.program import Choice, Program
from libra_opt.solvers.greedy import greedy_choice
from libra_opt.solvers.solution import Bounds, Solution

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["Outcome", "search", "search_fair", "solve"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]
_Flags = npt.NDArray[np.bool_]
_TierName = Literal["lost", "over", "shortfall", "value", "borrowed", "unevenness", "moves"]

_EXACT_CELLS = 5000
"""Up to this many cells the whole program is solved to the last digit, whatever gap would do."""

_FAR = 1e6
"""One job is far above others when it is worth this many times all of them together."""

_ROW_BITS = 62
"""Sums of a row stay up to 2^this, as CP-SAT asks; beyond, amounts round up, and what the search proves does not count."""

_LEVEL_BITS = 24
"""What a job adds to a level is at most this many bits long."""

_MOST_DENOMINATOR, _MOST_COMMON = 10_000, 1 << 24
"""Parts of levels are taken exactly where no denominator is larger than this, nor what all have in common."""

_SQUARED_BITS = 20
"""What is squared stays below 2^this; beyond, it is counted in coarser units."""

_VALUE_BITS = 40
"""Sums of an objective tier stay below 2^this, so that its smallest step is about 1e-12 of the whole."""


@dataclass(frozen=True)
class Outcome:
    """What a search gave: a choice, bounds valid for the levels of the program, effort used, whether a limit was hit, whether no row was rounded."""

    choice: Choice
    bounds: Bounds
    effort_used: float
    hit_limit: bool
    is_exact: bool = True


def solve(program: Program, options: Options) -> Solution:
    """Solve the whole program, to the gap asked for where it is large, as far as `options.effort` reaches.

    Where even the grid made for this back-end passes over ticks, what CP-SAT proves says nothing of them, and the bound is the plain one.
    """
    start = greedy_choice(program)
    gap = options.gap if program.n_cells > _EXACT_CELLS else 0.0
    outcome = search(program, start, options.effort, options.seed, gap)
    is_whole = program.bundles.is_whole
    limit: Literal["effort"] | None = "effort" if outcome.hit_limit or not is_whole else None
    bounds = outcome.bounds if is_whole else Bounds(0.0, 0.0, 0.0, program.most_value)
    return Solution(program, outcome.choice, program.score(outcome.choice), bounds, "cp_sat", limit, is_fallback=options.effort == 0, is_exact=outcome.is_exact)


def search(program: Program, start: Choice, effort: float, seed: int, gap: float) -> Outcome:
    """Find the best choice, tier by tier.

    Parameters
    ----------
    start
        A feasible choice: the hint, and the answer where nothing better is found.
    effort
        Deterministic time in all, about seconds of an idle core.
    gap
        Relative gap in tier 4 that ends the search.
    """
    score = program.score(start)
    if program.n_cells == 0:
        return Outcome(start, Bounds(score.lost, score.over_seconds, score.shortfall, score.value), 0.0, hit_limit=False)
    if effort == 0:
        return Outcome(start, Bounds(0.0, 0.0, 0.0, program.most_value), 0.0, hit_limit=True)
    model = _Search(program, start, seed, effort)
    lost, over, shortfall = model.lose_least(), model.tier("over"), model.tier("shortfall")
    value = model.tier("value", gap)
    if value.is_optimal:
        if not program.shared.forest.is_flat:
            model.tier("borrowed")
        model.tier("unevenness")
        model.tier("moves")
    return Outcome(model.best, Bounds(lost.bound, over.bound / 1000, shortfall.bound, value.bound), model.used, model.hit_limit, model.is_exact)


def search_fair(program: Program, start: Choice, fairness: Fairness, effort: float, seed: int) -> tuple[Outcome, bool]:
    """Find the fairest choice, then the one of most value among these, and say whether the division is proven.

    The sum of the k lowest levels is raised for k = 1, 2, .. (Ogryczak and Sliwinski, *On direct methods for lexicographic min-max optimization*, 2006); of
    items in order, one after the other.
    """
    model = _Search(program, start, seed, effort)
    lost, over, shortfall = model.lose_least(), model.tier("over"), model.tier("shortfall")
    is_proven = True
    stage: Fairness | None = fairness
    while stage is not None:
        is_proven = model.divide(stage) and is_proven
        stage = stage.then
    value = model.tier("value")
    if value.is_optimal:
        model.tier("unevenness")
        model.tier("moves")
    bounds = Bounds(lost.bound, over.bound / 1000, shortfall.bound, value.bound)
    return Outcome(model.best, bounds, model.used, model.hit_limit, model.is_exact), is_proven


@dataclass(frozen=True)
class _Tier:
    bound: float
    is_optimal: bool


@dataclass(frozen=True)
class _Terms:
    """A linear expression with whole coefficients, and how to read its value: ``sum / scale``, true to `slack` steps."""

    variables: list[Any]
    coefficients: list[int]
    scale: float
    slack: int


class _Search:
    """One CP-SAT model, narrowed tier by tier."""

    def __init__(self, program: Program, start: Choice, seed: int, effort: float) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415

        self.program = program
        self.best = start
        self.effort = effort
        self.used = 0.0
        self.hit_limit = False
        self.is_exact = True
        self.band = np.ones(program.n_jobs, dtype=np.bool_)
        self.seed = seed
        self.module = cp_model
        self.model = cp_model.CpModel()
        self._variables()
        self._rows()

    def _variables(self) -> None:
        program, model = self.program, self.model
        job, slot, level = program.bundles.job, program.cell_slot, program.cell_level
        self.level_var = [model.new_bool_var("") for _ in job]
        self.wait_var = [model.new_bool_var("") for _ in range(program.n_jobs)]
        by_job: list[list[Any]] = [[wait] for wait in self.wait_var]
        for j, var in zip(job.tolist(), self.level_var, strict=True):
            by_job[j].append(var)
        for group in by_job:
            if len(group) == 1:
                model.add(group[0] == 1)
            else:
                model.add_exactly_one(group)
        alone = np.diff(program.bundles.first_cell)[slot] == 1
        self.cell_var = []
        groups: dict[int, tuple[int, list[Any]]] = {}
        for c in range(program.n_cells):
            if alone[c]:
                self.cell_var.append(self.level_var[level[c]])
                continue
            var = model.new_bool_var("")
            self.cell_var.append(var)
            groups.setdefault(int(slot[c]), (int(level[c]), []))[1].append(var)
        for own, group in groups.values():
            model.add_exactly_one([*group, self.level_var[own].Not()])

    def _rows(self) -> None:
        program, shared = self.program, self.program.shared
        amount = np.rint(program.amount).astype(np.int64)
        pool, queue = program.cell_pool, program.queue[program.cell_job]
        rounded = np.flatnonzero(program.is_rounded)
        is_counted = program.is_original and not (program.is_cost_limited and program.is_rounded[-1])
        self.is_exact = not len(rounded) or (is_counted and not shared.is_reserving[rounded].any() and not shared.floor[:, rounded].any())
        for k, r in np.ndindex(*shared.capacity.shape):
            if self.is_exact and program.is_rounded[r]:
                self._at_most(program.bundles.amount[:, r], pool == k, int(program.tables.capacity[k, r]))
            else:
                self._at_most(amount[:, r], pool == k, int(shared.capacity[k, r]))
        forest = shared.forest
        for q, r in zip(*np.nonzero(np.isfinite(shared.ceiling)), strict=True):
            if not forest.is_flat and shared.is_reserving[r]:
                continue  # what is reserved below counts as well: see `_reserve`
            if self.is_exact and program.is_rounded[r]:
                self._at_most(program.bundles.amount[:, r], forest.under(queue, q), int(program.tables.ceiling[q, r]))
            else:
                self._at_most(amount[:, r], forest.under(queue, q), int(shared.ceiling[q, r]))
        for r in np.flatnonzero(shared.is_reserving):
            self._reserve(int(r), amount[:, r], queue)
        self.short: list[tuple[Any, int, int]] = []
        for q, r in zip(*np.nonzero(shared.floor > 0), strict=True):
            self._guarantee(int(q), int(r), amount[:, r], forest.under(queue, q))

    def _at_most(self, amount: _Ints, inside: _Flags, limit: int) -> None:
        rows = np.flatnonzero(inside & (amount > 0))
        if len(rows):
            divisor = int(np.gcd.reduce(amount[rows]))
            whole, limit = amount[rows] // divisor, limit // divisor
            unit = 1 << max(0, (sum(whole.tolist()) - 1).bit_length() - _ROW_BITS)
            self.is_exact &= unit == 1
            self.model.add(self._sum(rows, -(-whole // unit)) <= limit // unit)

    def _reserve(self, r: int, amount: _Ints, queue: _Indices) -> None:
        """R10: every queue books what it uses or, where that is more, reserves; what those below it book counts as its use."""
        shared, forest = self.program.shared, self.program.shared.forest
        total = int(shared.total[r])
        parts: list[list[Any]] = [[] for _ in shared.reserved]
        for q in [*(row for layer in reversed(forest.layers) for row in layer.tolist()), *forest.roots.tolist()]:
            rows = np.flatnonzero((queue == q) & (amount > 0))
            held, below = int(shared.reserved[q, r]), parts[q] if q < len(parts) - 1 else []
            above = parts[int(forest.parent[q])]
            if not len(rows) and not below:
                above.append(held)
                continue
            part = self.model.new_int_var(held, max(held, total), "")
            used = self._sum(rows, amount[rows]) + sum(below) if below else self._sum(rows, amount[rows])
            self.model.add(part >= used)
            if not forest.is_flat and np.isfinite(shared.ceiling[q, r]):
                self.model.add(used <= int(shared.ceiling[q, r]))
            above.append(part)
        self.model.add(sum(parts[-1]) <= total)

    def _guarantee(self, q: int, r: int, amount: _Ints, inside: _Flags) -> None:
        shared = self.program.shared
        floor, rows = round(float(shared.floor[q, r])), np.flatnonzero(inside & (amount > 0))
        short = self.model.new_int_var(0, floor, "")
        self.model.add(short + self._sum(rows, amount[rows]) >= floor)
        self.short.append((short, q, r))

    def _sum(self, rows: _Indices, coefficients: _Ints) -> Any:
        return self.module.LinearExpr.weighted_sum([self.cell_var[c] for c in rows.tolist()], coefficients.tolist())

    def lose_least(self) -> _Tier:
        """Optimise tier 1 band by band: jobs so far apart in worth that one sum of 40 bits would not tell the small ones from nothing."""
        bound, closed = 0.0, True
        for band in _bands(self.program.lost):
            self.band = band
            tier = self.tier("lost")
            bound += tier.bound if closed else 0.0
            closed &= tier.is_optimal
        self.band = np.ones(self.program.n_jobs, dtype=np.bool_)
        return _Tier(self._exact("lost") if closed else bound, is_optimal=closed)

    def divide(self, fairness: Fairness) -> bool:
        """Raise the lowest items first, or each in its order, and hold what is reached; return whether each step is proven."""
        bundles = self.program.bundles
        part, item = fairness.part(bundles.job, bundles.service), fairness.item[bundles.job]
        if fairness.is_ordered or not fairness.is_single:
            return self._divide_sums(fairness, _whole(part), item)
        return self._divide_single(part, item)

    def _divide_single(self, part: _Floats, item: _Indices) -> bool:
        """Raise the lowest first where an item is one job: at every level, from below, as many items as can be.

        Who reaches a level reaches all below it. So a level at which the plan at hand has as many as could reach the one below needs no search, and where a
        search finds more, bisection finds up to which level that many can be had.
        """
        levels = np.unique(np.round(part[(part > 0) & (item >= 0)], 12)).tolist()
        rows = [np.flatnonzero((item >= 0) & (part >= level - 1e-12)) for level in levels]
        able = [len(np.unique(item[above])) for above in rows]
        is_proven, most, held = True, max(able, default=0), -1
        for i, above in enumerate(rows):
            target = min(most, able[i])
            if self._reached(above) >= target:
                if held >= 0 and target < most:
                    self._hold(rows[held], most)
                held, most = i, target
                continue
            if held >= 0:
                self._hold(rows[held], most)
                held = -1
            if not self._raise(self._level_sum(above)):
                is_proven = False
                continue
            most = self._reached(above)
            if most == target:
                self._raise_together([later for later, n in zip(rows[i + 1 :], able[i + 1 :], strict=True) if n >= target], target)
        if held >= 0:
            self._hold(rows[held], most)
        return is_proven

    def _raise_together(self, rows: list[_Indices], target: int) -> None:
        """Hold the highest level that as many reach as the target says, as far as searches find it."""
        low, high = 0, len(rows)
        while low < high:
            middle = (low + high) // 2
            if self._reached(rows[middle]) >= target or self._raise(self._level_sum(rows[middle]), target):
                low = middle + 1
            else:
                high = middle

    def _reached(self, above: _Indices) -> int:
        return int(np.isin(above, self.program.level(self.best)).sum())

    def _hold(self, above: _Indices, reached: int) -> None:
        self.model.add(self._level_sum(above) >= reached)

    def _level_sum(self, rows: _Indices) -> Any:
        return self.module.LinearExpr.sum([self.level_var[row] for row in rows.tolist()])

    def _divide_sums(self, fairness: Fairness, whole: _Ints, item: _Indices) -> bool:
        most, levels = [int(whole[item == i].sum()) for i in range(fairness.n_items)], []
        for i in range(fairness.n_items):
            rows = np.flatnonzero(item == i).tolist()
            level = self.model.new_int_var(0, most[i], "")
            self.model.add(level == self.module.LinearExpr.weighted_sum([self.level_var[row] for row in rows], whole[rows].tolist()))
            levels.append(level)
        if fairness.is_ordered:
            proven = [self._raise(level) for level in levels]
            return all(proven)
        is_proven, top = True, max(most, default=0)
        for k in range(1, len(levels) + 1):
            border = self.model.new_int_var(0, top, "")
            below = [self.model.new_int_var(0, top, "") for _ in levels]
            for gap, level in zip(below, levels, strict=True):
                self.model.add(gap >= border - level)
            is_proven = self._raise(k * border - sum(below)) and is_proven
        return is_proven

    def _raise(self, expression: Any, least: int = 0) -> bool:
        """Maximise an expression and, where it reaches the least that is asked, hold what it reaches; return whether it does and that is proven."""
        if self.used >= self.effort:
            self.hit_limit = True
            return False
        self.model.clear_objective()  # type: ignore[no-untyped-call]
        self.model.maximize(expression)
        solver = self._solver(0.0)
        self._hint()
        status = solver.solve(self.model)
        self.used += solver.response_proto.deterministic_time
        if status not in (self.module.OPTIMAL, self.module.FEASIBLE):
            self.hit_limit = True
            return False
        if round(solver.objective_value) < least:
            return False
        self._take(solver)
        self.model.add(expression >= round(solver.objective_value))
        if status != self.module.OPTIMAL:
            self.hit_limit = True
        return bool(status == self.module.OPTIMAL and self.is_exact)

    def tier(self, name: _TierName, gap: float = 0.0) -> _Tier:
        """Optimise one tier, hold what it reached for the tiers to come, and return a bound in the tier's own unit."""
        reached = self._exact(name)
        is_met = reached == 0 and name != "value"
        terms = self._terms(name)
        maximise = name == "value"
        expression = self.module.LinearExpr.weighted_sum(terms.variables, terms.coefficients)
        if is_met:
            self.model.add(expression <= 0)
            return _Tier(0.0, is_optimal=True)
        self.model.clear_objective()  # type: ignore[no-untyped-call]
        self.model.maximize(expression) if maximise else self.model.minimize(expression)
        solver = self._solver(gap)
        self._hint()
        status = solver.solve(self.model)
        self.used += solver.response_proto.deterministic_time
        is_optimal = status == self.module.OPTIMAL and self.is_exact
        found = round(reached * terms.scale)
        has_solution = status in (self.module.OPTIMAL, self.module.FEASIBLE)
        if has_solution:
            found = round(solver.objective_value)
            self._take(solver)
        if not is_optimal:
            self.hit_limit = True
        trivial = sum(c for c in terms.coefficients if (c > 0) == maximise)
        raw = solver.best_objective_bound if has_solution and self.is_exact else trivial
        raw = min(raw, trivial) if maximise else max(raw, trivial)
        if maximise:
            self.model.add(expression >= found - terms.slack)
            bound = (raw + terms.slack) / terms.scale
        else:
            self.model.add(expression <= found + terms.slack)
            bound = max(0.0, (raw - terms.slack) / terms.scale)
        closed = is_optimal and gap == 0
        if is_optimal and abs(raw - found) <= terms.slack:
            closed = True
        return _Tier(self._exact(name) if closed else bound, is_optimal=closed)

    def _terms(self, name: _TierName) -> _Terms:
        return {
            "lost": self._lost,
            "over": self._over,
            "shortfall": self._shortfall,
            "value": self._value,
            "borrowed": self._borrowed,
            "unevenness": self._unevenness,
            "moves": self._moves,
        }[name]()

    def _exact(self, name: _TierName) -> float:
        score = self.program.score(self.best)
        return {
            "lost": float(self.program.lost[self.band & ~self.program.runs(self.best)].sum()),
            "over": score.over_seconds * 1000,
            "shortfall": score.shortfall,
            "value": score.value,
            "borrowed": score.borrowed,
            "unevenness": score.unevenness,
            "moves": score.moves,
        }[name]

    def _solver(self, gap: float) -> "cp_model.CpSolver":
        solver = self.module.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = self.seed
        solver.parameters.linearization_level = 2
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.symmetry_level = 0
        solver.parameters.max_presolve_iterations = 1
        solver.parameters.relative_gap_limit = gap / 2
        solver.parameters.catch_sigint_signal = False  # it would end the search at Ctrl-C and go on with another plan; Python stops the call instead
        solver.parameters.max_deterministic_time = max(1e-3, self.effort - self.used)
        return solver

    def _hint(self) -> None:
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        chosen = set(self.best[self.best >= 0].tolist())
        levels = set(self.program.cell_level[self.best[self.best >= 0]].tolist())
        runs = self.program.runs(self.best)
        for level, var in enumerate(self.level_var):
            self.model.add_hint(var, level in levels)
        hinted = {var.index for var in self.level_var}
        for cell, var in enumerate(self.cell_var):
            if var.index not in hinted:
                self.model.add_hint(var, cell in chosen)
        for j, var in enumerate(self.wait_var):
            self.model.add_hint(var, not runs[j])

    def _take(self, solver: "cp_model.CpSolver") -> None:
        choice = self.program.nothing
        taken = np.array([solver.boolean_value(var) for var in self.cell_var], dtype=np.bool_)
        cells = np.flatnonzero(taken)
        choice[self.program.cell_stage[cells]] = cells
        self.best = choice

    def _weights(self, levels: _Floats, cells: _Floats, waits: _Floats) -> _Terms:
        """Return whole coefficients for float weights of levels, cells and waiting, scaled so that sums keep 40 bits."""
        per_job = np.zeros(self.program.n_jobs)
        np.maximum.at(per_job, self.program.bundles.job, np.abs(levels))
        total = per_job.sum() + np.abs(waits).sum() + (np.abs(cells).max(initial=0.0) * len(self.program.nothing))
        scale = 2.0**_VALUE_BITS / total if total > 0 else 1.0
        parts: list[tuple[Sequence[Any], _Floats]] = [(self.level_var, levels), (self.cell_var, cells), (self.wait_var, waits)]
        variables: list[Any] = []
        coefficients: list[int] = []
        for group, weights in parts:
            whole = np.rint(weights * scale).astype(np.int64)
            whole = np.where((whole == 0) & (weights != 0), np.sign(weights).astype(np.int64), whole)
            rows = np.flatnonzero(whole)
            variables.extend(group[i] for i in rows.tolist())
            coefficients.extend(whole[rows].tolist())
        least = min((abs(c) for c in coefficients), default=0)
        return _Terms(variables, coefficients, scale, slack=min(self.program.n_jobs + len(self.program.nothing), least // 2))

    def _lost(self) -> _Terms:
        return self._weights(np.zeros(len(self.level_var)), np.zeros(self.program.n_cells), np.where(self.band, self.program.lost, 0.0))

    def _over(self) -> _Terms:
        program = self.program
        budget = program.shared.budget_ms
        charges = [(self.cell_var[c], round(ms)) for c, ms in enumerate(program.cell_ms.tolist()) if ms]
        charges += [(self.wait_var[j], round(ms)) for j, ms in enumerate(program.wait_ms.tolist()) if ms]
        if not np.isfinite(budget) or not charges:
            return _Terms([], [], 1.0, 0)
        over = self.model.new_int_var(0, sum(ms for _, ms in charges), "")
        spent = self.module.LinearExpr.weighted_sum([var for var, _ in charges], [ms for _, ms in charges])
        self.model.add(over >= spent - round(budget))
        return _Terms([over], [1], 1.0, 0)

    def _shortfall(self) -> _Terms:
        if not self.short:
            return _Terms([], [], 1.0, 0)
        shared = self.program.shared
        nominal = np.array([shared.nominal[q, r] for _, q, r in self.short])
        floors = np.array([shared.floor[q, r] for _, q, r in self.short])
        scale = 2.0**_VALUE_BITS / max(1e-300, float((floors / nominal).sum()))
        coefficients = np.maximum(1, np.rint(scale / nominal)).astype(np.int64).tolist()
        return _Terms([short for short, _, _ in self.short], coefficients, scale, slack=min(len(self.short), min(coefficients) // 2))

    def _value(self) -> _Terms:
        program = self.program
        levels = program.gain
        cells = -program.per_ms[program.cell_job] * program.cell_ms
        return self._weights(levels, cells, -program.per_ms * program.wait_ms)

    def _borrowed(self) -> _Terms:
        """Tier 5 of a tree: the square of what each queue uses, with all below it, beyond its quota."""
        program, shared = self.program, self.program.shared
        amount, queue = np.rint(program.amount).astype(np.int64), program.queue[program.cell_job]
        squares: list[Any] = []
        highest: list[int] = []
        weights: list[float] = []
        for q, r in np.argwhere(shared.per_square > 0).tolist():
            rows, quota = np.flatnonzero(shared.forest.under(queue, q) & (amount[:, r] > 0)), int(np.floor(shared.quota[q, r]))
            most = int(min(amount[rows, r].sum(), max(0.0, shared.total[r]))) - quota
            if not len(rows) or most <= 0:
                continue
            unit = 1 << max(0, most.bit_length() - _SQUARED_BITS)
            least = -(-max(0, -quota) // unit)
            high = max(least, -(-most // unit))
            over = self.model.new_int_var(least, high, "")
            self.model.add(unit * over >= self._sum(rows, amount[rows, r]) - quota)
            square = self.model.new_int_var(least**2, high**2, "")
            self.model.add_multiplication_equality(square, [over, over])
            squares.append(square)
            highest.append(high)
            weights.append(float(shared.per_square[q, r]) * unit**2)
        if not squares:
            return _Terms([], [], 1.0, 0)
        scale = 2.0**_VALUE_BITS / sum(weight * high**2 for weight, high in zip(weights, highest, strict=True))
        coefficients = [max(1, round(weight * scale)) for weight in weights]
        return _Terms(squares, coefficients, scale, slack=min(len(squares), min(coefficients) // 2))

    def _unevenness(self) -> _Terms:
        program = self.program
        levels = program.worth[program.bundles.job] * program.bundles.service**2
        return self._weights(levels, np.zeros(program.n_cells), np.zeros(program.n_jobs))

    def _moves(self) -> _Terms:
        program = self.program
        cells = [(var, 1) for var, moved in zip(self.cell_var, program.cell_moved, strict=True) if moved]
        waits = [(self.wait_var[j], int(n)) for j, n in enumerate(program.n_wait_moves) if n]
        return _Terms([var for var, _ in cells + waits], [n for _, n in cells + waits], 1.0, 0)


def _bands(worth: npt.NDArray[np.float64]) -> list[npt.NDArray[np.bool_]]:
    """Return groups of the jobs of positive worth, dearest first, cut where all that is cheaper together is far below one job above."""
    order = np.argsort(-worth, kind="stable")
    bands: list[list[int]] = []
    for position, job in enumerate(order.tolist()):
        if worth[job] <= 0:
            break
        rest = float(worth[order[position:]].sum())
        if not bands or rest * _FAR < worth[order[position - 1]]:
            bands.append([])
        bands[-1].append(job)
    masks = [np.isin(np.arange(len(worth)), band) for band in bands]
    return masks or [np.zeros(len(worth), dtype=np.bool_)]


def _whole(part: _Floats) -> _Ints:
    """Return whole numbers in the proportions of parts of levels: exactly where they have a small common denominator, else to `_LEVEL_BITS`."""
    ratios = [Fraction(value).limit_denominator(_MOST_DENOMINATOR) for value in np.unique(part).tolist()]
    common = lcm(*(ratio.denominator for ratio in ratios))
    is_exact = common <= _MOST_COMMON and np.allclose(np.rint(part * common), part * common, rtol=0.0, atol=1e-6)
    return np.rint(part * (common if is_exact else (1 << _LEVEL_BITS) / max(1e-300, float(part.max(initial=0.0))))).astype(np.int64)
