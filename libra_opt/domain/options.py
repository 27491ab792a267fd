"""How a plan is to be made: objective, back-end, gap, effort and the price of moving."""

from typing import Annotated, Literal

from pydantic import Field

from libra_opt.domain.base import Flag, Natural, NonNegative, Positive, Value

__all__ = ["BackendName", "Options"]

BackendName = Literal["auto", "cp_sat", "lp_relaxation", "greedy"]


class Options(Value):
    """Options of one call.

    Attributes
    ----------
    objective
        The policy that values service.
    throughput
        Which of the four meanings a job's rate is read in; where a job states no rate, work is counted in cards.
    backend
        Who solves.
    gap
        Relative gap that is good enough, 0..1.
    effort
        Deterministic effort, about seconds of an idle core; never wall-clock time. 0 still gives a plan.
    seed
        Seed of the solver.
    preemption_budget_seconds
        Most seconds of lost service a period's moves may cost together (R12); null: no limit.
    hold_periods
        How many periods a plan is expected to hold; the charge of a move is spread over them (R11).
    priority_base
        How many times more a class of priority is worth than the one below.
    spare
        Hand out what remains of freely following resources (R14).
    """

    objective: Literal["weighted_throughput"] = "weighted_throughput"
    throughput: Literal["tokens", "steps", "trajectories", "jobs"] = "tokens"
    backend: BackendName = "auto"
    gap: Annotated[NonNegative, Field(le=1)] = 0.001
    effort: Annotated[NonNegative, Field(le=100_000)] = 2
    seed: Annotated[Natural, Field(lt=1 << 31)] = 0
    preemption_budget_seconds: NonNegative | None = None
    hold_periods: Annotated[Positive, Field(le=1_000_000)] = 2
    priority_base: Annotated[Positive, Field(ge=1, le=100)] = 10
    spare: Flag = True
