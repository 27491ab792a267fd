"""How a plan is to be made: objective, back-end, gap, effort and the price of moving."""

from typing import Annotated, Final, Literal

from libra_opt.domain.base import Flag, NonNegative, Real, Value, WholeNumber

__all__ = ["LONGEST_LOOK", "BackendName", "ForecastMethod", "ForecastOptions", "Objective", "Options"]

LONGEST_LOOK: Final = 64
"""Most periods that are planned together."""

BackendName = Literal["auto", "cp_sat", "lp_relaxation", "greedy"]
Objective = Literal[
    "weighted_throughput",
    "proportional_fairness",
    "on_time",
    "least_completion_time",
    "max_min",
    "drf",
    "finish_time_fairness",
    "makespan",
    "fifo_backfill",
]
ForecastMethod = Literal[
    "auto", "last_value", "ewma", "ewma_reset", "seasonal_naive", "holt_winters", "quantile_tracking", "own_step", "auto_ets", "auto_theta"
]


class ForecastOptions(Value):
    """How stages that bring a history are forecast.

    Attributes
    ----------
    method
        ``auto`` combines methods by how well each would have done on the history; the others are methods by themselves. ``auto_ets`` and
        ``auto_theta`` need the extra ``statsforecast``.
    coverage
        Share of next periods that the need of incompressible resources is to cover.
    need
        What the need covers: ``whole_history``, an upper quantile of all that was measured; or ``own_step``, the most that was used at the present place of
        the job's earlier steps and at what followed, where phase (and progress) tell the place and two earlier steps came to it, else the whole history.
    margin
        What is added to the need where the history is not constant, as a share of it; billionths of it count.
    horizon
        How many periods the forecast is for: the demand is the mean over them, the need covers each.
    """

    method: ForecastMethod = "auto"
    coverage: Annotated[float, Real(0.5, 0.9999)] = 0.99
    need: Literal["whole_history", "own_step"] = "whole_history"
    margin: Annotated[float, Real(0, 4)] = 0.1
    horizon: Annotated[int, WholeNumber(1, 64)] = 1


class Options(Value):
    """Options of one call.

    Attributes
    ----------
    objective
        The policy that values service; each is defined in `models/policies.md`, with the fields of a job that it needs.
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
    cost_ceiling
        Most that all that is allocated may cost for one hour, at the prices of the pools (R16); null: no limit.
    hold_periods
        How many periods a plan is expected to hold; the charge of a move is spread over them (R11).
    priority_base
        How many times more a class of priority is worth than the one below.
    spare
        Hand out what remains of freely following resources (R14).
    forecast
        How demand and need are forecast from histories.
    lookahead
        How many periods are planned together, of which the first is committed (receding horizon); 1 plans the next period alone.
    """

    objective: Objective = "weighted_throughput"
    throughput: Literal["tokens", "steps", "trajectories", "jobs"] = "tokens"
    backend: BackendName = "auto"
    gap: Annotated[float, Real(0, 1)] = 0.001
    effort: Annotated[float, Real(0, 100_000)] = 2
    seed: Annotated[int, WholeNumber(0, (1 << 31) - 1)] = 0
    preemption_budget_seconds: NonNegative | None = None
    cost_ceiling: NonNegative | None = None
    hold_periods: Annotated[float, Real(1e-3, 1e6)] = 2
    priority_base: Annotated[float, Real(1, 100)] = 10
    spare: Flag = True
    forecast: ForecastOptions = ForecastOptions()
    lookahead: Annotated[int, WholeNumber(1, LONGEST_LOOK)] = 1
