"""What a period did, as lines for people and as one object for machines."""

import json
from collections import Counter
from typing import Any

from libra_opt.controller.loop import Round, Turn
from libra_opt.domain import Plan, write

__all__ = ["as_json", "summary", "text_lines"]


def summary(plan: Plan) -> str:
    """Return what a plan does to how many jobs, and how good it is."""
    counts = Counter(job.action for job in plan.jobs)
    actions = ", ".join(f"{n} {action}" for action, n in sorted(counts.items())) or "no jobs"
    return f"{actions}; value {plan.certificate.objective:g} of at most {plan.certificate.bound:g} ({plan.certificate.status})"


def text_lines(turn: Turn, *, is_dry: bool) -> list[str]:
    """Return what happened in a period, a line each: every command exactly as it is, and what became of it."""
    lines = [f"period {turn.index}: {summary(each.plan)}" + (" (again, after a refusal)" if i else "") for i, each in enumerate(turn.rounds)]
    blocks = [[line, *_round_lines(each, is_dry=is_dry)] for line, each in zip(lines, turn.rounds, strict=True)]
    told = [line for block in blocks for line in block]
    if turn.unavailable:
        told.append(f"period {turn.index}: nothing {'more ' if turn.rounds else ''}done, no answer: {turn.unavailable}")
    return told


def _round_lines(each: Round, *, is_dry: bool) -> list[str]:
    lines = [f"  note: {note}" for note in each.notes]
    if is_dry:
        return [*lines, *(f"  would: {command.text}" for command in each.commands)]
    lines += [f"  {outcome.status}: {outcome.command.text}" + (f" -- {outcome.message}" if outcome.message else "") for outcome in each.applied.outcomes]
    return [*lines, *(f"  held back: {command.text} -- {reason}" for command, reason in each.applied.held_back)]


def as_json(turn: Turn) -> str:
    """Return a period as one JSON object on one line."""
    return json.dumps(
        {
            "format": "libra-opt/turn/1",
            "period": turn.index,
            "at": turn.at,
            "unavailable": turn.unavailable or None,
            "outcome": turn.outcome.model_dump(mode="json", exclude_none=True) if turn.outcome is not None else None,
            "setpoint": turn.setpoint.model_dump(mode="json"),
            "rounds": [_round_json(each) for each in turn.rounds],
        },
        separators=(",", ":"),
    )


def _round_json(each: Round) -> dict[str, Any]:
    return {
        "plan": json.loads(write(each.plan)),
        "notes": list(each.notes),
        "commands": [command.model_dump(mode="json") for command in each.commands],
        "outcomes": [outcome.model_dump(mode="json") for outcome in each.applied.outcomes],
        "held_back": [{"key": command.key, "text": command.text, "reason": reason} for command, reason in each.applied.held_back],
    }
