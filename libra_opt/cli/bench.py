"""`libra-opt bench`: how fast whole calls are, phase by phase, and beside them the alternatives."""

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from libra_opt.adapters.files import STANDARD_STREAM, check_writable
from libra_opt.benchmark.cases import all_cases
from libra_opt.benchmark.processes import machine, process_times
from libra_opt.benchmark.report import Report
from libra_opt.benchmark.results import Case, PeerRun, Run, Settings
from libra_opt.benchmark.suite import run_case
from libra_opt.benchmark.summary import growths, summarise, summarise_peers
from libra_opt.cli.bench_objectives import run_objectives
from libra_opt.cli.bench_table import show_report
from libra_opt.cli.documents import changed_options, deliver
from libra_opt.cli.parser import BENCH_FAMILIES, PEERS
from libra_opt.cli.progress import progress_bar
from libra_opt.cli.terminal import Exit
from libra_opt.errors import Fault, InputError

__all__ = ["run"]

_WIDTH_OFF_TERMINAL: Final = 160
_NO_PEERS: Final = "none"
_Usual = tuple[tuple[str, ...], tuple[int, ...], float]

_QUICK: Final[_Usual] = ("plain", "full"), (100, 1_000, 10_000), 10.0
_FULL: Final[_Usual] = BENCH_FAMILIES, (100, 1_000, 10_000, 100_000), 120.0
"""Families, sizes and budget of the peers, unless given."""


def run(arguments: argparse.Namespace) -> int:
    """Measure, show the tables, and write the JSON where it is asked for."""
    settings = _settings(arguments)
    if arguments.objectives is not None:
        return run_objectives(arguments, settings)
    if arguments.json not in (None, STANDARD_STREAM):
        check_writable(Path(arguments.json))
    cases = all_cases(settings)
    report = _measure(settings, cases)
    stream = sys.stderr if arguments.json == STANDARD_STREAM else sys.stdout
    show_report(report, Console(file=stream, width=None if stream.isatty() else _WIDTH_OFF_TERMINAL, highlight=False))
    if arguments.json is not None:
        deliver(report.model_dump_json(), arguments.json)
    return Exit.DONE


def _settings(arguments: argparse.Namespace) -> Settings:
    families, sizes, budget = _FULL if arguments.full else _QUICK
    families = families if arguments.families is None else tuple(arguments.families)
    sizes = sizes if arguments.sizes is None else tuple(arguments.sizes)
    budget = budget if arguments.budget is None else arguments.budget
    peers = PEERS if arguments.peers is None else tuple(arguments.peers)
    faults = [Fault("--sizes", f"{size} is no number of jobs; give 1 to 1000000") for size in sizes if not 1 <= size <= 1_000_000]
    if arguments.seeds < 1:
        faults.append(Fault("--seeds", f"{arguments.seeds} measures nothing; give 1 or more"))
    if arguments.peer_seeds < 0:
        faults.append(Fault("--peer-seeds", f"{arguments.peer_seeds} is negative; give 0 or more"))
    if arguments.starts < 0:
        faults.append(Fault("--starts", f"{arguments.starts} is negative; give 0 or more"))
    if not 0 < budget < float("inf"):
        faults.append(Fault("--budget", f"{budget} is not a positive number; give wall-clock seconds per peer, such as 60"))
    if _NO_PEERS in peers and len(peers) > 1:
        faults.append(Fault("--peers", f"{_NO_PEERS!r} stands alone; leave it out or name no others"))
    if faults:
        raise InputError("the command line", tuple(faults))
    return Settings(
        families=tuple(dict.fromkeys(families)),
        sizes=tuple(sorted(set(sizes))),
        n_seeds=arguments.seeds,
        peers=() if _NO_PEERS in peers else tuple(dict.fromkeys(peers)),
        n_peer_seeds=arguments.peer_seeds,
        n_starts=arguments.starts,
        budget_seconds=budget,
        instances=arguments.instances,
        **changed_options(arguments),
    )


def _measure(settings: Settings, cases: tuple[Case, ...]) -> Report:
    load = os.getloadavg()[0]
    runs: list[Run] = []
    peer_runs: list[PeerRun] = []
    with progress_bar(len(cases)) as (tell, advance):
        processes = None
        if settings.n_starts:
            tell("processes")
            processes = process_times(settings.n_starts)
        for case in cases:
            name = case.label if case.file is not None else f"{case.label}, {case.n_jobs} jobs, seed {case.seed}"
            one, of_peers = run_case(case, settings, partial(_tell_of, tell, name))
            runs.append(one)
            peer_runs += of_peers
            advance()
    summary = summarise(runs)
    return Report(
        machine=machine((load, os.getloadavg()[0])),
        settings=settings,
        processes=processes,
        summary=summary,
        growth=growths(summary),
        peer_summary=summarise_peers(runs, peer_runs),
        runs=tuple(runs),
        peer_runs=tuple(peer_runs),
    )


def _tell_of(tell: Callable[[str], None], name: str, doing: str) -> None:
    tell(f"{name}: {doing}")
