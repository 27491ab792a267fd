"""What the README shows is so: its state, its code, its commands, its paths."""

import json
import re
import shlex
from pathlib import Path

import pytest

from libra_opt.cli.parser import build_parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL))
COMMANDS = [part for line in BLOCKS["console"].splitlines() for part in line.removeprefix("$ ").split("#")[0].split("&&")]


def test_smallest_state_is_the_tiny_instance():
    instance = json.loads((ROOT / "instances" / "tiny" / "smallest.json").read_text())
    del instance["about"]
    assert json.loads(BLOCKS["json"]) == instance


def test_python_example_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    exec(compile(BLOCKS["python"], "README.md", "exec"), {})  # noqa: S102 - our own example
    assert "optimal 7.75 7.75" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_one_that_the_parser_takes(command):
    words = shlex.split(command.replace("FILE...", "FILE"))
    assert words[0] == "libra-opt"
    assert build_parser().parse_args(words[1:]).command == words[1]


@pytest.mark.parametrize("place", re.findall(r"^\| `([^`]+)` \|", README, flags=re.MULTILINE))
def test_map_of_the_house_names_what_is_there(place):
    assert (ROOT / place).exists()


def test_make_demo_solves_an_instance_that_is_there():
    instance = re.search(r"^DEMO := (.+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)[1]
    assert (ROOT / instance).is_file()
