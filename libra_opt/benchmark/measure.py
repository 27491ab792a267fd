"""One whole call of ours and its phases, timed from outside: the layers are called one after another just as `allocate` calls them."""

import gc
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeVar

from libra_opt.allocation import allocate
from libra_opt.benchmark.results import Measurement, Phases, TierValues
from libra_opt.domain import Plan, read_state, write
from libra_opt.domain.collector import collector_paused
from libra_opt.forecast import describe, forecast
from libra_opt.formulation.decode import decode
from libra_opt.formulation.encode import encode
from libra_opt.formulation.shadow import shadow_prices
from libra_opt.solvers import auto, solve, value_levels
from libra_opt.verification import verify

__all__ = ["measure", "peak_mib", "tier_values", "timed", "warm_up"]

_Value = TypeVar("_Value")

_PRICING = "dual_prices"
"""The function of `auto` that finds prices."""

_WARM = b"""{"format": "libra-opt/state/1", "pools": [{"name": "a", "capacity": {"gpu": 4, "cpu": 900}}], "jobs": [
{"id": "a", "demand": {"gpu": 3, "cpu": 800}, "min_quota": {"gpu": 1}, "max_quota": {"gpu": 3}},
{"id": "b", "demand": {"gpu": 3, "cpu": 700}, "min_quota": {"gpu": 1}, "max_quota": {"gpu": 3}}]}"""
"""A state of two jobs with as many levels as hundreds have: whoever plans it has imported what planning needs."""


def measure(document: bytes) -> Measurement:
    """Measure one state.

    Parameters
    ----------
    document
        The state as JSON.

    Returns
    -------
    Measurement
        The whole call comes first, in a process in which only two jobs have been planned before, and its peak memory is taken there. The phases are
        those of a second pass from the document on.
    """
    warm_up()
    state = read_state(document)
    n_jobs, n_stages, asked_gap = len(state.jobs), len(state.ledger.lo), state.options.gap
    gc.collect()
    cpu_start = process_time()
    whole_seconds, plan = timed(lambda: allocate(state))
    cpu_seconds = process_time() - cpu_start
    peak = peak_mib()
    certificate = plan.certificate
    text = write(plan)
    phases, again = _phases(document, plan)
    return Measurement(
        n_jobs=n_jobs,
        n_stages=n_stages,
        whole_seconds=whole_seconds,
        cpu_seconds=cpu_seconds,
        phases=phases,
        status=certificate.status,
        objective=certificate.objective,
        bound=certificate.bound,
        gap=certificate.gap,
        asked_gap=asked_gap,
        tiers=tier_values(plan),
        peak_mib=peak,
        is_repeated=again == text,
    )


def warm_up() -> None:
    """Plan two jobs, so that no import is timed."""
    write(allocate(read_state(_WARM)))


def timed(call: Callable[[], _Value]) -> tuple[float, _Value]:
    """Return the wall seconds of a call and what it gave."""
    start = perf_counter()
    value = call()
    return perf_counter() - start, value


def tier_values(plan: Plan) -> TierValues:
    """Return tiers 1 to 3 of a plan."""
    reached = {tier.name: tier.objective for tier in plan.certificate.tiers}
    return TierValues(lost=reached["protected_lost"], over_seconds=reached["over_budget_seconds"], shortfall=reached["guarantee_shortfall"])


def peak_mib() -> float:
    """Return the most memory this process has held, in MiB.

    Linux counts a parent's memory in `ru_maxrss` of a child that it forked; the high-water mark of the process's own address space does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _phases(document: bytes, plan: Plan) -> tuple[Phases, str]:
    read_seconds, state = timed(lambda: read_state(document))
    gc.collect()

    start = perf_counter()
    expected = forecast(state)
    ledger = state.ledger.with_forecast(expected)
    forecast_seconds = perf_counter() - start

    encode_seconds, program = timed(lambda: encode(state, ledger))
    with _priced() as pricing:
        solve_seconds, solution = timed(lambda: solve(program, state.options))
    prices_seconds = sum(pricing)

    def decoded() -> Plan:
        priced = value_levels(solution)
        made = decode(state, ledger, solution.program, solution.choice, priced.valued if priced else None)
        return Plan(
            state_digest=state.digest,
            period=state.period,
            jobs=made.jobs,
            certificate=plan.certificate,
            utilisation=made.utilisation,
            prices=shadow_prices(ledger, solution.program, solution.prices) if solution.prices else (),
            forecast=describe(state, expected),
            warnings=ledger.warnings,
        )

    with collector_paused():
        decode_seconds, again = timed(decoded)
        verify_seconds, _ = timed(lambda: verify(state, again))
    write_seconds, text = timed(lambda: write(again))
    phases = Phases(
        read=read_seconds,
        forecast=forecast_seconds,
        encode=encode_seconds,
        prices=prices_seconds,
        core=solve_seconds - prices_seconds,
        decode=decode_seconds,
        verify=verify_seconds,
        write=write_seconds,
    )
    return phases, text


@contextmanager
def _priced() -> Iterator[list[float]]:
    """Collect the seconds of every pricing that `auto` does meanwhile; it is the one phase inside another, and solvers read no clock."""
    price, seconds = getattr(auto, _PRICING), list[float]()

    def priced(*arguments: object, **options: object) -> object:
        spent, prices = timed(lambda: price(*arguments, **options))
        seconds.append(spent)
        return prices

    setattr(auto, _PRICING, priced)
    try:
        yield seconds
    finally:
        setattr(auto, _PRICING, price)
