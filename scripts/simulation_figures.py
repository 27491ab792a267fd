"""Put what runs of the simulator came to into docs/simulation.md, between the marks that stand there.

    python scripts/simulation_figures.py RESULTS...

`RESULTS` are files that ``libra-opt sweep`` wrote; one setting and period may be spread over several. The commands stand on the page.
"""

import sys
from collections.abc import Sequence
from typing import Final

from forecast_figures import ROOT, filled, row

from libra_opt.adapters.files import write_whole
from libra_opt.domain.resource import CARDS
from libra_opt.experiments.cell import Result
from libra_opt.experiments.storage import read_results
from libra_opt.experiments.summary import Curve, Row, groups, period_curves
from libra_opt.experiments.tables import heading
from libra_opt.simulation.comparison import Interval

AGAINST: Final = ("equal_split", "reservation", "static_best", "libra_true", "bound")
"""What every policy is compared with, where it is there."""


def main() -> None:
    """Write the page."""
    results = [result for name in sys.argv[1:] for result in read_results(name)]
    page = ROOT / "docs" / "simulation.md"
    write_whole({page: filled(page.read_text("utf-8"), {"figures": "\n".join([*tables(results), *map(curve, period_curves(results))])})})


def tables(results: Sequence[Result]) -> list[str]:
    """Return a table per setting and period that more than one policy ran, and where some ran more seeds than others, one of the seeds that all ran."""
    found = []
    for group in groups(results):
        if len(group.rows) > 1:
            members = [result for each in group.rows for result in each.results]
            shared = set.intersection(*({result.cell.seed for result in each.results} for each in group.rows))
            found.append(table(members))
            if 0 < len(shared) < group.n_seeds:
                found.append(table([result for result in members if result.cell.seed in shared], note=", those that all ran"))
    return found


def table(results: Sequence[Result], note: str = "") -> str:
    """Return one line per policy of one setting and period."""
    by_baseline = {baseline: groups(results, baseline=baseline)[0] for baseline in AGAINST}
    group, compared = by_baseline["static_best"], {name: of for name, of in by_baseline.items() if of.baseline is not None}
    against = [f"to {name}" for name in compared]
    columns = ("kills", "at work", "preempted", "queue, s", "longest wait, s", "starved")
    lines = [f"`{heading(group)}`{note}\n", row("policy", "seeds", "work", *against, *columns)]
    lines.append("|---|" + "---:|" * (2 + len(columns) + len(against)))
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
    """Return what it cost.

    Kills of all runs; share of the cards at work; evictions and mean queue delay per run; the longest wait in each run, in its mean and its most; and jobs
    that starved, from least to most.
    """
    measured = each.measured
    if not measured:
        return ("",) * 6
    starved = [m.n_starved for m in measured]
    mean_evictions, queue = (sum(values) / len(measured) for values in ([m.n_preemptions for m in measured], [m.queue_seconds_mean for m in measured]))
    waits = [m.longest_wait_seconds for m in measured]
    longest = f"{sum(waits) / len(waits):,.0f}, at most {max(waits):,.0f}"
    at_work = sum(use.used for m in measured for use in m.utilisation if use.resource == CARDS) / len(measured)
    return (str(sum(m.n_kills for m in measured)), f"{at_work:.1%}", f"{mean_evictions:.0f}", f"{queue:,.0f}", longest, f"{min(starved)} to {max(starved)}")


def curve(found: Curve) -> str:
    """Return throughput over the period."""
    lines = [f"`{found.policy}` on `{found.setting}`, by period\n", row("period, s", "work", "to the best"), "|---:|---:|---:|"]
    for period, value, against in zip(found.periods, found.values, found.against_best, strict=True):
        is_best = period == found.periods[found.best]
        lines.append(row(f"{period:g}", f"{value.value:.1f}", "1" if is_best or against is None else ends(against)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
