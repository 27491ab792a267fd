"""The command as a process: what it imports, how it ends, and the same bytes every time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALLEST = str(ROOT / "instances" / "tiny" / "smallest.json")
COMMAND = (sys.executable, "-c", "import sys; from libra_opt.cli import main; sys.exit(main())")


def process(*argv, **options):
    return subprocess.run([*COMMAND, *argv], capture_output=True, check=False, timeout=120, **options)  # noqa: S603 - our own command


def test_help_imports_nothing_heavy():
    listing = "import sys; from libra_opt.cli import main\ntry: main(['--help'])\nexcept SystemExit: sys.stderr.write(' '.join(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", listing], capture_output=True, check=True, text=True, timeout=60)  # noqa: S603 - our own command
    assert "solve" in ended.stdout
    assert not {"ortools", "cvxpy", "scipy", "numpy", "rich", "pydantic"} & set(ended.stderr.split())


def test_public_names_are_found_whatever_was_imported_before():
    asked = "import libra_opt.allocation, libra_opt; print(all(callable(getattr(libra_opt, name)) for name in libra_opt.__all__), libra_opt.none_such)"
    ended = subprocess.run([sys.executable, "-c", asked.replace(", libra_opt.none_such", "")], capture_output=True, check=True, text=True, timeout=60)  # noqa: S603 - our own command
    assert ended.stdout.strip() == "True"
    ended = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=False, text=True, timeout=60)  # noqa: S603 - our own command
    assert "AttributeError: module 'libra_opt' has no attribute 'none_such'" in ended.stderr


def test_version_is_that_of_the_distribution():
    ended = process("--version", text=True)
    assert ended.returncode == 0
    assert ended.stdout.startswith("libra-opt ")


@pytest.mark.parametrize("backend", ["auto", "cp_sat", "lp_relaxation", "greedy"])
def test_json_on_standard_output_is_one_plan_and_nothing_else(backend):
    ended = process("solve", SMALLEST, "--json", "--backend", backend)
    assert ended.returncode == 0
    assert ended.stdout.startswith(b'{"format":"libra-opt/plan/1"')
    assert ended.stdout.count(b"\n") == 1
    assert ended.stderr == b""


def test_two_processes_under_two_hash_seeds_give_the_same_bytes():
    plans = {process("solve", SMALLEST, "--json", env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")}
    assert len(plans) == 1
    assert plans != {b""}


def test_reader_that_goes_away_is_one_clear_line(tmp_path):
    state = tmp_path / "state.json"
    assert process("generate", "--jobs", "3000", "-o", str(state)).returncode == 0
    running = subprocess.Popen([*COMMAND, "generate", "--jobs", "3000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603 - our own command
    running.stdout.close()
    message = running.stderr.read().decode()
    running.stderr.close()
    assert running.wait(timeout=60) == 141
    assert message == "libra-opt: whoever read the output has closed it; the rest was dropped\n"


def test_interrupt_is_one_clear_line():
    running = subprocess.Popen([*COMMAND, "validate", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603 - our own command
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    message = running.stderr.read().decode()
    running.stderr.close()
    running.stdin.close()
    assert running.wait(timeout=60) == 130
    assert message == "libra-opt: interrupted; no output file was written\n"


def test_terminal_without_unicode_shows_escapes_instead_of_failing():
    ended = process("solve", SMALLEST, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert ended.returncode == 0
    assert b"8 \\u2192 2" in ended.stdout
