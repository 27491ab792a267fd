"""From single runs to medians over seeds, growth between sizes, and ratios to the peers."""

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from math import log
from statistics import median

from libra_opt.benchmark.report import Growth, PeerSummary, Spread, Summary
from libra_opt.benchmark.results import PHASES, Measurement, PeerMeasurement, PeerRun, Run
from libra_opt.domain.frozen import FrozenMapping

__all__ = ["growths", "summarise", "summarise_peers"]


def summarise(runs: Sequence[Run]) -> tuple[Summary, ...]:
    """Return one summary per label and size, in the order in which they were measured."""
    return tuple(_summary(label, n_jobs, tuple(group)) for (label, n_jobs), group in groupby(runs, lambda run: (run.case.label, size_of(run))))


def size_of(run: Run) -> int:
    """Return how many jobs the state of a run has; of a recorded one that failed, 0."""
    return run.measured.n_jobs if run.measured is not None else run.case.n_jobs


def growths(summaries: Sequence[Summary]) -> tuple[Growth, ...]:
    """Return how whole calls grow between neighbouring sizes of a family: the slope of time over size, both as logarithms."""
    return tuple(
        Growth(
            label=one.label,
            n_jobs=one.n_jobs,
            next_n_jobs=other.n_jobs,
            factor=(factor := other.whole_seconds.median / one.whole_seconds.median),
            exponent=log(factor) / log(other.n_jobs / one.n_jobs),
        )
        for one, other in pairwise(summaries)
        if one.label == other.label and 0 < one.n_jobs < other.n_jobs and one.whole_seconds is not None and other.whole_seconds is not None
    )


def summarise_peers(runs: Sequence[Run], peer_runs: Sequence[PeerRun]) -> tuple[PeerSummary, ...]:
    """Return one summary per label, size and peer, in the order in which they were measured."""
    ours = {run.case: run.measured for run in runs if run.measured is not None}
    groups: dict[tuple[str, int, str], list[PeerRun]] = {}
    for peer_run in peer_runs:
        groups.setdefault((peer_run.case.label, ours[peer_run.case].n_jobs, peer_run.peer), []).append(peer_run)
    return tuple(_peer_summary(*key, [(peer_run, ours[peer_run.case]) for peer_run in group]) for key, group in groups.items())


def _summary(label: str, n_jobs: int, runs: Sequence[Run]) -> Summary:
    measured = [run.measured for run in runs if run.measured is not None]
    if not measured:
        return Summary(label=label, n_jobs=n_jobs, n_runs=len(runs), n_failed=len(runs), statuses=tuple(sorted({run.message for run in runs})))
    return Summary(
        label=label,
        n_jobs=n_jobs,
        n_runs=len(runs),
        n_failed=len(runs) - len(measured),
        whole_seconds=_spread(one.whole_seconds for one in measured),
        cpu_seconds=_spread(one.cpu_seconds for one in measured),
        phases=FrozenMapping({phase: _spread(getattr(one.phases, phase) for one in measured) for phase in PHASES}),
        gap=_spread(one.gap for one in measured),
        peak_mib=_spread(one.peak_mib for one in measured),
        statuses=tuple(sorted({one.status for one in measured})),
    )


def _spread(values: Iterable[float]) -> Spread:
    ordered = sorted(values)
    return Spread(median=median(ordered), least=ordered[0], most=ordered[-1])


def _peer_summary(label: str, n_jobs: int, peer: str, runs: Sequence[tuple[PeerRun, Measurement]]) -> PeerSummary:
    done = [(run.measured, ours) for run, ours in runs if run.measured is not None]
    seconds = [(theirs.build_seconds + theirs.solve_seconds, ours.whole_seconds) for theirs, ours in done]
    return PeerSummary(
        label=label,
        n_jobs=n_jobs,
        peer=peer,
        n_runs=len(runs),
        n_finished=len(done),
        n_within_gap=sum(theirs.is_within_gap for theirs, _ in done),
        n_cut=sum(theirs.is_cut for theirs, _ in done),
        outcome="; ".join(sorted({_word(run) for run, _ in runs})),
        seconds=_median(whole for whole, _ in seconds),
        solver_seconds=_median(theirs.solve_seconds for theirs, _ in done),
        gap=_median(theirs.gap for theirs, _ in done),
        objective_ratio=_median(_ratio(theirs.objective, ours.objective) for theirs, ours in done),
        bound_ratio=_median(_ratio(theirs.bound, ours.objective) for theirs, ours in done),
        times_ours=_median(whole / own for whole, own in seconds),
        solver_times_ours=_median(theirs.solve_seconds / ours.whole_seconds for theirs, ours in done),
    )


def _word(run: PeerRun) -> str:
    measured: PeerMeasurement | None = run.measured
    if measured is not None:
        return f"{measured.status}; {measured.note}" if measured.note else measured.status
    return run.message


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _ratio(one: float | None, other: float) -> float | None:
    return None if one is None or other == 0 else one / other
