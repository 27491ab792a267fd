"""The page on forecasts says what is so: its commands parse, its sets are all there, its figures agree with the README's."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

from libra_opt.cli.parser import GENERATED, RECORDED, build_parser

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "forecast.md").read_text()
README = (ROOT / "README.md").read_text()
COMMANDS = [line.removeprefix("$ ").split("#")[0] for line in re.search(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)[1].splitlines()]


def between(text, name):
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", text, flags=re.DOTALL)[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_one_that_the_parser_takes(command):
    words = shlex.split(command)
    assert build_parser().parse_args(words[1:]).command == "backtest"


@pytest.mark.parametrize(
    "part", [PAGE, between(PAGE, "losses"), between(PAGE, "intervals"), between(README, "forecast")], ids=["page", "losses", "intervals", "readme"]
)
def test_every_set_is_told(part):
    assert [name for name in (*RECORDED, *GENERATED) if name not in part] == []


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_set_has_a_converter(name):
    converter = importlib.import_module(f"libra_opt.adapters.{name}")
    assert converter.PATTERNS
    assert callable(converter.convert)


def test_readme_tells_the_losses_of_the_page():
    losses = between(PAGE, "losses")
    for line in between(README, "forecast").splitlines()[2:]:
        ratio = line.split("|")[6].strip()
        assert f"| {ratio} |" in losses


def test_synthetic_set_is_told_as_such():
    assert "`phase_switching` (synthetic)" in between(PAGE, "losses")
    assert "phase_switching (synthetic)" in between(README, "forecast")


def test_what_is_said_of_the_need_by_own_step_stands_in_its_table():
    rows = [[cell.strip(" `%+") for cell in line.split("|")[1:-1]] for line in between(PAGE, "needs").splitlines()[2:]]
    found = {(name.split("`")[0], margin, need): (float(exceeded), float(excess)) for name, margin, need, _, exceeded, _, excess in rows}
    assert {name for name, _, _ in found} == {"search_r1", "phase_switching"}
    for name in ("search_r1", "phase_switching"):
        assert found[name, "0.3", "own_step"][0] == 0
        assert found[name, "0.3", "own_step"][1] < found[name, "0.1", "whole_history"][1]
        assert found[name, "0.1", "own_step"][0] >= found[name, "0.1", "whole_history"][0]
