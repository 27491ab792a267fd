"""`explain`, `whatif` and `diff`: what they show, what they write as JSON, and how they end."""

import json
from pathlib import Path

import pytest

from libra_opt.cli import main
from libra_opt.explanation import Difference, Explanation

INSTANCES = Path(__file__).parents[2] / "instances"
BUDGET = str(INSTANCES / "tiny" / "r12-preemption-budget.json")
SMALLEST = str(INSTANCES / "tiny" / "smallest.json")


def run(capsys, *argv, code=0):
    assert main(argv) == code
    return capsys.readouterr().out


@pytest.fixture
def plans(tmp_path, capsys):
    found = []
    for name, more in (("one", ()), ("two", ("--backend", "greedy"))):
        run(capsys, "solve", BUDGET, "-o", str(tmp_path / f"{name}.json"), *more)
        found.append(str(tmp_path / f"{name}.json"))
    return found


def test_table_of_all_jobs_has_codes_words_limits_and_prices(capsys):
    shown = run(capsys, "explain", BUDGET)
    for part in ("preemption_budget", "WaitingForQuota", "InClusterQueue", "R1 gpu in a100", "9 per cards", "preemption budget", "value wanted", "its price"):
        assert part in shown


def test_one_job_is_told_in_full_with_what_would_have_helped(capsys):
    shown = run(capsys, "explain", BUDGET, "b2")
    assert "bound by  R12" in shown
    first = next(line for line in shown.splitlines() if "--set" in line)
    assert "preemption budget: --set options.preemption_budget_seconds=+45 (share 0.375) -> admit" in first


def test_what_is_told_to_help_is_what_whatif_takes(capsys):
    told = Explanation.model_validate_json(run(capsys, "explain", BUDGET, "b2", "--json"))
    settings = [part for setting in told.changes[0].settings for part in ("--set", setting)]
    found = json.loads(run(capsys, "whatif", BUDGET, *settings, "--json"))
    assert found["settings"] == list(told.changes[0].settings)
    [job] = [job for job in found["difference"]["jobs"] if job["id"] == "b2"]
    assert job["actions"] == ["queue", "admit"]
    assert found["difference"]["value"][1] == told.changes[0].value


def test_explanations_of_all_jobs_are_the_reasons_of_the_plan(plans, capsys):
    found = json.loads(run(capsys, "explain", BUDGET, "--json"))
    plan = json.loads(Path(plans[0]).read_text())
    assert [job["reason"] for job in found["jobs"]] == [job["reason"] for job in plan["jobs"]]
    assert (found["prices"], found["certificate"]) == (plan["prices"], {**plan["certificate"], "horizon": None})


def test_plan_at_hand_is_not_made_again_and_must_be_of_the_state(plans, capsys):
    assert "no_room" in run(capsys, "explain", BUDGET, "--plan", plans[1])
    assert main(["explain", SMALLEST, "--plan", plans[0]]) == 2
    assert "is not that of this state" in capsys.readouterr().err


def test_job_that_is_served_in_full_needs_no_change(capsys):
    assert "no change helps: It is served in full" in run(capsys, "explain", SMALLEST, "a")


def test_whatif_shows_before_and_after(capsys):
    shown = run(capsys, "whatif", SMALLEST, "--set", "pools.a100.gpu=+1")
    for part in ("what if pools.a100.gpu=+1", "gpu 6 → 7", "75.0 % → 87.5 %", "+1.000000", "optimal"):
        assert part in shown


def test_exit_code_of_diff_says_whether_the_plans_decide_the_same(plans, capsys):
    assert "Both give every job the same" in run(capsys, "diff", plans[0], plans[0])
    assert "do not give every job the same" in run(capsys, "diff", *plans, code=1)
    found = Difference.model_validate_json(run(capsys, "diff", *plans, "--json", code=1))
    assert not found.is_same_decision
    assert found.is_same_state


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("explain", SMALLEST, "z"), "no job is called 'z'"),
        (("explain", SMALLEST, "a", "--solves", "-1"), "--solves"),
        (("explain", "none.json"), "no such file"),
        (("whatif", SMALLEST), "give at least one change"),
        (("whatif", SMALLEST, "--set", "pools.b100.gpu=+1"), "pools are 'a100'"),
        (("whatif", SMALLEST, "--set", "jobs.z.priority=1", "--set", "x=1"), "--set has 2 faults"),
        (("diff", SMALLEST, "none.json"), "no such file"),
        (("diff", SMALLEST, SMALLEST), "is a state"),
    ],
)
def test_bad_call_ends_in_two_and_shows_nothing(argv, says, capsys):
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err


def test_names_cannot_steer_a_terminal(tmp_path, capsys):
    state = json.loads(Path(SMALLEST).read_text())
    state["jobs"][1]["id"] = "[red]\x1b[2J"
    (tmp_path / "state.json").write_text(json.dumps(state))
    place = str(tmp_path / "state.json")
    for argv in (("explain", place), ("explain", place, "[red]\x1b[2J"), ("whatif", place, "--set", "pools.a100.gpu=+1")):
        shown = run(capsys, *argv)
        assert "\x1b" not in shown
        assert "[red]\\x1b[2J" in shown
