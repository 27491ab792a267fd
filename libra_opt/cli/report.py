"""`libra-opt report`: results, or one plan, as one page that needs no network."""

import argparse
from pathlib import Path

from libra_opt.adapters.files import check_writable, write_whole
from libra_opt.cli.documents import is_plan, open_plan, open_state, title
from libra_opt.cli.terminal import Exit, message
from libra_opt.errors import Fault, InputError
from libra_opt.experiments.report import page, plan_page, require_plotly
from libra_opt.experiments.storage import read_results
from libra_opt.simulation.registry import POLICIES

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Read results and write the page."""
    if arguments.against not in POLICIES:
        raise InputError("the command line", (Fault("--against", f"{arguments.against!r} is no policy; known are {', '.join(POLICIES)}"),))
    target = Path(arguments.output)
    check_writable(target)
    require_plotly()
    if is_plan(arguments.results):
        return _plan_page(arguments, target)
    if arguments.state is not None:
        raise InputError("the command line", (Fault("--state", "goes with a plan, and this is none; leave it out for results"),))
    results = read_results(arguments.results)
    name = arguments.title or f"libra-opt: {Path(title(arguments.results)).name}"
    write_whole({target: page(results, name, meaning=arguments.throughput, baseline=arguments.against)})
    message(f"report of {len(results)} results written to {target}")
    return Exit.DONE


def _plan_page(arguments: argparse.Namespace, target: Path) -> int:
    plan = open_plan(arguments.results)
    state = open_state(arguments.state) if arguments.state is not None else None
    if state is not None and state.digest != plan.state_digest:
        raise InputError(arguments.state, (Fault("", "is not the state of this plan; give the one it was made for, with the same options"),))
    write_whole({target: plan_page(plan, arguments.title or f"libra-opt: {Path(title(arguments.results)).name}", state)})
    message(f"report of a plan of {len(plan.jobs)} jobs written to {target}")
    return Exit.DONE
