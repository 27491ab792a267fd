"""`libra-opt report`: results as one page that needs no network."""

import argparse
from pathlib import Path

from libra_opt.adapters.files import check_writable, write_whole
from libra_opt.cli.documents import title
from libra_opt.cli.terminal import Exit, message
from libra_opt.errors import Fault, InputError
from libra_opt.experiments.report import page, require_plotly
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
    results = read_results(arguments.results)
    name = arguments.title or f"libra-opt: {Path(title(arguments.results)).name}"
    write_whole({target: page(results, name, meaning=arguments.throughput, baseline=arguments.against)})
    message(f"report of {len(results)} results written to {target}")
    return Exit.DONE
