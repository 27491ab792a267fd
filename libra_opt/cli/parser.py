"""What can be asked on the command line; parsing only, and nothing heavy is imported for it."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

__all__ = [
    "BACKENDS",
    "BENCH_FAMILIES",
    "COMPARED",
    "ENGINES",
    "FAMILIES",
    "GENERATED",
    "MEANINGS",
    "OVERRIDES",
    "PEERS",
    "RECORDED",
    "SCHEDULERS",
    "build_parser",
]

BACKENDS = ("auto", "cp_sat", "lp_relaxation", "greedy")
OVERRIDES = ("backend", "gap", "effort", "seed")
FAMILIES = ("plain", "full", "templates", "rigid", "five")
BENCH_FAMILIES = ("plain", "full", "templates", "rigid", "30x", "full-30x", "five", "fits", "recorded")
COMPARED = ("proportional_fairness", "on_time", "max_min", "drf")
PEERS = ("cp_sat", "highs", "highs_grid", "lp_clarabel", "lp_highs", "greedy")
RECORDED = ("genai2026", "dlrm2025", "spotgpu2026", "agentcgroup", "search_r1")
GENERATED = ("phase_switching",)
ENGINES = ("local", "ray")
SCHEDULERS = ("file", "kubernetes", "ray", "slurm")
MEANINGS = ("work", "weighted_work", "steps", "trajectories", "jobs", "tokens")

_EPILOG = """\
exit codes:
  0  done
  1  verify: the plan breaks a rule; replay: a plan differs; diff: the plans do not give every job the same
  2  bad input or usage; every fault is listed on standard error, nothing is written
  3  a fault of libra-opt itself; please report it

