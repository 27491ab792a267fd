"""Medians, growth and ratios, from runs made up here."""

import pytest

from libra_opt.benchmark.results import Case, Measurement, PeerMeasurement, PeerRun, Phases, Run, TierValues
from libra_opt.benchmark.summary import growths, summarise, summarise_peers

PHASES = Phases(read=1.0, forecast=0.0, encode=0.1, prices=0.2, core=0.3, decode=0.1, verify=0.1, write=0.5)


def run(n_jobs, seed, seconds, *, outcome="done", message=""):
    case = Case(family="plain", label="plain", n_jobs=n_jobs, seed=seed)
    if outcome != "done":
        return Run(case=case, outcome=outcome, message=message)
    measured = Measurement(
        n_jobs=n_jobs,
        n_stages=n_jobs,
        whole_seconds=seconds,
        cpu_seconds=seconds / 2,
        phases=PHASES,
        status="within_gap",
        objective=200.0,
        bound=201.0,
        gap=1 / 201,
        asked_gap=0.001,
        tiers=TierValues(),
        peak_mib=100.0,
        is_repeated=True,
    )
    return Run(case=case, outcome="done", measured=measured)


def test_median_and_ends_are_over_the_seeds():
    (summary,) = summarise([run(100, 0, 3.0), run(100, 1, 1.0), run(100, 2, 1.5)])
    assert (summary.whole_seconds.median, summary.whole_seconds.least, summary.whole_seconds.most) == (1.5, 1.0, 3.0)
    assert summary.cpu_seconds.median == 0.75
    assert summary.phases["write"].median == 0.5


def test_run_that_failed_is_counted_and_the_others_speak():
    (summary,) = summarise([run(100, 0, 3.0), run(100, 1, 0.0, outcome="failed", message="killed by SIGKILL")])
    assert (summary.n_runs, summary.n_failed, summary.whole_seconds.median) == (2, 1, 3.0)


def test_label_whose_runs_all_failed_says_why():
    (summary,) = summarise([run(100, 0, 0.0, outcome="failed", message="killed by SIGKILL")])
    assert summary.statuses == ("killed by SIGKILL",)
    assert summary.whole_seconds is None


def test_growth_is_the_slope_between_logarithms():
    (growth,) = growths(summarise([run(100, 0, 1.0), run(10_000, 0, 1000.0)]))
    assert growth.factor == pytest.approx(1000)
    assert growth.exponent == pytest.approx(1.5)


def test_sizes_beside_one_that_failed_have_no_growth():
    assert growths(summarise([run(100, 0, 1.0), run(1000, 0, 0.0, outcome="failed"), run(10_000, 0, 9.0)])) == ()


def test_peer_is_compared_on_the_same_state():
    ours = [run(100, 0, 1.0), run(100, 1, 4.0)]
    theirs = PeerMeasurement(build_seconds=1.0, solve_seconds=3.0, status="within gap", objective=100.0, bound=220.0, gap=0.5, is_within_gap=True)
    runs = [PeerRun(case=one.case, peer="highs", outcome="done", asked_gap=0.01, measured=theirs) for one in ours]
    (summary,) = summarise_peers(ours, runs)
    assert (summary.seconds, summary.times_ours, summary.solver_times_ours) == (4.0, 2.5, 1.875)
    assert (summary.objective_ratio, summary.bound_ratio, summary.n_within_gap) == (0.5, 1.1, 2)


def test_peer_over_its_budget_has_no_numbers_and_says_so():
    ours = [run(100, 0, 1.0)]
    (summary,) = summarise_peers(ours, [PeerRun(case=ours[0].case, peer="highs", outcome="over_limit", asked_gap=0.01, message="over 5 s")])
    assert (summary.n_finished, summary.seconds, summary.outcome) == (0, None, "over 5 s")
