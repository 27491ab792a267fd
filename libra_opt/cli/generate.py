"""`libra-opt generate`: a synthetic, contended state."""

import argparse

import numpy as np

from libra_opt.adapters.synthetic import generate
from libra_opt.cli.documents import deliver
from libra_opt.cli.terminal import Exit
from libra_opt.domain import write
from libra_opt.errors import Fault, InputError

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Generate one state and print or write it."""
    faults = []
    if arguments.jobs < 0:
        faults.append(Fault("--jobs", f"{arguments.jobs} is negative; give 0 or more"))
    if arguments.seed < 0:
        faults.append(Fault("--seed", f"{arguments.seed} is negative; give 0 or more"))
    if not 0 < arguments.contention < float("inf"):
        faults.append(Fault("--contention", f"{arguments.contention} is not a positive number; give demand over supply, such as 3"))
    if faults:
        raise InputError("the command line", tuple(faults))
    generator = np.random.default_rng(arguments.seed)
    about = f"{arguments.jobs} jobs, family {arguments.family}, seed {arguments.seed}, contention {arguments.contention:g}"
    deliver(write(generate(arguments.family, arguments.jobs, generator, contention=arguments.contention, title=about)), arguments.output)
    return Exit.DONE
