"""Put what runs of the simulator came to into docs/simulation.md, between the marks that stand there.

    python scripts/simulation_figures.py RESULTS...

`RESULTS` are files that ``libra-opt sweep`` wrote; one setting and period may be spread over several. The commands stand on the page.
"""

import sys
from collections.abc import Sequence
from typing import Final

from forecast_figures import ROOT, filled, row

from libra_opt.adapters.files import write_whole
from libra_opt.experiments.cell import Result
from libra_opt.experiments.storage import read_results
from libra_opt.experiments.summary import Curve, Group, Row, groups, period_curves
from libra_opt.experiments.tables import heading
from libra_opt.simulation.comparison import Interval

AGAINST: Final = ("reservation", "static_best", "libra_true", "bound")
"""What every policy is compared with, where it is there."""


def main() -> None:
    """Write the page."""
    results = [result for name in sys.argv[1:] for result in read_results(name)]
    page = ROOT / "docs" / "simulation.md"
    write_whole({page: filled(page.read_text("utf-8"), {"figures": "\n".join([*tables(results), *map(curve, period_curves(results))])})})


def tables(results: Sequence[Result]) -> list[str]:
    """Return one table per setting and period that more than one policy ran."""
    by_baseline = {baseline: groups(results, baseline=baseline) for baseline in AGAINST}
    found = []
    for g, group in enumerate(by_baseline["static_best"]):
        if len(group.rows) > 1:
            compared = {name: of[g] for name, of in by_baseline.items() if of[g].baseline is not None}
            found.append(table(group, compared))
    return found


def table(group: Group, compared: dict[str, Group]) -> str:
    """Return one line per policy."""
    against = [f"to {name}" for name in compared]
    lines = [f"`{heading(group)}`\n", row("policy", "seeds", "work", *against, "kills", "preempted", "queue, s", "longest wait, s", "starved")]
    lines.append("|---|" + "---:|" * (7 + len(against)))
    for r, each in enumerate(group.rows):
        ratios = [interval(other.rows[r], name) for name, other in compared.items()]
        lines.append(row(each.policy, len(each.results), work(each), *ratios, *prices(each)))
    return "\n".join(lines) + "\n"


def work(each: Row) -> str:
    """Return the mean work, in card-hours of finished steps per hour."""
    found = [m.card_hours_per_hour for m in each.measured] or [result.bound.weighted_card_hours_per_hour or 0.0 for result in each.results if result.bound]
    return f"{sum(found) / len(found):.1f}" if found else "-"


def interval(each: Row, baseline: str) -> str:
    """Return a ratio with its interval."""
    return "1" if each.policy == baseline else "-" if each.against is None else ends(each.against)


def ends(ratio: Interval) -> str:
    """Return a ratio with the ends of its interval, where it has one."""
    return f"{ratio.value:.3f}" if ratio.low is None or ratio.high is None else f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f}; {ratio.n})"


def prices(each: Row) -> Sequence[str]:
    """Return kills of all runs, and per run: evictions, mean queue delay; the longest wait of any; and jobs that starved, from least to most."""
    measured = each.measured
    if not measured:
        return ("",) * 5
    starved = [m.n_starved for m in measured]
    mean_evictions, queue = (sum(values) / len(measured) for values in ([m.n_preemptions for m in measured], [m.queue_seconds_mean for m in measured]))
    longest = max(m.longest_wait_seconds for m in measured)
    return (str(sum(m.n_kills for m in measured)), f"{mean_evictions:.0f}", f"{queue:,.0f}", f"{longest:,.0f}", f"{min(starved)} to {max(starved)}")


def curve(found: Curve) -> str:
    """Return throughput over the period."""
    lines = [f"`{found.policy}` on `{found.setting}`, by period\n", row("period, s", "work", "to the best"), "|---:|---:|---:|"]
    for period, value, against in zip(found.periods, found.values, found.against_best, strict=True):
        is_best = period == found.periods[found.best]
        lines.append(row(f"{period:g}", f"{value.value:.1f}", "1" if is_best or against is None else ends(against)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
