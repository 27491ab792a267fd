"""How two plans differ: per job in action, service, pools and amounts, and as a whole in value and proof."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from pydantic import Field

from libra_opt.domain import Amounts, Plan, PlannedJob
from libra_opt.domain.base import Finite, Flag, Name, Text, Value
from libra_opt.domain.quantity import WrittenAmount, exact, parse, render

__all__ = ["AmountChange", "Difference", "JobChange", "difference"]

_SAME: Final = 1e-9
"""Services and values that differ by less, relatively, are the same."""


class AmountChange(Value):
    """One amount of one stage: what it was and what it is; a stage that is not there holds 0.

    Attributes
    ----------
    stage, resource
        Of what.
    before, after
        As the plans write it.
    change
        What is added (with a sign), as people write it; empty where the two are not of one unit.
    """

    stage: Name
    resource: Name
    before: WrittenAmount
    after: WrittenAmount
    change: Text


class JobChange(Value):
    """One job of which the plans do not say the same.

    Attributes
    ----------
    id
        The job.
    actions, services, pools, codes
        What the first and the second plan say: action, service 0..1, the pools of its stages (``stage: pool`` where there are several), and the code
        of the reason; None for a plan that does not have the job.
    amounts
        What its stages hold more or less of.
    """

    id: Name
    actions: tuple[Text | None, Text | None]
    services: tuple[float | None, float | None]
    pools: tuple[Text, Text]
    codes: tuple[Text | None, Text | None]
    amounts: tuple[AmountChange, ...] = ()


class Difference(Value):
    """What is different in a second plan.

    Attributes
    ----------
    is_same_decision
        Whether both plans give every job the same amounts in the same pools.
    is_same_state
        Whether both answer the same state.
    value, bound, gap
        Of the first and the second plan.
    status
        Of the certificates.
    jobs
        The jobs that differ, in the order of the first plan, then those that only the second has.
    n_same
        How many jobs are alike.
    """

    is_same_decision: Flag
    is_same_state: Flag
    value: tuple[Finite, Finite]
    bound: tuple[Finite, Finite]
    gap: tuple[float, float]
    status: tuple[Text, Text]
    jobs: tuple[JobChange, ...] = Field(default=())
    n_same: int = 0


def difference(before: Plan, after: Plan) -> Difference:
    """Return how `after` differs from `before`."""
    first, second = ({job.id: job for job in plan.jobs} for plan in (before, after))
    jobs = [_job(name, first.get(name), second.get(name)) for name in dict.fromkeys((*first, *second))]
    found = tuple(job for job in jobs if job is not None)
    one, two = before.certificate, after.certificate
    return Difference(
        is_same_decision=not any(_is_other_decision(job) for job in found),
        is_same_state=before.state_digest == after.state_digest,
        value=(one.objective, two.objective),
        bound=(one.bound, two.bound),
        gap=(one.gap, two.gap),
        status=(one.status, two.status),
        jobs=found,
        n_same=len(jobs) - len(found),
    )


def _is_other_decision(job: JobChange) -> bool:
    return bool(job.amounts) or job.pools[0] != job.pools[1] or None in job.actions


def _job(name: str, before: PlannedJob | None, after: PlannedJob | None) -> JobChange | None:
    if before is not None and after is not None and before == after:
        return None
    amounts = tuple(_amounts(before, after))
    change = JobChange(
        id=name,
        actions=(before.action if before else None, after.action if after else None),
        services=(before.service if before else None, after.service if after else None),
        pools=(_pools(before), _pools(after)),
        codes=(before.reason.code if before else None, after.reason.code if after else None),
        amounts=amounts,
    )
    is_alike = not amounts and change.pools[0] == change.pools[1] and change.actions[0] == change.actions[1] and change.codes[0] == change.codes[1]
    return None if is_alike and before is not None and after is not None and _is_near(before.service, after.service) else change


def _amounts(before: PlannedJob | None, after: PlannedJob | None) -> list[AmountChange]:
    held: list[dict[str, Amounts]] = [{stage.name: stage.resources for stage in job.stages} if job else {} for job in (before, after)]
    found = []
    for stage in dict.fromkeys((*held[0], *held[1])):
        one, two = (amounts.get(stage, Amounts()) for amounts in held)
        for resource in dict.fromkeys((*one, *two)):
            change = _change(one.get(resource, 0), two.get(resource, 0))
            if change is not None:
                found.append(AmountChange(stage=stage, resource=resource, before=one.get(resource, 0), after=two.get(resource, 0), change=change))
    return found


def _change(before: WrittenAmount, after: WrittenAmount) -> str | None:
    """Return by how much two amounts differ, None for not at all; a plan does not say its units, so a number and bytes are not subtracted."""
    if before == after:
        return None
    amounts = (before, after)
    is_suffixed = [isinstance(amount, str) and amount[-1:].isalpha() for amount in amounts]
    if all(flag or not amount for flag, amount in zip(is_suffixed, amounts, strict=True)):
        more = _size(after, "B") - _size(before, "B")
        return _signed_bytes(more) if more else None
    if any(is_suffixed):
        return ""
    more = _size(after, "") - _size(before, "")
    return f"{float(more):+g}" if more else None


def _size(amount: WrittenAmount, unit: str) -> Fraction:
    return parse(amount, unit) if isinstance(amount, str) else exact(amount)


def _signed_bytes(more: Fraction) -> str:
    kib = abs(more) / 1024
    size = render(kib.numerator, "KiB", Fraction(1)) if kib.denominator == 1 else f"{float(abs(more)):g}"
    return f"{'+' if more > 0 else '-'}{size}"


def _pools(job: PlannedJob | None) -> str:
    stages: Sequence[object] = job.stages if job else ()
    if not stages or job is None:
        return ""
    return job.stages[0].pool if len(job.stages) == 1 else ", ".join(f"{stage.name}: {stage.pool}" for stage in job.stages)


def _is_near(one: float, two: float) -> bool:
    return abs(one - two) <= _SAME * max(1.0, abs(one), abs(two))
