"""A simulated cluster: workloads, policies side by side on the same rules, what came of them, and the bound nobody can pass.

>>> from libra_opt.simulation import make_policy, make_workload, measure, simulate
>>> workload = make_workload("four_jobs")
>>> run = simulate(workload, make_policy("equal_split", workload, workload.period_seconds, seed=0))
>>> measure(run).n_periods
14
"""

from libra_opt.domain import Workload, read_workload
from libra_opt.simulation.bound import Bound, clairvoyant_bound
from libra_opt.simulation.comparison import Interval, difference, ratio, spread
from libra_opt.simulation.grant import Decision, Grant, Holding, Moment, Policy
from libra_opt.simulation.job_state import JobPeriod
from libra_opt.simulation.loop import Learner, PeriodRecord, Run, simulate
from libra_opt.simulation.measures import Measures, Utilisation, jain_index, measure
from libra_opt.simulation.ours import Ours
from libra_opt.simulation.registry import POLICIES, PolicyKind, make_policy
from libra_opt.simulation.workloads import WORKLOADS
from libra_opt.simulation.workloads import make as make_workload

__all__ = [
    "POLICIES",
    "WORKLOADS",
    "Bound",
    "Decision",
    "Grant",
    "Holding",
    "Interval",
    "JobPeriod",
    "Learner",
    "Measures",
    "Moment",
    "Ours",
    "PeriodRecord",
    "Policy",
    "PolicyKind",
    "Run",
    "Utilisation",
    "Workload",
    "clairvoyant_bound",
    "difference",
    "jain_index",
    "make_policy",
    "make_workload",
    "measure",
    "ratio",
    "read_workload",
    "simulate",
    "spread",
]
