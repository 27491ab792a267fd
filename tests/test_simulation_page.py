"""What docs/simulation.md says is so: its commands, its measures."""

import re
import shlex
from pathlib import Path

import pytest

from libra_opt.cli.parser import build_parser
from libra_opt.simulation.measures import Measures

PAGE = (Path(__file__).parents[1] / "docs" / "simulation.md").read_text()
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
