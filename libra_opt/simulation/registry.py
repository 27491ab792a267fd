"""The policies by name, each as it is compared: one place says which options ours and the others run with.

A policy remembers what it did, so one is made anew for every run. Modules of policies are imported when one is made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final, Literal

from libra_opt.domain import ForecastOptions, Options, Workload
from libra_opt.errors import Fault, InputError
from libra_opt.feedback import Setpoint, planning
from libra_opt.simulation.grant import Policy
from libra_opt.simulation.ours import Ours

__all__ = ["AT_REST", "BOUND", "LOOKAHEAD", "OURS", "POLICIES", "PolicyKind", "make_policy"]

BOUND: Final = "bound"
"""The clairvoyant bound: a row of every table, but no policy, as nothing is decided."""

Make = Callable[[Workload, float, int], Policy]


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """One policy as it is compared.

    Attributes
    ----------
    name, about
        How tables call it, and what it does, in a line.
    make
        Makes it from the workload, the period in seconds and the seed of the run. Only policies that see the truth look at more than what jobs declare.
    """

    name: str
    about: str
    make: Make


OURS: Final = Options(gap=0.01, effort=0.5, hold_periods=2, forecast=ForecastOptions(need="own_step"))
"""What ours asks for in every state of a period of `HOLD_SECONDS` / 2, unless its line below says otherwise; feedback then tunes it."""

HOLD_SECONDS: Final = 60.0
"""How long a plan is expected to hold at the full price of moving, whatever the period; at rest the price is half, so twice that."""

AT_REST: Final = planning(OURS, Setpoint())
"""The same as feedback begins with it: for ours without feedback, and for baselines that forecast, so that none is weak for want of a margin."""


def _equal_split(_workload: Workload, _period_seconds: float, _seed: int) -> Policy:
    from libra_opt.simulation.policies.equal_split import EqualSplit  # noqa: PLC0415 - made only when asked for

    return EqualSplit()


def _reservation(size: Literal["request", "maximum"], *, backfill: bool) -> Make:
    def make(_workload: Workload, _period_seconds: float, _seed: int) -> Policy:
        from libra_opt.simulation.policies.reservation import Reserving  # noqa: PLC0415 - made only when asked for

        return Reserving(size, backfill)

    return make


LOOKAHEAD: Final = 4
"""How many periods the policies that look ahead plan together; to a smaller gap, as what is gained by it is small in each period."""


def _static_best(_workload: Workload, _period_seconds: float, _seed: int) -> Policy:
    from libra_opt.simulation.policies.static_best import StaticBest  # noqa: PLC0415 - made only when asked for

    return StaticBest()


def _forecasting(module: str, function: str) -> Make:
    def make(_workload: Workload, period_seconds: float, _seed: int) -> Policy:
        maker: Callable[[Options], Policy] = getattr(import_module(f"libra_opt.simulation.policies.{module}"), function)
        return maker(_held(AT_REST, period_seconds))

    return make


def _ours(name: str, options: Options = OURS, *, is_true: bool = False) -> Make:
    def make(_workload: Workload, period_seconds: float, _seed: int) -> Policy:
        return Ours(name, _held(options, period_seconds), is_true=is_true, setpoint=Setpoint(period_seconds=period_seconds))

    return make


def _without_feedback(name: str) -> Make:
    def make(_workload: Workload, period_seconds: float, _seed: int) -> Policy:
        return Ours(name, _held(AT_REST, period_seconds))

    return make


def _held(options: Options, period_seconds: float) -> Options:
    """Return the options for periods of another length: moves are spread over the same time."""
    return options.replace({"hold_periods": options.hold_periods * HOLD_SECONDS / (OURS.hold_periods * period_seconds)})


def _with(**changes: object) -> Options:
    return OURS.replace(changes)


_KINDS: Final = (
    PolicyKind("equal_split", "equal fixed slots, one per job of the workload", _equal_split),
    PolicyKind("reservation", "every job holds its maximum from start to end, first in, first out", _reservation("maximum", backfill=False)),
    PolicyKind("reservation_backfill", "the same, and a job may start before an earlier one that does not fit yet", _reservation("maximum", backfill=True)),
    PolicyKind("reservation_of_request", "every job holds what it asked for from start to end, first in, first out", _reservation("request", backfill=False)),
    PolicyKind("static_best", "the best fixed quotas in hindsight, searched with the truth at hand, and held", _static_best),
    PolicyKind("proportional", "shares in proportion to the forecast demand", _forecasting("proportional", "proportional")),
    PolicyKind("max_min", "max-min fair levels of the forecast demand", _forecasting("max_min", "max_min")),
    PolicyKind("drf", "dominant resource fairness on the forecast demand", _forecasting("drf", "drf")),
    PolicyKind("greedy_fifo", "in order of submission what each is forecast to use", _forecasting("greedy", "greedy")),
    PolicyKind("libra", "ours: forecast, plan, feedback", _ours("libra")),
    PolicyKind("libra_no_feedback", "ours without feedback and ageing, held where feedback begins", _without_feedback("libra_no_feedback")),
    PolicyKind("libra_true", "ours, shown the demand that comes: what a perfect forecast would be worth", _ours("libra_true", is_true=True)),
    PolicyKind(
        "libra_ahead",
        f"ours, {LOOKAHEAD} periods planned together by forecasts of each",
        _ours("libra_ahead", _with(lookahead=LOOKAHEAD, gap=0.001, effort=2)),
    ),
    PolicyKind(
        "libra_true_ahead",
        f"ours, {LOOKAHEAD} periods planned together, shown the demand that comes and what is left of every job",
        _ours("libra_true_ahead", _with(lookahead=LOOKAHEAD, gap=0.001, effort=2), is_true=True),
    ),
    PolicyKind(
        "libra_last_value",
        "ours with the last value as forecast",
        _ours("libra_last_value", _with(forecast=OURS.forecast.replace({"method": "last_value"}))),
    ),
    PolicyKind("libra_cp_sat", "ours solved by CP-SAT alone", _ours("libra_cp_sat", _with(backend="cp_sat"))),
    PolicyKind("libra_lp", "ours solved by the rounded linear relaxation alone", _ours("libra_lp", _with(backend="lp_relaxation"))),
    PolicyKind("libra_greedy", "ours solved by the rule of thumb alone", _ours("libra_greedy", _with(backend="greedy"))),
)

POLICIES: Final[Mapping[str, PolicyKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Every policy by its name."""


def make_policy(name: str, workload: Workload, period_seconds: float, seed: int) -> Policy:
    """Return a new policy for one run.

    Raises
    ------
    InputError
        There is no policy of that name.
    """
    if name not in POLICIES:
        raise InputError("the policy", (Fault("", f"{name!r} is unknown; choose one of {', '.join(POLICIES)}"),))
    return POLICIES[name].make(workload, period_seconds, seed)
