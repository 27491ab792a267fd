"""What can no longer be met, said where people look for it: in the reason of the job, and in the warnings of the plan."""

from collections.abc import Sequence

from libra_opt.domain.plan import PlannedJob
from libra_opt.domain.state import State

__all__ = ["lateness_told"]

_MOST_TOLD = 100
"""So many jobs have a warning each; of more, only how many there are is said."""


def lateness_told(state: State, jobs: Sequence[PlannedJob]) -> tuple[tuple[PlannedJob, ...], tuple[str, ...]]:
    """Return the planned jobs, those that full service from now on cannot bring in time with that in their reason, and a warning for each.

    Only the objective `on_time` looks at deadlines; under another nothing is changed.
    """
    if state.options.objective != "on_time":
        return tuple(jobs), ()
    told, warnings = list(jobs), []
    for j, job in enumerate(state.jobs):
        if job.deadline is None or job.remaining is None:
            continue
        until = job.deadline - state.period.begins
        if job.remaining > until:
            late = (
                f"its deadline can no longer be met: {job.remaining:g} s of full service are left and {until:g} s remain, "
                f"so it ends {job.remaining - until:g} s late at least"
            )
            reason = told[j].reason.replace({"message": f"{told[j].reason.message}; {late}"})
            told[j] = told[j].replace({"reason": reason})
            warnings.append(f"job {job.id!r}: {late}")
    if len(warnings) > _MOST_TOLD:
        warnings = [*warnings[:_MOST_TOLD], f"{len(warnings) - _MOST_TOLD} more jobs can no longer meet their deadline"]
    return tuple(told), tuple(warnings)
