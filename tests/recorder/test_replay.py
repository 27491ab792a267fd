"""Replay: a recorded run planned again is the same, byte for byte; and where it is not, the first difference is named."""

import gzip
import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest

from libra_opt.allocation import allocate
from libra_opt.cli import main
from libra_opt.domain import read_state, write
from libra_opt.recorder import Recorder, read_pairs
from libra_opt.recorder.replay import difference

TINY = Path(__file__).parents[2] / "instances" / "tiny"
STATES = [read_state((TINY / name).read_text()) for name in ("smallest.json", "r07-slowest-stage.json", "r10-queue-ceiling.json")]


def run_of(n, generator):
    """Return a state whose jobs are as the last plan left them, and how to go on: a small cluster under a load that swings."""
    held = {"a": 4, "b": 2, "c": 0}
    for t in range(n):
        demand = generator.integers(0, 9, size=3)
        jobs = [
            {"id": name, "min_quota": {"gpu": 1}, "max_quota": {"gpu": 6}, "demand": {"gpu": int(d), "cpu": int(8 * d)}}
            | ({"allocation": {"pool": "a100", "resources": {"gpu": held[name], "cpu": 1}}} if held[name] else {})
            for name, d in zip(held, demand, strict=True)
        ]
        options = {"effort": 0.05 if t % 25 == 1 else 0, "backend": "greedy" if t % 5 == 0 else "auto"}
        state = read_state(
            json.dumps({"period": {"index": t}, "pools": [{"name": "a100", "capacity": {"gpu": 8, "cpu": 64}}], "jobs": jobs, "options": options})
        )
        plan = yield state
        held = {job.id: int(job.stages[0].resources["gpu"]) if job.stages else 0 for job in plan.jobs}


def record_run(path, n, seed, **options):
    with Recorder(path, sync=False, **options) as recorder:
        states = run_of(n, np.random.default_rng(seed))
        state = next(states)
        while True:
            plan = recorder(state)
            try:
                state = states.send(plan)
            except StopIteration:
                return


