"""The commands that succeed: what goes to standard output, to files and to standard error."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from libra_opt.allocation import allocate
from libra_opt.cli import main
from libra_opt.cli.terminal import printable
from libra_opt.domain import read_plan, read_state, write

TINY = Path(__file__).parents[2] / "instances" / "tiny"
SMALLEST = str(TINY / "smallest.json")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *argv):
    assert main(argv) == 0
    return capsys.readouterr().out


def standard_input(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_table_shows_before_after_action_service_and_proof(capsys):
    shown = run(capsys, "solve", SMALLEST)
    for part in ["shrink", "8 → 2", "640 → 160", "admit", "0 → 6", "75.0 %", "100.0 %", "8 cards", "Proven optimal: value 7.750000"]:
        assert part in shown


def test_table_of_a_job_with_stages_has_a_row_for_each(capsys):
    shown = run(capsys, "solve", str(TINY / "r07-slowest-stage.json"))
    assert "rollout" in shown
    assert "train" in shown


def test_table_says_which_earlier_tiers_gave_way(capsys):
    assert "Guarantees not met: 0.5" in run(capsys, "solve", str(TINY / "guarantee-larger-than-the-cluster.json"))
    assert "Protected jobs that could not be kept: worth 4" in run(capsys, "solve", str(TINY / "r13-least-valuable-is-shed.json"))


@pytest.mark.usefixtures("place")
def test_long_table_says_how_much_it_leaves_out(capsys):
    run(capsys, "generate", "--jobs", "60", "-o", "state.json")
    shown = run(capsys, "solve", "state.json", "--backend", "greedy")
    assert "and 10 more jobs" in shown
    assert "job-00059" not in shown
    assert "job-00059" in run(capsys, "solve", "state.json", "--backend", "greedy", "--all")


def test_table_does_not_obey_markup_or_escapes_in_names(place, capsys):
    state = json.loads(Path(SMALLEST).read_text())
    state["jobs"][0]["id"] = "[bold]\x1b[2J"
    (place / "state.json").write_text(json.dumps(state))
    shown = run(capsys, "solve", "state.json")
    assert "\x1b" not in shown
    assert "[bold]\\x1b[2J" in shown


@pytest.mark.parametrize("backend", ["auto", "cp_sat", "lp_relaxation", "greedy"])
def test_json_is_the_plan_and_nothing_else(backend, capsys):
    state = read_state(Path(SMALLEST).read_bytes())
    state = state.replace({"options": state.options.replace({"backend": backend})})
    assert run(capsys, "solve", SMALLEST, "--backend", backend, "--json") == write(allocate(state)) + "\n"


def test_several_states_give_json_lines_in_their_order(capsys):
    names = ["r01-capacity-is-shared", "no-jobs", "r03-maximum-holds"]
    lines = run(capsys, "solve", *(str(TINY / f"{name}.json") for name in names), "--json").splitlines()
    assert [len(read_plan(line).jobs) for line in lines] == [2, 0, 2]


def test_several_plans_go_into_a_directory(place, capsys):
    run(capsys, "solve", SMALLEST, str(TINY / "no-jobs.json"), "-o", "plans")
    assert sorted(path.name for path in (place / "plans").iterdir()) == ["no-jobs.plan.json", "smallest.plan.json"]


def test_one_plan_goes_into_a_directory_that_is_there(place, capsys):
    (place / "plans").mkdir()
    run(capsys, "solve", SMALLEST, "-o", "plans")
    assert [path.name for path in (place / "plans").iterdir()] == ["smallest.plan.json"]


def test_packed_files_are_read_and_written(place, capsys):
    (place / "state.json.gz").write_bytes(gzip.compress(Path(SMALLEST).read_bytes()))
    run(capsys, "solve", "state.json.gz", "-o", "plan.json.gz")
    first = (place / "plan.json.gz").read_bytes()
    assert read_plan(gzip.decompress(first)).certificate.objective == pytest.approx(7.75)
    run(capsys, "solve", "state.json.gz", "-o", "plan.json.gz")
    assert (place / "plan.json.gz").read_bytes() == first


def test_dash_is_standard_input_and_output(monkeypatch, capsys):
    standard_input(monkeypatch, Path(SMALLEST).read_bytes())
    assert read_plan(run(capsys, "solve", "-", "-o", "-")).certificate.objective == pytest.approx(7.75)


def test_plan_never_overwrites_its_state(place, capsys):
    (place / "state.json").write_bytes(Path(SMALLEST).read_bytes())
    assert main(["solve", "state.json", "-o", "state.json"]) == 2
    assert "is one of the states" in capsys.readouterr().err
    assert (place / "state.json").read_bytes() == Path(SMALLEST).read_bytes()


def test_two_states_of_one_name_are_not_written_over_each_other(place, capsys):
    for directory in ("x", "y"):
        (place / directory).mkdir()
        (place / directory / "state.json").write_bytes(Path(SMALLEST).read_bytes())
    assert main(["solve", "x/state.json", "y/state.json", "-o", "plans"]) == 2
    assert "would hold the plans of both" in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_output_in_a_directory_that_is_missing_is_refused_before_solving(capsys):
    assert main(["solve", SMALLEST, "-o", "nowhere/plan.json"]) == 2
    assert "create it first" in capsys.readouterr().err


def test_several_plans_into_a_file_are_refused(place, capsys):
    (place / "plans").write_text("")
    assert main(["solve", SMALLEST, SMALLEST, "-o", "plans"]) == 2
    assert "several plans need a directory" in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_verify_accepts_a_plan_of_the_state(capsys):
    run(capsys, "solve", SMALLEST, "-o", "plan.json")
    assert "keeps every rule" in run(capsys, "verify", SMALLEST, "plan.json")
    assert json.loads(run(capsys, "verify", SMALLEST, "plan.json", "--json")) == {"holds": True, "broken": []}


@pytest.mark.usefixtures("place")
def test_verify_takes_the_options_a_plan_was_made_with(capsys):
    run(capsys, "solve", SMALLEST, "--gap", "0.5", "--backend", "greedy", "-o", "plan.json")
    run(capsys, "verify", SMALLEST, "plan.json", "--gap", "0.5", "--backend", "greedy")


def test_verify_names_each_broken_rule_and_its_margin(place, capsys):
    plan = json.loads(run(capsys, "solve", SMALLEST, "--json"))
    plan["jobs"][1]["stages"][0]["resources"]["gpu"] = 9
    (place / "plan.json").write_text(json.dumps(plan))
    assert main(["verify", SMALLEST, "plan.json"]) == 1
    shown = capsys.readouterr().out
    assert "R1 pools.a100.gpu" in shown
    assert "(margin 3.0)" in shown
    assert "R3 " in shown
    assert main(["verify", SMALLEST, "plan.json", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["holds"]
    assert {"R1", "R3"} <= {fault["rule"] for fault in report["broken"]}


@pytest.mark.usefixtures("place")
def test_validate_accepts_states_and_plans(capsys):
    run(capsys, "solve", SMALLEST, "-o", "plan.json")
    lines = run(capsys, "validate", SMALLEST, "plan.json").splitlines()
    assert lines[0].endswith("a valid state of 2 jobs, 1 pools, 0 queues")
    assert lines[1].endswith("a valid plan of 2 jobs")


@pytest.mark.parametrize("kind", ["state", "plan"])
def test_schema_is_json(kind, capsys):
    assert "properties" in json.loads(run(capsys, "schema", kind))


@pytest.mark.parametrize("family", ["plain", "full", "templates", "rigid"])
def test_generated_state_is_synthetic_valid_and_the_same_each_time(family, capsys):
    text = run(capsys, "generate", "--jobs", "30", "--seed", "5", "--family", family)
    state = read_state(text)
    assert len(state.jobs) == 30
    assert state.about.synthetic
    assert state.about.assumed
    assert run(capsys, "generate", "--jobs", "30", "--seed", "5", "--family", family) == text
    assert run(capsys, "generate", "--jobs", "30", "--seed", "6", "--family", family) != text


@pytest.mark.parametrize("family", ["plain", "full", "templates", "rigid"])
@pytest.mark.usefixtures("place")
def test_generated_state_solves(family, capsys):
    run(capsys, "generate", "--jobs", "12", "--family", family, "-o", "state.json")
    run(capsys, "solve", "state.json", "-o", "plan.json")
    run(capsys, "verify", "state.json", "plan.json")


@pytest.mark.parametrize("form", ["mathprog-data", "lp", "mps"])
def test_export_writes_the_program(form, place, capsys):
    text = run(capsys, "export", SMALLEST, "--format", form)
    run(capsys, "export", SMALLEST, "--format", form, "-o", "program")
    assert (place / "program").read_text() == text
    assert text.strip()


def test_printable_leaves_ordinary_text_alone():
    assert printable("größer → 50 %") == "größer → 50 %"
    assert printable("a\nb\x00") == "a\\nb\\x00"


def test_table_of_a_plan_that_looks_ahead_shows_the_later_periods(capsys, place):
    job = {"id": "a", "demand": {"gpu": 4}, "demand_ahead": [{"gpu": 2}], "remaining": 90}
    document = {"period": {"index": 7}, "pools": [{"name": "p", "capacity": {"gpu": 3}}], "jobs": [job], "options": {"lookahead": 3}}
    (place / "state.json").write_text(json.dumps(document))
    shown = run(capsys, "solve", "state.json")
    for part in ["looking ahead", "period 7", "period 9", "Looking ahead 3 periods, optimal"]:
        assert part in shown
    (row,) = (line.split() for line in shown.splitlines() if line.startswith("a ") and "-" in line.split())
    assert row == ["a", "75.0", "%", "100.0", "%", "-"]
