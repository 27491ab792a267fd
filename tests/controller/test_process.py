"""`libra-opt run` as a process: dry runs, recordings, restarts, locks, and how it ends."""

import json
import signal
import subprocess
import time

import pytest

from libra_opt.cli import main
from libra_opt.recorder import read_pairs, replay
from tests.cli.test_process import COMMAND, process
from tests.controller.made import cards, change, put


@pytest.fixture
def config(tmp_path):
    path = put(tmp_path)
    config = tmp_path / "loop.toml"
    config.write_text(f'[scheduler]\nkind = "file"\ncluster = "{path}"\n')
    return config


def run(config, *more):
    return process("run", "--config", str(config), "--period", "1s", *more, text=True)


@pytest.fixture
def run_here(config, capsys):
    """Return what runs the loop in this process, for what a process of its own would show no better and two seconds later."""

    def called(*more):
        line = ["run", "--config", str(config), "--period", "1s", *more]
        code = main(line)
        told = capsys.readouterr()
        return subprocess.CompletedProcess(line, code, told.out, told.err)

    return called


def test_dry_run_says_exactly_what_would_be_done_and_leaves_every_file_alone(config):
    before = {path.name: path.read_bytes() for path in config.parent.iterdir()}
    ended = run(config, "--periods", "1", "--dry-run", "--recording", str(config.parent / "run.jsonl"))
    assert ended.returncode == 0, ended.stderr
    assert [line.split(":")[0].strip() for line in ended.stdout.splitlines()] == ["period 0", "would", "would"]
    assert "admit a: hold main in h100 {'gpu': 6" in ended.stdout
    assert {path.name: path.read_bytes() for path in config.parent.iterdir()} == before


def test_recording_is_continued_and_replays_byte_for_byte(config):
    recording = config.parent / "run.jsonl"
    for _ in range(2):
        ended = run(config, "--periods", "2", "--recording", str(recording), "--json")
        assert ended.returncode == 0, ended.stderr
    turns = [json.loads(line) for line in ended.stdout.splitlines()]
    pairs = list(read_pairs(str(recording)))
    indices = [pair.state().period.index for pair in pairs]
    assert indices == sorted(set(indices))
    assert indices[2:] == [turn["period"] for turn in turns]
    assert turns[0]["outcome"]["n_running"] == 2
    assert all(again.difference is None for again in replay(pairs))
    assert cards(config.parent / "cluster.json") == {"a": 6, "b": 2}


def test_second_loop_is_refused_and_the_first_ends_well_when_it_is_told_to(config):
    page = config.parent / "status.html"
    line = [*COMMAND, "run", "--config", str(config), "--period", "600s", "--page", str(page)]
    first = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    for _ in range(600):
        if page.exists():
            break
        time.sleep(0.1)
    second = run(config, "--periods", "1")
    assert second.returncode == 2
    assert "another loop is at work" in second.stderr
    first.send_signal(signal.SIGTERM)
    told, messages = first.communicate(timeout=60)
    assert first.returncode == 0
    assert told.count("done: admit") == 2
    assert "stopped; every command that was begun is done" in messages
    html = page.read_text()
    assert '<meta http-equiv="refresh" content="600">' in html
    assert "admit a: hold main in h100" in html


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[scheduler]\nkind = 'file'\ncluster = 3", "scheduler.cluster: 3 is not a text"),
        ("[jobs.a]\nweight = -1\n[scheduler]\nkind = 'file'\ncluster = 'c'", "jobs.a.weight: -1 is not a number"),
    ],
)
def test_faulty_configuration_ends_in_2_before_anything_is_done(config, run_here, text, told):
    config.write_text(text)
    ended = run_here()
    assert ended.returncode == 2
    assert told in ended.stderr
    assert ended.stdout == ""
    assert not config.with_name("cluster.json.journal").exists()


def test_faulty_command_line_ends_in_2(run_here):
    ended = run_here("--periods", "0", "--period", "tomorrow")
    assert ended.returncode == 2
    assert "--periods" in ended.stderr
    assert "--period" in ended.stderr


def test_quotas_that_contradict_themselves_are_told_of_in_the_first_period(config, run_here):
    config.write_text(f"{config.read_text()}[jobs.a]\nmin_quota = {{gpu = 9}}\n")
    ended = run_here("--periods", "1", "--dry-run")
    assert ended.returncode == 0
    assert "note: job 'a' is left out" in ended.stdout


def test_scheduler_that_is_not_there_is_waited_for(config, run_here):
    (config.parent / "cluster.json").unlink()
    ended = run_here("--periods", "2", "--period", "1s")
    assert ended.returncode == 0
    assert "nothing done, no answer" in ended.stdout
    assert "waiting for an answer, and asking again in 1 s: there is no file" in ended.stderr
    assert "cluster.json" in ended.stderr


def test_page_shows_text_of_others_as_text(config, run_here):
    page = config.parent / "status.html"
    change(config.parent / "cluster.json", "a", id="<script>alert(1)</script>")
    assert run_here("--periods", "1", "--dry-run", "--page", str(page)).returncode == 0
    assert "&lt;script&gt;" in page.read_text()
    assert "<script" not in page.read_text()
