"""`libra-opt verify`: check a plan against its state, rule by rule."""

import argparse
import json

from libra_opt.cli.documents import changed_options, open_plan, open_state
from libra_opt.cli.terminal import Exit, printable, result
from libra_opt.verification import verify

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    """Verify one plan; every broken rule is printed with where, why and by how much."""
    state, plan = open_state(arguments.state, changed_options(arguments), arguments.pair), open_plan(arguments.plan, arguments.pair)
    report = verify(state, plan)
    if arguments.json:
        broken = [{"rule": fault.rule, "where": fault.where, "message": fault.message, "margin": fault.margin} for fault in report.broken]
        result(json.dumps({"holds": report.holds, "broken": broken}, ensure_ascii=False))
    elif report.holds:
        result(f"The plan keeps every rule ({len(plan.jobs)} jobs).")
    else:
        for fault in report.broken:
            result(printable(f"{fault.rule} {fault.where}: {fault.message} (margin {fault.margin})"))
        result(f"The plan breaks {len(report.broken)} rule(s).")
    return Exit.DONE if report.holds else Exit.BROKEN
