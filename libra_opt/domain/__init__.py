"""The values everything speaks in: frozen, validated, in the vocabulary of the design; no solver and no numpy."""

from libra_opt.domain.amounts import Amounts
from libra_opt.domain.cluster import Pool, Queue
from libra_opt.domain.document import digest, read_plan, read_state, read_workload, write
from libra_opt.domain.forecast import Forecast, StageForecast
from libra_opt.domain.job import Allocation, Job, PreemptionCost, Rates, Stage
from libra_opt.domain.ledger import Ledger
from libra_opt.domain.observation import Observation
from libra_opt.domain.options import ForecastOptions, Options
from libra_opt.domain.plan import (
    AheadJob,
    AheadPeriod,
    Binding,
    Certificate,
    Forecasted,
    ForecastedAhead,
    Horizon,
    Plan,
    PlannedJob,
    PlannedStage,
    Price,
    Reason,
    Tier,
)
from libra_opt.domain.resource import DEFAULT_RESOURCES, Resource
from libra_opt.domain.state import About, Period, State
from libra_opt.domain.workload import CapacityChange, ObservationNoise, Part, Restart, Step, Workload, WorkloadJob, WorkloadStage

__all__ = [
    "DEFAULT_RESOURCES",
    "About",
    "AheadJob",
    "AheadPeriod",
    "Allocation",
    "Amounts",
    "Binding",
    "CapacityChange",
    "Certificate",
    "Forecast",
    "ForecastOptions",
    "Forecasted",
    "ForecastedAhead",
    "Horizon",
    "Job",
    "Ledger",
    "Observation",
    "ObservationNoise",
    "Options",
    "Part",
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
    "Restart",
    "Stage",
    "StageForecast",
    "State",
    "Step",
    "Tier",
    "Workload",
    "WorkloadJob",
    "WorkloadStage",
    "digest",
    "read_plan",
    "read_state",
    "read_workload",
    "write",
]
