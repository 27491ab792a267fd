"""What can be asked on the command line; parsing only, and nothing heavy is imported for it."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

__all__ = ["BACKENDS", "FAMILIES", "OVERRIDES", "build_parser"]

BACKENDS = ("auto", "cp_sat", "lp_relaxation", "greedy")
OVERRIDES = ("backend", "gap", "effort", "seed")
FAMILIES = ("plain", "full", "templates", "rigid")

_EPILOG = """\
exit codes:
  0  done
  1  verify: the plan breaks a rule
  2  bad input or usage; every fault is listed on standard error, nothing is written
  3  a fault of libra-opt itself; please report it

FILE may be packed with gzip; `-` is standard input.
"""

_VERIFY = "Check a plan against its state, rule by rule. A plan made with options on the command line answers the state with these options; give them here too."


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
    _add_validate(commands.add_parser("validate", help="check documents without planning"))
    _add_schema(commands.add_parser("schema", help="print the JSON schema of a document"))
    _add_generate(commands.add_parser("generate", help="make a synthetic, contended state"))
    _add_convert(commands.add_parser("convert", help="turn a recorded trace into states"))
    _add_export(commands.add_parser("export", help="write the program of a state for another solver"))
    return parser


def _add_solve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a state")
    _add_overrides(parser)
    parser.add_argument("-o", "--output", metavar="PLAN", help="write the plan here; for several states a directory")
    parser.add_argument("--json", action="store_true", help="plans as JSON on standard output, one per line, instead of a table")
    parser.add_argument("--all", action="store_true", help="show every job in the table, however many there are")


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", metavar="STATE")
    parser.add_argument("plan", metavar="PLAN")
    _add_overrides(parser)
    parser.add_argument("--json", action="store_true", help="the report as JSON on standard output")


def _add_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a state or a plan")


def _add_schema(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("state", "plan"))
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


def _add_overrides(parser: argparse.ArgumentParser) -> None:
    options = parser.add_argument_group("options put over those of the state")
    options.add_argument("--backend", choices=BACKENDS, help="who solves (default: as the state says, else auto)")
    options.add_argument("--gap", type=float, metavar="SHARE", help="relative gap that is good enough, 0..1")
    options.add_argument("--effort", type=float, metavar="N", help="deterministic effort, about seconds of an idle core")
    options.add_argument("--seed", type=int, metavar="N", help="seed of the solver")


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of to standard output")
