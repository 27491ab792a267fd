"""What a group's reports say that it can use: as many actors as it names, or a history from which its demand is forecast."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from libra_opt.adapters.ray.quanta import Steps, written
from libra_opt.adapters.ray.records import Group, Report
from libra_opt.adapters.ray.settings import Settings

__all__ = ["actors_wanted", "load_of"]

_LONGEST_HISTORY: Final = 500


def actors_wanted(group: Group, reports: Sequence[Report], now: float, settings: Settings) -> int | None:
    """Return how many actors a group says it can use, in whole units up to its maximum; None where it does not say so lately."""
    if not reports or now - reports[-1].at > settings.report_seconds or reports[-1].demand is None:
        return None
    return min(group.maximum, math.ceil(reports[-1].demand / group.unit - 1e-9) * group.unit)


def load_of(group: Group, reports: Sequence[Report], steps: Steps, settings: Settings, notes: list[str], now: float) -> dict[str, Any]:
    """Return the fields of a job that say what it can use; none where the group is silent."""
    if not reports:
        return {}
    if now - reports[-1].at > settings.report_seconds:
        notes.append(f"group {group.name!r} has not reported for {now - reports[-1].at:.0f} s")
        return {}
    wanted = actors_wanted(group, reports, now, settings)
    if wanted is not None:
        return {"demand": written(steps, wanted)}
    history = _history(reports, steps, settings)
    return {"history": history} if history else {}


def _history(reports: Sequence[Report], steps: Steps, settings: Settings) -> list[dict[str, Any]]:
    """Return the means of reports over intervals of equal length, the newest last; empty where nothing was reported in one."""
    by_interval: dict[int, list[Report]] = {}
    for report in reports:
        if report.busy is not None:
            by_interval.setdefault(math.floor(report.at / settings.history_seconds), []).append(report)
    if not by_interval:
        return []
    last = max(by_interval)
    return [_entry(by_interval.get(t, []), steps) for t in range(max(min(by_interval), last - _LONGEST_HISTORY + 1), last + 1)]


def _entry(reports: Sequence[Report], steps: Steps) -> dict[str, Any]:
    if not reports:
        return {"usage": {}}
    entry: dict[str, Any] = {"usage": written(steps, _mean([report.busy for report in reports]) or 0)}
    held = _mean([report.held for report in reports])
    if held is not None:
        entry["allocation"] = written(steps, held)
    for name in ("requests_running", "requests_waiting"):
        mean = _mean([getattr(report, name) for report in reports])
        if mean is not None:
            entry[name] = mean
    return entry


def _mean(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None
