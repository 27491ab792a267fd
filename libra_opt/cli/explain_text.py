"""Explanations as lines of text."""

from collections.abc import Iterator

from libra_opt.explanation import Change, Explanation, WantedBundle

__all__ = ["change_text", "explanation_lines", "number"]


def number(value: float | None) -> str:
    """Return a value or a price, a dash for none."""
    return "-" if value is None else f"{value:.6g}"


def explanation_lines(told: Explanation) -> Iterator[str]:
    """Yield an explanation, line by line."""
    yield f"{told.job}: {told.action}, {100 * told.service:.1f} % of its demand is served"
    yield f"  why       {told.reason.message} ({told.reason.code})"
    if told.reason.kueue_reason is not None:
        yield f"  in Kueue  {told.reason.kueue_reason}"
    if told.reason.binding is not None:
        yield f"  bound by  {told.reason.binding.in_words}"
    if told.wanted is not None:
        yield from _wanted_lines(told.wanted)
    if told.changes:
        yield "  what would have helped, the cheapest first (each was tried by planning again; ~ with less effort)"
        for change in told.changes:
            yield f"    {change_text(change)}"
    else:
        yield f"  no change helps: {told.why_none}"
    limit = ", the most that were allowed: --solves allows more" if told.is_limit_hit else ""
    yield f"  {told.solves} changed states were planned{limit}."


def change_text(change: Change) -> str:
    """Return a change as `whatif` takes it, what it costs, and what comes of it."""
    settings = " ".join(f"--set {setting}" for setting in change.settings)
    least = "" if change.is_least else "; less may do"
    outcome = f"{change.action}, {100 * change.service:.1f} %"
    return f"{'' if change.is_confirmed else '~ '}{change.kind.replace('_', ' ')}: {settings} (share {change.share:.4g}{least}) -> {outcome}"


def _wanted_lines(wanted: WantedBundle) -> Iterator[str]:
    stages = "; ".join(
        f"{stage.name} in {stage.pool}: {', '.join(f'{amount} {name}' for name, amount in stage.resources.items() if amount)}" for stage in wanted.stages
    )
    verdict = "the price is above the value" if wanted.price > wanted.value * (1 + 1e-9) else "the price is not above the value: whole amounts decide"
    yield f"  wanted    {stages} ({100 * wanted.service:.1f} %)"
    yield f"            worth {wanted.value:.6g} more, and takes {wanted.price:.6g} from others: {verdict}"
    for part in wanted.parts:
        of = f" of {part.name}" if part.name else ""
        yield f"            {part.amount:+.6g} {part.resource} ({part.kind.replace('_', ' ')}{of}): {part.price:.6g}"
