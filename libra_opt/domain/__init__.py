"""The values everything speaks in: frozen, validated, in the vocabulary of the design; no solver and no numpy."""

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.cluster import Pool, Queue
from libra_opt.domain.document import digest, read_plan, read_state, write
from libra_opt.domain.forecast import Forecast, StageForecast
from libra_opt.domain.job import Allocation, Job, PreemptionCost, Rates, Stage
from libra_opt.domain.ledger import Ledger
from libra_opt.domain.observation import Observation
from libra_opt.domain.options import ForecastOptions, Options
from libra_opt.domain.plan import AheadJob, AheadPeriod, Certificate, Forecasted, ForecastedAhead, Horizon, Plan, PlannedJob, PlannedStage, Price, Reason, Tier
from libra_opt.domain.resource import DEFAULT_RESOURCES, Resource
from libra_opt.domain.state import About, Period, State

__all__ = [
    "DEFAULT_RESOURCES",
    "About",
    "AheadJob",
    "AheadPeriod",
    "Allocation",
    "Amounts",
    "Certificate",
    "Forecast",
    "ForecastOptions",
    "Forecasted",
    "ForecastedAhead",
    "Horizon",
    "Job",
    "Ledger",
    "Observation",
    "Options",
    "Period",
    "Plan",
    "PlannedJob",
    "PlannedStage",
    "Pool",
    "PreemptionCost",
    "Price",
    "Queue",
    "Rates",
    "Reason",
    "Resource",
    "Stage",
    "StageForecast",
    "State",
    "Tier",
    "digest",
    "read_plan",
    "read_state",
    "write",
]
