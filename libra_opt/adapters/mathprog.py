"""Writes a state as the data section of ``models/allocation.mod``, so that GLPK and every solver it can write for may plan it.

Everything is written from the state and its ledger, in whole quanta; nothing comes from the package's own program, so that the model and
its data check that program from outside. Jobs, stages, resources, pools and queues are numbered from 1 in the order of the state.
"""

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from libra_opt.domain import Forecast, Ledger, State
from libra_opt.domain.ledger import CARD_MEMORY, CARDS
from libra_opt.domain.quantity import UNLIMITED, exact

__all__ = ["service_points", "worth", "write_data"]

_Curve = Sequence[tuple[Fraction, Fraction]]
_LINEAR: _Curve = ((Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)))
_Entry = tuple[tuple[int, ...], int | Fraction]


def write_data(state: State, forecast: Forecast | None = None) -> str:
    """Return the GNU MathProg data section of a state.

    Parameters
    ----------
    state
        What is to be planned.
    forecast
        The forecast of the stages that brought a history; without one these demand nothing.
    """
    ledger = state.ledger.with_forecast(forecast or Forecast())
    lines = ["data;", *_names(ledger), *_cluster(ledger), *_queues(ledger), *_jobs(state, ledger), *_stages(ledger), *_options(state), "end;"]
    return "\n".join(lines) + "\n"


def service_points(curve: _Curve | None, intensity: Sequence[float], *, idle: bool) -> list[tuple[Fraction, Fraction]]:
    """Return the points (level, service) between which the service of a stage is linear (R6), from level 0 to its top level.

    An idle stage has one point only. Service rises strictly from point to point.
    """
    own = curve or _LINEAR
    factors = [exact(m) for m in intensity] or [Fraction(1)]
    best = own[-1][1]
    if idle or own[0][1] == best or not any(factors):
        return [(Fraction(0), best)]
    levels = sorted({m * share for m in factors for share, _ in own} | {Fraction(0)})
    points = [(level, _mean_service(own, factors, level)) for level in levels]
    return [point for point, before in zip(points, [None, *points], strict=False) if before is None or point[1] > before[1]]


def worth(state: State, ledger: Ledger, j: int) -> Fraction:
    """Return the value of one fully served period of job `j` under the policy `weighted_throughput`."""
    job = state.jobs[j]
    return exact(job.weight) * exact(state.options.priority_base) ** job.priority * _work(state, ledger, j)


def _mean_service(curve: _Curve, factors: Sequence[Fraction], level: Fraction) -> Fraction:
    return sum((_served(curve, level / m) if m else curve[-1][1] for m in factors), Fraction(0)) / len(factors)


def _served(curve: _Curve, share: Fraction) -> Fraction:
    for (x0, y0), (x1, y1) in pairwise(curve):
        if share <= x1:
            return y0 + (y1 - y0) * (share - x0) / (x1 - x0)
    return curve[-1][1]


def _work(state: State, ledger: Ledger, j: int) -> Fraction:
    job, period = state.jobs[j], exact(state.period.seconds)
    meaning = state.options.throughput
    if meaning == "jobs":
        if job.remaining:
            return period / exact(job.remaining)
    else:
        rate: float | None = getattr(job.rates, meaning)
        if rate is not None:
            return period * exact(rate)
    card = _position(ledger, CARDS)
    step = ledger.resources[card].step if card >= 0 else Fraction(1)
    cards = sum(ledger.wish(s)[card] for s in ledger.stage_of[j]) * step if card >= 0 else Fraction(0)
    if job.rates.cards is not None:
        cards = (cards + exact(job.rates.cards)) / 2
    if cards:
        return cards
    in_cluster = sum(row[card] for row in ledger.capacity) if card >= 0 else 0
    return _dominant_share(ledger, ledger.stage_of[j]) * (in_cluster * step if in_cluster else 1)


def _dominant_share(ledger: Ledger, stages: Iterable[int]) -> Fraction:
    rows, resources = tuple(stages), range(ledger.n_resources)
    asked = [sum(ledger.wish(s)[r] for s in rows) + _sum(ledger.need, rows, r) for r in resources]
    if not any(asked):
        asked = [_sum(ledger.lo, rows, r) for r in resources]
    totals = [sum(row[r] for row in ledger.capacity) for r in resources]
    return max((Fraction(wanted, total) for wanted, total in zip(asked, totals, strict=True) if total), default=Fraction(0))


def _sum(table: Sequence[Sequence[int]], rows: Iterable[int], r: int) -> int:
    return sum(table[s][r] for s in rows)


def _position(ledger: Ledger, name: str) -> int:
    return next((r for r, resource in enumerate(ledger.resources) if resource.name == name), -1)


