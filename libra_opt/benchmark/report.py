"""What one run of the benchmark says, as JSON has it: medians over seeds, growth, the peers, and every measurement they come from."""

from typing import Literal

from libra_opt.benchmark.results import PeerRun, Run, Settings
from libra_opt.domain.base import Natural, NonNegative, Value
from libra_opt.domain.frozen import FrozenMapping

__all__ = ["Growth", "Machine", "PeerSummary", "ProcessTimes", "Report", "Spread", "Summary"]


class Spread(Value):
    """Median and ends of one number over the seeds."""

    median: float
    least: float
    most: float


class Summary(Value):
    """All runs of one label and size."""

    label: str
    n_jobs: Natural
    n_runs: Natural
    n_failed: Natural
    whole_seconds: Spread | None = None
    cpu_seconds: Spread | None = None
    phases: FrozenMapping[str, Spread] = FrozenMapping()
    gap: Spread | None = None
    peak_mib: Spread | None = None
    statuses: tuple[str, ...] = ()


class Growth(Value):
    """From one size of a family to the next: how many times the median whole call takes, and the exponent of the size that this is."""

    label: str
    n_jobs: Natural
    next_n_jobs: Natural
    factor: float
    exponent: float


class PeerSummary(Value):
    """One peer on all its runs of one label and size.

    Attributes
    ----------
    outcome
        In a few words, why there are no numbers, where there are none.
    n_runs, n_finished
        How many states it was given, and on how many it ended within the budget.
    seconds, solver_seconds
        Median over those it finished of model and solver together, and of the solver alone.
    gap
        Median of the gap that it proved.
    n_within_gap, n_cut
        How often it reached the gap that was asked of it, and how often it stopped for want of time.
    objective_ratio
        Median of its objective to ours, in tier 4; above 1 it found more.
    bound_ratio
        Median of its bound to our objective.
    times_ours, solver_times_ours
        Median of its seconds, and of the solver's alone, to those of our whole call.
    """

    label: str
    n_jobs: Natural
    peer: str
    n_runs: Natural
    n_finished: Natural
    n_within_gap: Natural
    n_cut: Natural
    outcome: str
    seconds: float | None = None
    solver_seconds: float | None = None
    gap: float | None = None
    objective_ratio: float | None = None
    bound_ratio: float | None = None
    times_ours: float | None = None
    solver_times_ours: float | None = None


class ProcessTimes(Value):
    """Median wall seconds of whole processes: ``libra-opt --help``, and ``libra-opt solve`` on a state of two jobs."""

    n_runs: Natural
    help_seconds: NonNegative
    solve_tiny_seconds: NonNegative


class Machine(Value):
    """Where it was measured; `load` is the one-minute load average before and after, which on an idle machine is near 0 and near 1."""

    python: str
    system: str
    n_cores: Natural
    versions: FrozenMapping[str, str]
    load: tuple[float, ...]


class Report(Value):
    """Everything one run of the benchmark says."""

    format: Literal["libra-opt/bench/1"] = "libra-opt/bench/1"
    machine: Machine
    settings: Settings
    processes: ProcessTimes | None
    summary: tuple[Summary, ...]
    growth: tuple[Growth, ...]
    peer_summary: tuple[PeerSummary, ...]
    runs: tuple[Run, ...]
    peer_runs: tuple[PeerRun, ...]
