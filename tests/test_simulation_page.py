"""What docs/simulation.md says is so: its commands, its measures."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from libra_opt.cli.parser import build_parser
from libra_opt.experiments.cell import Cell
from libra_opt.experiments.run import Task, run_task
from libra_opt.simulation.measures import Measures

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "simulation.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
COMMANDS = [part for block in CONSOLE for line in block.splitlines() for part in line.removeprefix("$ ").split("#")[0].split("&&")]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_one_that_the_parser_takes(command):
    words = shlex.split(command)
    assert words[0] == "libra-opt"
    assert build_parser().parse_args(words[1:]).command == words[1]


def test_every_measure_is_explained_once():
    named = [name for cell in re.findall(r"^\| (`.+?) \|", PAGE, flags=re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(Measures.model_fields)


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return import_module("simulation_figures")


def ran(**seeds):
    """Return results of policies on the four jobs, for the seeds named."""
    cells = [Cell(workload="four_jobs", policy=policy, seed=seed, period_seconds=60.0) for policy, each in seeds.items() for seed in each]
    return [run_task(Task(cell)) for cell in cells]


@pytest.mark.parametrize(("others", "shared"), [((1, 2), ["3", "2", "2", "2"]), ((1, 2, 3), ["3", "3"]), ((4,), ["3", "1"])])
def test_table_has_the_seeds_that_each_policy_ran_and_a_second_those_that_all_ran(figures, others, shared):
    tables = figures.tables(ran(equal_split=(1, 2, 3), reservation=others))
    rows = [line.split(" | ") for table in tables for line in table.splitlines() if line.startswith(("| equal_split", "| reservation"))]
    assert sorted(row[1] for row in rows) == sorted(shared)
    assert [("those that all ran" in table) for table in tables] == [False, True][: len(shared) // 2]


def test_table_says_what_the_runs_came_to(figures):
    results = ran(equal_split=(1, 2), reservation=(1, 2))
    [table] = figures.tables(results)
    names = [cell.strip() for cell in table.splitlines()[2].strip("|").split("|")]
    row = next(line for line in table.splitlines() if line.startswith("| equal_split"))
    told = dict(zip(names, (cell.strip() for cell in row.strip("|").split("|")), strict=True))
    measures = [result.measures for result in results if result.cell.policy == "equal_split"]
    at_work = [use.used for m in measures for use in m.utilisation if use.resource == "gpu"]
    assert told["work"] == f"{sum(m.card_hours_per_hour for m in measures) / 2:.1f}"
    assert told["at work"] == f"{sum(at_work) / 2:.1%}"
    assert told["kills"] == "0"
    finished = [[r.measures.card_hours_per_hour for r in results if r.cell.policy == policy] for policy in ("equal_split", "reservation")]
    assert told["to reservation"].startswith(f"{sum(finished[0]) / sum(finished[1]):.3f}")