@pytest.fixture(scope="session")
def five_hundred(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "run.jsonl"
    record_run(path, 500, seed=8, most_pairs=200)
    return path


def test_recorded_run_of_500_periods_is_all_different(five_hundred):
    pairs = list(read_pairs(str(five_hundred)))
    assert len(pairs) == 500
    assert len({pair.state().digest for pair in pairs}) == 500
    assert len({pair.plan_text for pair in pairs}) == 500


def test_replay_of_500_periods_is_the_same_byte_for_byte(five_hundred, capsys):
    assert main(["replay", str(five_hundred)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{five_hundred}: 500 pairs, every plan the same, byte for byte\n"
    assert told.err == f"libra-opt: {five_hundred}, 500 pairs\n"


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "run.jsonl"
    with Recorder(path) as recorder:
        for state in STATES:
            recorder(state)
    return path


def changed(recording, old, new, line):
    lines = recording.read_text().splitlines(keepends=True)
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    recording.write_text("".join(lines))


def test_first_difference_is_named_with_line_place_and_both_values(recording, capsys):
    changed(recording, '"action":"shrink"', '"action":"keep"', 1)
    assert main(["replay", str(recording)]) == 1
    assert capsys.readouterr().out == (
        f'{recording}: 1 of 3 plans differ; the first is pair 1 ({recording} line 1)\n  jobs[0].action: recorded "keep", now "shrink"\n'
    )


def test_difference_as_json(recording, capsys):
    changed(recording, '"price":0.9}', '"price":0.90}', 2)
    assert main(["replay", str(recording), "--json"]) == 1
    first = {"pair": 2, "where": f"{recording} line 2", "path": "prices[0].price", "recorded": "0.90", "again": "0.9"}
    assert json.loads(capsys.readouterr().out) == {"recording": str(recording), "pairs": 3, "different": 1, "first": first}


def test_other_versions_are_told_once_each(recording, capsys):
    for line in (1, 2, 3):
        changed(recording, '"libra-opt":"', '"libra-opt":"0.0.', line)
    assert main(["replay", str(recording)]) == 0
    assert capsys.readouterr().err.count("recorded with libra-opt 0.0.") == 1


def test_recording_that_is_damaged_is_refused_before_anything_is_planned(recording, capsys):
    recording.write_text(recording.read_text() + "{}\n")
    assert main(["replay", str(recording)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"{recording} line 4 has 1 fault" in told.err


@pytest.mark.parametrize("content", [b"", b'{"format":"libra-opt/recording/1","pair":1,"ver'], ids=["empty", "only a line that was cut off"])
def test_recording_of_nothing_is_refused_for_it_shows_nothing(recording, tmp_path, capsys, content):
    (tmp_path / "nothing.jsonl").write_bytes(content)
    assert main(["replay", str(recording), str(tmp_path / "nothing.jsonl")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "nothing is recorded in it" in told.err


def test_recording_on_standard_input_is_planned_again(recording, capsys, monkeypatch):
    for content, code in ((recording.read_bytes(), 0), (recording.read_bytes().replace(b'"action":"shrink"', b'"action":"keep"', 1), 1), (b"", 2)):
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(content)))
        assert main(["replay", "-"]) == code
    assert capsys.readouterr().out.splitlines()[:2] == [
        "-: 3 pairs, every plan the same, byte for byte",
        "-: 1 of 3 plans differ; the first is pair 1 (standard input line 1)",
    ]


def test_gzip_that_ends_early_is_refused(recording, tmp_path, capsys):
    (tmp_path / "copy.jsonl.gz").write_bytes(gzip.compress(recording.read_bytes())[:-20])
    assert main(["replay", str(tmp_path / "copy.jsonl.gz")]) == 2
    assert "the gzip data ends early" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        ('{"a":1}', '{"a":1.0}', "a: recorded 1, now 1.0"),
        ('{"a":[1,2]}', '{"a":[1]}', "a[1]: recorded 2, now nothing"),
        ('{"a":[1]}', '{"a":[1,{}]}', "a[1]: recorded nothing, now {}"),
        ('{"a":{"b":null}}', '{"a":{}}', "a.b: recorded null, now nothing"),
        ('{"a":{}}', '{"a":{"b":null}}', "a.b: recorded nothing, now null"),
        ('{"a":true}', '{"a":1}', "a: recorded true, now 1"),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', 'the document: recorded \'a":1,"b":2}\' at character 2'),
        ('{"a":"\\u00e9"}', '{"a":"é"}', "the document: recorded "),
    ],
)
def test_first_difference(then, now, told):
    assert str(difference(then, now)).startswith(told)


@pytest.mark.parametrize(("more", "which"), [((), 2), (("--pair", "1"), 0), (("--pair", "2"), 1), (("--pair", "3"), 2)])
def test_solve_takes_the_pair_that_is_asked_for_or_the_last(recording, capsys, more, which):
    assert main(["solve", str(recording), "--json", *more]) == 0
    assert capsys.readouterr().out == f"{write(allocate(STATES[which]))}\n"
    assert main(["verify", str(recording), str(recording), *more]) == 0


def test_pair_that_is_not_there_is_refused_with_those_that_are(recording, capsys):
    assert main(["solve", str(recording), "--pair", "4"]) == 2
    assert "has pairs 1 to 3, and pair 4 is asked for" in capsys.readouterr().err


def test_pair_of_a_state_is_refused(capsys):
    assert main(["solve", str(TINY / "smallest.json"), "--pair", "1"]) == 2
    assert "is no recording" in capsys.readouterr().err


def test_recording_on_standard_input_is_solved_and_validated(recording, capsys, monkeypatch):
    for command in (["solve", "-", "--json", "--pair", "1"], ["validate", "-"]):
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(recording.read_bytes())))
        assert main(command) == 0
    assert capsys.readouterr().out == f"{write(allocate(STATES[0]))}\n-: a valid recording of 3 pairs\n"


def test_validate_names_faults_in_a_recording_by_line(recording, capsys):
    assert main(["validate", str(recording)]) == 0
    changed(recording, '"min_quota":{"gpu":1}', '"min_quota":{"gpu":-1}', 1)
    assert main(["validate", str(recording)]) == 2
    assert "line 1, the state has 1 fault" in capsys.readouterr().err
