"""`libra-opt bench`: tables for people, JSON for machines, and what is refused."""

import json
from pathlib import Path

import pytest

from libra_opt.benchmark.report import Report
from libra_opt.benchmark.results import PHASES
from libra_opt.cli import main

TINY = Path(__file__).parents[2] / "instances" / "tiny"
QUICK = ("bench", "--seeds", "1", "--starts", "0", "--effort", "0.1")


def test_json_on_standard_output_is_one_report_and_the_tables_go_elsewhere(capsys):
    assert main([*QUICK, "--families", "plain", "--sizes", "100", "--peers", "lp_highs", "--json", "-"]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("\n") == 1
    report = Report.model_validate_json(shown.out)
    (run,), (peer,) = report.runs, report.peer_runs
    assert run.outcome == "done"
    assert (run.measured.n_jobs, run.measured.is_repeated) == (100, True)
    assert set(json.loads(shown.out)["summary"][0]["phases"]) == set(PHASES)
    assert peer.measured.status == "bound only"
    assert report.settings.effort == 0.1
    for part in ("Whole calls", "Seconds by phase", "lp_highs", "bound only"):
        assert part in shown.err


def test_case_that_fails_is_reported_and_the_rest_goes_on(tmp_path, capsys):
    (tmp_path / "broken.json").write_text('{"format": "libra-opt/state/1", "pools": 3}')
    (tmp_path / "whole.json").write_bytes((TINY / "smallest.json").read_bytes())
    target = tmp_path / "out.json"
    assert main([*QUICK, "--families", "recorded", "--instances", str(tmp_path), "--peers", "none", "--json", str(target)]) == 0
    broken, whole = Report.model_validate_json(target.read_text()).runs
    assert (broken.outcome, broken.measured) == ("failed", None)
    assert (whole.outcome, whole.measured.objective) == ("done", 7.75)
    assert "(1 failed)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "remedy"),
    [
        (("--sizes", "0"), "--sizes: 0 is no number of jobs; give 1 to 1000000"),
        (("--seeds", "0"), "--seeds: 0 measures nothing; give 1 or more"),
        (("--peer-seeds", "-1"), "--peer-seeds: -1 is negative"),
        (("--starts", "-1"), "--starts: -1 is negative"),
        (("--budget", "nan"), "--budget: nan is not a positive number"),
        (("--gap", "2"), "--gap: is not a number from 0 to 1"),
        (("--peers", "none", "greedy"), "--peers: 'none' stands alone"),
        (("--families", "recorded", "--instances", "/nowhere"), "--instances: '/nowhere' holds no states"),
        (("--json", "/nowhere/out.json"), "create it first"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_measured(argv, remedy, capsys):
    assert main(["bench", *argv]) == 2
    shown = capsys.readouterr()
    assert remedy in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("argv", [("--families", "secret"), ("--peers", "secret")])
def test_unknown_names_are_refused_with_those_there_are(argv, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["bench", *argv])
    assert ended.value.code == 2
    assert "choose from" in capsys.readouterr().err


def test_objectives_are_compared_with_weighted_throughput(capsys):
    assert main([*QUICK, "--families", "plain", "--sizes", "60", "--objectives", "max_min", "--json", "-"]) == 0
    shown = capsys.readouterr()
    usual, other = (json.loads(line) for line in shown.out.splitlines())
    assert (usual["objective"], usual["ratio"]) == ("weighted_throughput", 1.0)
    assert (other["objective"], [name for name, *_ in other["tiers"]][-3:]) == ("max_min", ["unserved", "level", "value"])
    assert other["ratio"] == pytest.approx(other["cpu_seconds"] / usual["cpu_seconds"])
    assert "reached / bound" in shown.err
