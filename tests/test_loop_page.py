"""The page on the loop says what is so: every command in it is run, its configuration is read."""

import os
import re
import subprocess
import sys
from pathlib import Path

from libra_opt.controller import read_settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "loop.md").read_text()


def commands_of(page):
    """Return the commands of a page, in order."""
    blocks = re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def type_in(line, directory, environment=None):
    """Run a command as a person would type it; `libra-opt` is the one of this checkout."""
    ours = f"{sys.executable} -c 'import sys; from libra_opt.cli import main; sys.exit(main())'"
    env = {**os.environ, **(environment or {}), "PYTHONPATH": str(ROOT)}
    line = re.sub(r"^libra-opt\b", lambda _: ours, line)
    return subprocess.run(["bash", "-c", line], cwd=directory, capture_output=True, text=True, check=False, timeout=120, env=env)  # noqa: S603, S607


def test_every_command_works(tmp_path):
    told = []
    for line in commands_of(PAGE):
        ended = type_in(line, tmp_path)
        assert ended.returncode == 0, (line, ended.stderr)
        told.append(ended.stdout)
    assert "would: admit" in told[2]
    assert "done: admit" in told[3]
    assert (tmp_path / "status.html").read_text().startswith("<!doctype html>")


def test_configuration_is_read():
    [text] = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert read_settings(text.encode(), "loop.toml").jobs["rollout-a"].weight == 2