FILE may be packed with gzip; `-` is standard input.
"""

_VERIFY = "Check a plan against its state, rule by rule. A plan made with options on the command line answers the state with these options; give them here too."

_EXPLAIN = """\
Say why each job got what it got: the rule and the limit that bind, Kueue's word, and what the job would rather have against what that takes from others. Of one
JOB also the cheapest change that would have admitted or grown it; every change told was tried by planning the changed state. docs/reasons.md lists the codes.
"""

_WHATIF = """\
Plan a state as it is and as it would be, and tell the difference. A setting is PATH=VALUE, PATH=+AMOUNT or PATH=-AMOUNT (== sets what begins with a sign);
paths go by name: pools.a100.gpu=+8, jobs.a.priority=2, queues.q.nominal_quota.gpu=16, jobs.b.stages.rollout.max_quota.gpu=4, options.hold_periods=4.
"""

_DIFF = """\
Compare two plans job by job. The exit code is 0 where both give every job the same amounts in the same pools, 1 where they do not, 2 for bad input.
"""

_REPLAY = """\
Plan every state of a recording again and compare every plan with the recorded one, byte for byte; the first difference is named with its line, its place and
both values. Of a recording whose full parts were set aside, name the file that was written: its parts are read first.
"""

_SERVE = """\
Answer POST /v1/allocate, /v1/validate and /v1/verify over HTTP until told to stop (SIGTERM, Ctrl-C); what is in then is finished. Others than this machine may
ask only with a token, unless --open is given. Needs the extra libra-opt[service].
"""

_BENCH = """\
Measure whole calls by family and size, phase by phase, each in a process of its own, and on the same states what a user would pick instead. Takes some
minutes; --full takes hours. Run it on an idle machine.
"""

_BACKTEST = """\
Predict series at moments of their second half from what was known by then, and score the predictions against baselines. Without FILE and --traces, generated
series are used. A FILE holds comma-separated lines of series,period,value and, where they are known, resource,step,phase.
"""

_SIMULATE = """\
Run policies on the same simulated jobs and compare them: same workload, same noise, same rules, seed by seed. WORKLOAD is generated, `recorded`, or a document
(`libra-opt workload` makes one; `-` is standard input).
"""

_SWEEP = """\
Run a grid: every policy, seed, period and combination of parameters (--set load=0.9,1.2 is two of them). What is done is kept at once; called again after an
interruption, or with more seeds, only what is missing runs. A cell that fails is told with its cell, is run again the next time, and stops no other.
"""

_REPORT = """\
Write one self-contained HTML page: the policies compared, with intervals; what every job got period by period, queue, utilisation, kills and preemptions; the
plans' reasons; the curve over the period. Of a plan: utilisation, decisions, reasons with values and prices, shadow prices. It needs no network, and the
extra libra-opt[report].
"""

_RUN = """\
Once every period: observe the scheduler, plan, do what the plan says, learn from what came of it. --dry-run prints exactly what would be done and does nothing.
SIGTERM and Ctrl-C end it after the period at work.
"""


class _Version(argparse.Action):
    """`--version`, which looks the version up only when asked."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: str | Sequence[object] | None, option_string: str | None = None
    ) -> None:
        """Print the version and end."""
        del namespace, values, option_string
        sys.stdout.write(f"libra-opt {version('libra-opt')}\n")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line; the namespace has `command`, the module that runs it."""
    parser = argparse.ArgumentParser(
        prog="libra-opt",
        description="Decide how much GPU, GPU memory, CPU, host memory and network each job on a shared cluster gets in the next period.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and end")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_solve(commands.add_parser("solve", help="plan one or several states", description="Plan one or several states; every plan is verified."))
    _add_verify(commands.add_parser("verify", help="check a plan against its state, rule by rule", description=_VERIFY))
    _add_explain(commands.add_parser("explain", help="say why each job got what it got, and what would have helped it", description=_EXPLAIN))
    _add_whatif(commands.add_parser("whatif", help="say what a change of the state would do", description=_WHATIF))
    _add_diff(commands.add_parser("diff", help="compare two plans job by job", description=_DIFF))
    _add_validate(commands.add_parser("validate", help="check documents without planning"))
    _add_replay(commands.add_parser("replay", help="plan a recording again and compare byte for byte", description=_REPLAY))
    _add_serve(commands.add_parser("serve", help="answer over HTTP", description=_SERVE))
    _add_schema(commands.add_parser("schema", help="print the JSON schema of a document"))
    _add_generate(commands.add_parser("generate", help="make a synthetic, contended state"))
    _add_convert(commands.add_parser("convert", help="turn a recorded trace into states"))
    _add_export(commands.add_parser("export", help="write the program of a state for another solver"))
    _add_backtest(commands.add_parser("backtest", help="score the forecast on recorded series", description=_BACKTEST))
    _add_bench(commands.add_parser("bench", help="measure how fast plans are made, beside the alternatives", description=_BENCH))
    _add_simulate(commands.add_parser("simulate", help="compare policies on a simulated cluster", description=_SIMULATE))
    _add_sweep(commands.add_parser("sweep", help="compare policies over a grid of parameters and periods", description=_SWEEP))
    _add_report(commands.add_parser("report", help="draw results of simulate and sweep, or a plan, on one page", description=_REPORT))
    _add_workload(commands.add_parser("workload", help="make a workload for the simulator"))
    _add_run(commands.add_parser("run", help="run the loop beside a scheduler", description=_RUN))
    return parser


def _add_solve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a state, or a recording of states and plans")
    _add_overrides(parser)
    _add_pair(parser)
    parser.add_argument("-o", "--output", metavar="PLAN", help="write the plan here; for several states a directory")
    parser.add_argument("--json", action="store_true", help="plans as JSON on standard output, one per line, instead of a table")
    parser.add_argument("--all", action="store_true", help="show every job in the table, however many there are")


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a recording, or a part of one")
    parser.add_argument("--json", action="store_true", help="one JSON object per recording on standard output")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8080, metavar="N", help="0 for any that is free (default: %(default)s)")
    parser.add_argument("--token-file", metavar="FILE", help="callers must send the token in it: Authorization: Bearer TOKEN")
    parser.add_argument("--open", action="store_true", help="let others than this machine ask without a token")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes that plan at a time (default: %(default)s)")
    parser.add_argument("--waiting", type=int, default=64, metavar="N", help="requests that may wait for one (default: %(default)s)")
    limits = parser.add_argument_group("limits of one request")
    limits.add_argument("--most-bytes", type=int, default=16 << 20, metavar="N", help="of its body (default: %(default)s)")
    limits.add_argument("--most-effort", type=float, default=10, metavar="N", help="of the state's options (default: %(default)s)")
    limits.add_argument("--seconds", type=float, default=60, metavar="S", help="waiting, and again at work (default: %(default)s)")
    limits.add_argument("--read-seconds", type=float, default=10, metavar="S", help="each of head, body and answer on the wire (default: %(default)s)")
    limits.add_argument("--worker-bytes", type=int, default=8 << 30, metavar="N", help="address space of a worker (default: %(default)s)")
    parser.add_argument("--most-connections", type=int, default=512, metavar="N", help="at a time (default: %(default)s)")


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", metavar="STATE")
    parser.add_argument("plan", metavar="PLAN")
    _add_overrides(parser)
    _add_pair(parser)
    parser.add_argument("--json", action="store_true", help="the report as JSON on standard output")


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", metavar="STATE")
    parser.add_argument("job", nargs="?", metavar="JOB", help="a job by its id, in full (default: a table of all jobs)")
    _add_overrides(parser)
    parser.add_argument("--plan", metavar="PLAN", help="the plan of the state (default: it is made)")
    parser.add_argument("--solves", type=int, metavar="N", help="most changed states that are planned for one job (default: 100; with more than 60 jobs, 40)")
    parser.add_argument("--json", action="store_true", help="the explanation as JSON on standard output")
    parser.add_argument("--all", action="store_true", help="show every job in the table, however many there are")


def _add_whatif(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", metavar="STATE")
    parser.add_argument("--set", action="append", metavar="PATH=VALUE", help="a change of the state; may be repeated, and all are made")
    _add_overrides(parser)
    parser.add_argument("--json", action="store_true", help="the difference as JSON on standard output")
    parser.add_argument("--all", action="store_true", help="show every job that changes, however many there are")


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="PLAN")
    parser.add_argument("after", metavar="PLAN")
    parser.add_argument("--json", action="store_true", help="the difference as JSON on standard output")
    parser.add_argument("--all", action="store_true", help="show every job that differs, however many there are")


def _add_pair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pair", type=int, metavar="N", help="which pair of a recording (default: the last)")


def _add_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a state, a plan or a recording")


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("state", "plan", "workload"))
    _add_output(parser)


def _add_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, required=True, metavar="N", help="how many jobs")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the generator (default: %(default)s)")
    parser.add_argument("--family", choices=FAMILIES, default="plain", help="what kind of state (default: %(default)s)")
    parser.add_argument("--contention", type=float, default=3.0, metavar="X", help="demand over supply (default: %(default)s)")
    _add_output(parser)


def _add_convert(parser: argparse.ArgumentParser) -> None:
    traces = parser.add_subparsers(dest="trace", required=True, metavar="TRACE")
    fgd2023 = traces.add_parser("fgd2023", help="Alibaba's GPU-sharing pods of 2023 (openb node and pod lists)")
    fgd2023.add_argument("nodes", metavar="NODES", help="node list, CSV")
    fgd2023.add_argument("pods", metavar="PODS", help="pod list, CSV")
    fgd2023.add_argument("-o", "--output", required=True, metavar="DIR", help="directory for the states; made if missing")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", metavar="STATE")
    parser.add_argument("--format", required=True, choices=("mathprog-data", "lp", "mps"), help="data for models/allocation.mod, or the program as LP or MPS")
    _add_output(parser)


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--families", nargs="+", choices=BENCH_FAMILIES, metavar="FAMILY", help=f"of {', '.join(BENCH_FAMILIES)} (default: plain full)")
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="numbers of jobs (default: 100 1000 10000); recorded instances have their own")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="how many states of each family and size (default: %(default)s)")
    parser.add_argument("--peers", nargs="+", choices=(*PEERS, "none"), metavar="PEER", help=f"of {', '.join(PEERS)}, or none (default: all)")
    parser.add_argument("--peer-seeds", type=int, default=1, metavar="N", help="how many of the seeds the peers get (default: %(default)s)")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="wall clock per peer and state (default: 10)")
    told = f"of {', '.join(COMPARED)}: nothing but what these cost beside weighted_throughput, by turns in one process"
    parser.add_argument("--objectives", nargs="+", choices=COMPARED, metavar="OBJECTIVE", help=told)
    parser.add_argument("--effort", type=float, metavar="N", help="effort, over that of the states")
    parser.add_argument("--gap", type=float, metavar="SHARE", help="gap that is good enough, over that of the states")
    parser.add_argument("--starts", type=int, default=5, metavar="N", help="how often whole processes are timed, 0 for not at all (default: %(default)s)")
    parser.add_argument("--instances", default="instances/recorded", metavar="DIR", help="directory of the recorded instances (default: %(default)s)")
    parser.add_argument("--full", action="store_true", help="every family, up to 100000 jobs, 120 s for each peer, unless given")
    parser.add_argument("--json", metavar="FILE", help="write all measurements as JSON; `-` is standard output, and the tables go to standard error")


def _add_backtest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="series of your own, CSV")
    parser.add_argument("--traces", metavar="DIR", help="directory of recorded traces, one directory per source in it")
    parser.add_argument("--sets", metavar="NAME,..", help=f"which of {', '.join((*RECORDED, *GENERATED))} (default: all that are there)")
    parser.add_argument("--methods", metavar="NAME,..", help="which methods (default: all); auto, else the last, is compared with the baselines")
    parser.add_argument("--horizon", type=int, default=1, metavar="H", help="periods to predict (default: %(default)s)")
    parser.add_argument("--window", type=int, default=128, metavar="N", help="periods of history given (default: %(default)s)")
    parser.add_argument("--origins", type=int, default=256, metavar="N", help="moments per series at most (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the generated series (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON here; `-` is standard output, and the tables go to standard error")
    parser.add_argument("--plot", metavar="FILE", help="draw the result here: .png, .svg or .pdf (needs the extra libra-opt[plot])")


def _add_simulate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", nargs="?", metavar="WORKLOAD", help="a generated workload by its name, or a workload FILE")
    parser.add_argument("--list", action="store_true", help="list workloads with their parameters, policies and meanings of throughput, and end")
    _add_cells(parser)
    parser.add_argument("--period", metavar="TIME", help="rebalancing period, such as 60s or 2m (default: the workload's)")
    parser.add_argument("--json", metavar="FILE", help="write measures as JSON Lines; `-` is standard output, and the tables go to standard error")
    parser.add_argument("--record", metavar="FILE", help="write measures, and what happened in the first seed's runs, for `libra-opt report`")


def _add_cells(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--policies", default="static_best,libra,bound", metavar="NAME,..", help="which policies; see `simulate --list` (default: %(default)s)")
    parser.add_argument("--seeds", default="1-4", metavar="LIST", help="seeds of workload and noise, such as 1-8 or 1,3 (default: %(default)s)")
    parser.add_argument("--set", action="append", metavar="NAME=VALUE", help="a parameter of the generated workload; may be repeated")
    parser.add_argument("--traces", metavar="DIR", help="for the workload `recorded`: directory of traces, one directory per source in it")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes run at a time (default: %(default)s)")
    _add_comparison(parser)


def _add_comparison(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--throughput", choices=MEANINGS, default="work", help="which throughput is compared (default: %(default)s)")
    parser.add_argument("--against", default="static_best", metavar="POLICY", help="the policy that others are compared with (default: %(default)s)")


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULTS", help="what `simulate --record` or `sweep` wrote, or a plan; `-` is standard input")
    parser.add_argument("--state", metavar="STATE", help="the state of the plan: amounts get their units, and jobs what they held")
    parser.add_argument("-o", "--output", required=True, metavar="PAGE", help="the page, such as report.html")
    parser.add_argument("--title", metavar="TEXT", help="its title (default: names the results)")
    _add_comparison(parser)


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", metavar="WORKLOAD", help="a generated workload by its name, or a workload FILE")
    parser.add_argument(
        "-o", "--output", required=True, metavar="RESULTS", help="results: .jsonl, .jsonl.gz or .parquet; cells it holds already are not run again"
    )
    _add_cells(parser)
    parser.add_argument("--periods", metavar="TIME,..", help="rebalancing periods, such as 15s,60s,5m (default: the workload's)")
    parser.add_argument(
        "--engine", choices=ENGINES, default="local", help="joblib on this machine, or Ray: the cluster of RAY_ADDRESS, else one here (default: %(default)s)"
    )
    parser.add_argument(
        "--timelines",
        choices=("first", "none", "all"),
        default="first",
        help="keep what happened in the runs of the first seed and period (default: %(default)s)",
    )


def _add_workload(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a generated workload; see `simulate --list`")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the generator (default: %(default)s)")
    parser.add_argument("--set", action="append", metavar="NAME=VALUE", help="a parameter of the workload; may be repeated")
    parser.add_argument("--traces", metavar="DIR", help="for `recorded`: directory of traces, one directory per source in it")
    _add_output(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scheduler", choices=SCHEDULERS, help="beside which scheduler (default: kind in the section [scheduler])")
    parser.add_argument("--config", required=True, metavar="FILE", help="configuration, TOML; see docs/loop.md")
    parser.add_argument("--period", default="60s", metavar="TIME", help="length of a period, such as 60s or 2m (default: %(default)s)")
    parser.add_argument("--periods", type=int, metavar="N", help="end after so many periods (default: go on until stopped)")
    parser.add_argument("--dry-run", action="store_true", help="print what would be done, and do nothing")
    parser.add_argument("--recording", metavar="FILE", help="append every state and plan here, and continue from what it holds")
    parser.add_argument("--page", metavar="FILE", help="write the current plan and its reasons here every period, as a page that reloads itself (.html)")
    parser.add_argument("--json", action="store_true", help="every period as one JSON object on a line of standard output")


def _add_overrides(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("options put over those of the state")
    options.add_argument("--backend", choices=BACKENDS, help="who solves (default: as the state says, else auto)")
    options.add_argument("--gap", type=float, metavar="SHARE", help="relative gap that is good enough, 0..1")
    options.add_argument("--effort", type=float, metavar="N", help="deterministic effort, about seconds of an idle core")
    options.add_argument("--seed", type=int, metavar="N", help="seed of the solver")


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of to standard output")