def _ask(ledger: Ledger, s: int, top: Fraction) -> list[int]:
    fastest = max((speed for _, speed in ledger.allowed[s]), default=Fraction(1))
    if not all(ledger.fits_alone(other) for other in next(rows for rows in ledger.stage_of if s in rows)):
        return [0] * ledger.n_resources
    asked = []
    for r in range(ledger.n_resources):
        unit = ledger.unit[s][r]
        wished = Fraction(ledger.wish(s)[r]) if s in ledger.profiles else ledger.demand[s][r] * min(Fraction(1), top) / fastest
        wanted = max(Fraction(ledger.lo[s][r]), Fraction(ledger.need[s][r]), wished)
        asked.append(min(ledger.hi[s][r], unit * -(-wanted // unit)))
    return asked


def _names(ledger: Ledger) -> list[str]:
    stages = [f"{ledger.jobs[j]}, stage {s - rows.start + 1}" for j, rows in enumerate(ledger.stage_of) for s in rows]
    kinds = {"J": ledger.jobs, "S": stages, "R": [resource.name for resource in ledger.resources], "K": ledger.pools, "Q": ledger.queues}
    lines = []
    for letter, names in kinds.items():
        lines += [f"# {letter} {i} = {json.dumps(name)}" for i, name in enumerate(names, start=1)]
        lines.append(f"set {letter} := {' '.join(str(i + 1) for i in range(len(names)))};")
    return lines


def _cluster(ledger: Ledger) -> list[str]:
    exclusive = [(k, Fraction(*ratio)) for k, ratio in enumerate(ledger.card_ratio) if ratio is not None]
    return [
        _members("COMPRESSIBLE", ((r,) for r, resource in enumerate(ledger.resources) if resource.compressible)),
        _members("EXCLUSIVE", ((k,) for k, _ in exclusive)),
        _scalar("card", _position(ledger, CARDS) + 1),
        _scalar("memory", _position(ledger, CARD_MEMORY) + 1),
        _table("C", _cells(ledger.capacity)),
        _table("card_mem", [((k,), ratio) for k, ratio in exclusive]),
    ]


def _queues(ledger: Ledger) -> list[str]:
    ceilings = [entry for entry in _cells(ledger.ceiling) if entry[1] < UNLIMITED]
    parents = [((q,), above + 1) for q, above in enumerate(ledger.parent) if above >= 0]
    return [_table("parent", parents), _table("nominal", _cells(ledger.nominal)), _table("ceiling", ceilings), _table("reserved", _cells(ledger.reserved))]


def _jobs(state: State, ledger: Ledger) -> list[str]:
    rows = range(len(ledger.jobs))
    return [
        _table("queue", [((j,), ledger.job_queue[j] + 1) for j in rows]),
        _table("a", [((j,), worth(state, ledger, j)) for j in rows]),
        _table("protected", [((j,), int(ledger.protected[j])) for j in rows]),
        _table("evict", [((j,), ledger.evict_ms[j]) for j in rows]),
        _table("migrate", [((j,), ledger.migrate_ms[j]) for j in rows]),
        _table("resize", _cells(ledger.resize_ms)),
    ]


def _stages(ledger: Ledger) -> list[str]:
    rows = range(len(ledger.lo))
    points = [service_points(ledger.curve[s], ledger.intensity[s], idle=not any(ledger.demand[s])) for s in rows]
    from_zero = [[(Fraction(0), Fraction(0)), *line] if line[0][1] > 0 else line for line in points]
    return [
        _table("job", [((s,), j + 1) for j, stages in enumerate(ledger.stage_of) for s in stages]),
        _members("ALLOWED", ((s, k) for s in rows for k, _ in ledger.allowed[s])),
        _table("v", [((s, k), speed) for s in rows for k, speed in ledger.allowed[s]]),
        _table("lo", _cells(ledger.lo)),
        _table("hi", [entry for entry in _cells(ledger.hi) if entry[1] < UNLIMITED]),
        _table("u", _cells(ledger.unit)),
        _table("d", _cells(ledger.demand)),
        _table("n", _cells(ledger.need)),
        _table("ask", _cells([_ask(ledger, s, points[s][-1][0]) for s in rows])),
        _table("at", [((s,), ledger.current_pool[s] + 1) for s in rows]),
        _table("cur", [((s, r), amount) for s in rows for r, amount in enumerate(ledger.current[s] or ())]),
        *_profiles(ledger),
        _table("points", [((s,), len(line) - 1) for s, line in enumerate(from_zero)]),
        _table("level", [((s, p - 1), point[0]) for s, line in enumerate(from_zero) for p, point in enumerate(line)]),
        _table("service", [((s, p - 1), point[1]) for s, line in enumerate(from_zero) for p, point in enumerate(line)]),
    ]


def _profiles(ledger: Ledger) -> list[str]:
    profiles = sorted(ledger.profiles.items())
    entries = [(s, e, entry) for s, profile in profiles for e, entry in enumerate(profile.entries)]
    return [
        _table("entries", [((s,), len(profile.entries)) for s, profile in profiles]),
        _table("listed", [((s, r), flag) for s, profile in profiles for r, flag in enumerate(profile.listed)]),
        _table("entry_pool", [((s, e), entry.pool + 1) for s, e, entry in entries]),
        _table("entry_amount", [((s, e, r), amount) for s, e, entry in entries for r, amount in enumerate(entry.amounts)]),
        _table("share", [((s, e), entry.share) for s, e, entry in entries]),
    ]


def _options(state: State) -> list[str]:
    options = state.options
    lines = [_scalar("P", exact(state.period.seconds)), _scalar("H", exact(options.hold_periods))]
    if options.preemption_budget_seconds is not None:
        lines.append(_scalar("B", round(exact(options.preemption_budget_seconds) * 1000)))
    cost = state.ledger.cost
    if cost is not None:
        lines += [_table("price", _cells(cost.price)), _scalar("M", cost.ceiling)]
    return lines


def _cells(table: Sequence[Sequence[int]]) -> list[_Entry]:
    return [((i, r), amount) for i, row in enumerate(table) for r, amount in enumerate(row)]


def _scalar(name: str, number: int | Fraction) -> str:
    return f"param {name} := {_number(number)};"


def _table(name: str, entries: Iterable[_Entry]) -> str:
    rows = ", ".join(f"{' '.join(str(i + 1) for i in key)} {_number(number)}" for key, number in entries)
    return f"param {name} := {rows};" if rows else f"# no {name}"


def _members(name: str, members: Iterable[tuple[int, ...]]) -> str:
    rows = ", ".join(" ".join(str(i + 1) for i in member) for member in members)
    return f"set {name} := {rows};"


def _number(number: int | Fraction) -> str:
    return str(number) if isinstance(number, int) else repr(float(number)) if number.denominator != 1 else str(number.numerator)
