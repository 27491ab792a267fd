"""What docs/service.md and docs/recordings.md show is so: every command is run, in order, as a reader would."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from libra_opt.cli import main
from libra_opt.service.problems import PROBLEMS
from tests.service.running import running

ROOT = Path(__file__).parents[1]
SERVICE, RECORDINGS = ((ROOT / "docs" / name).read_text() for name in ("service.md", "recordings.md"))
SHELL = f"""set -euo pipefail
libra-opt() {{ {sys.executable} -c 'import sys; from libra_opt.cli import main; sys.exit(main())' "$@"; }}
"""


def commands(page):
    return [line.removeprefix("$ ") for block in re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL) for line in block.splitlines()]


def run(command, place):
    ended = subprocess.run(["bash", "-c", SHELL + command], cwd=place, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603, S607 - our own page
    assert ended.returncode == 0, (command, ended.stderr)
    return ended.stdout


@pytest.fixture
def place(tmp_path):
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    return tmp_path


@pytest.mark.skipif(not all(map(shutil.which, ("curl", "openssl", "bash"))), reason="the page's commands need curl, openssl and bash")
def test_every_command_of_the_service_page_does_what_the_page_says(place):
    said = {}
    port, service = 0, None
    contexts = []
    try:
        for command in commands(SERVICE):
            if command.startswith("pip install"):
                assert re.search(r"^service = \[", (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
            elif command.startswith("libra-opt serve"):
                options = [str(place / word) if word == "token" else word for word in command.split()[2:]]
                at = options.index("--port")
                contexts.append(running(*options[:at], *options[at + 2 :], "--workers", "1"))
                service = contexts[-1].__enter__()
                port = service.port
            else:
                said[command] = run(re.sub(r":808\d/", f":{port}/", command), place)
    finally:
        for context in contexts:
            context.__exit__(None, None, None)
    by_place = {command.rsplit("/", 1)[1]: text for command, text in said.items() if command.startswith("curl")}
    assert json.loads(by_place["validate"]) == {"kind": "plan", "jobs": 2}
    assert json.loads(by_place["verify"])["holds"] is True
    assert json.loads(by_place["healthz"])["status"] == "ok"
    assert json.loads((place / "state.schema.json").read_text())["title"] == "State"
    plan = json.loads((place / "plan.json").read_text())
    refused, with_token = (json.loads(text) for command, text in said.items() if command.endswith("/v1/allocate") and "-o" not in command.split())
    shown = json.loads(re.search(r"```json\n(.*?)```", SERVICE, flags=re.DOTALL)[1])
    assert refused == shown
    assert with_token == plan
    for name in re.findall(r"`(libra_opt_\w+)`", SERVICE):
        assert name in by_place["metrics"]


def test_page_lists_every_kind_of_problem_with_its_status():
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", SERVICE, flags=re.MULTILINE)
    assert rows == [(kind, str(status)) for kind, (status, _) in PROBLEMS.items()]


def test_every_command_of_the_recordings_page_does_what_the_page_says(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    exec(compile(re.search(r"```python\n(.*?)```", RECORDINGS, flags=re.DOTALL)[1], "recordings.md", "exec"), {})  # noqa: S102 - our own example
    assert capsys.readouterr().out == "3\n"
    said = []
    for command in commands(RECORDINGS):
        if "|" in command:
            said.append(run(command, place))
        else:
            assert main(shlex.split(command)[1:]) == 0
            said.append(capsys.readouterr().out)
    assert said[0] == "run.jsonl: 3 pairs, every plan the same, byte for byte\n"
    assert "admit" in said[1]
    assert said[1] != said[2]
    assert said[4] == "run.jsonl: a valid recording of 3 pairs\n"
    assert said[5].startswith('{"format":"libra-opt/plan/1"')
    assert sorted(path.name for path in place.glob("run.jsonl*")) == ["run.jsonl", "run.jsonl.000001.gz", "run.jsonl.lock"]
