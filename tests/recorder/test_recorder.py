"""Recording: every period is on disk before its plan is returned, whatever happens next."""

import gzip
import json
import multiprocessing
import os
import random
import resource
import signal
from pathlib import Path

import pytest

from libra_opt.allocation import allocate
from libra_opt.domain import read_plan, read_state, write
from libra_opt.errors import InputError
from libra_opt.recorder import Recorder, last_pair, read_pairs, versions
from libra_opt.recorder.pair import as_line

SMALLEST = (Path(__file__).parents[2] / "instances" / "tiny" / "smallest.json").read_text()
STATE = read_state(SMALLEST)
PLAN = allocate(STATE)


def numbers(path):
    return [pair.number for pair in read_pairs(str(path))]


def fill(path, n, **options):
    with Recorder(path, **options) as recorder:
        for _ in range(n):
            recorder.append(STATE, PLAN)


def test_what_is_recorded_is_what_was_asked_and_answered(tmp_path):
    with Recorder(tmp_path / "run.jsonl") as recorder:
        plan = recorder(STATE)
    [pair] = read_pairs(str(tmp_path / "run.jsonl"))
    assert (pair.state_text, pair.plan_text) == (write(STATE), write(plan))
    assert (pair.state(), pair.plan()) == (STATE, plan)
    assert plan == PLAN
    assert pair.versions == versions()
    assert {"libra-opt", "ortools", "highspy", "cvxpy"} <= set(pair.versions)


def test_line_is_json_that_any_reader_takes(tmp_path):
    fill(tmp_path / "run.jsonl", 1)
    line = json.loads((tmp_path / "run.jsonl").read_text())
    assert line["format"] == "libra-opt/recording/1"
    assert read_state(json.dumps(line["state"])) == STATE
    assert read_plan(json.dumps(line["plan"])) == PLAN


def test_note_comes_back_with_the_last_pair(tmp_path):
    with Recorder(tmp_path / "run.jsonl") as recorder:
        assert recorder.last() is None
        recorder.append(STATE, PLAN)
        recorder.append(STATE, PLAN, {"setpoint": {"margin": 0.25}})
    with Recorder(tmp_path / "run.jsonl") as recorder:
        assert recorder.last().number == 2
        assert recorder.last().note == {"setpoint": {"margin": 0.25}}


def test_note_that_is_not_json_is_refused_and_nothing_is_written(tmp_path):
    with Recorder(tmp_path / "run.jsonl") as recorder, pytest.raises(ValueError, match="JSON"):
        recorder.append(STATE, PLAN, {"x": float("nan")})
    assert (tmp_path / "run.jsonl").read_bytes() == b""


def test_line_cut_off_at_any_byte_is_cut_away_and_no_pair_before_it_is_lost(tmp_path):
    path = tmp_path / "run.jsonl"
    whole = as_line(1, STATE, PLAN, {})
    second = as_line(2, STATE, PLAN, {})
    for cut in [*range(1, 60), *range(60, len(second) - 1, 97), len(second) - 2]:
        path.write_bytes(whole + second[:cut])
        told = []
        assert [pair.number for pair in read_pairs(str(path), told.append)] == [1]
        assert told == [f"{path}: its last line 2 was cut off and is left out"]
        assert last_pair(path).number == 1
        with Recorder(path, sync=False) as recorder:
            assert recorder.cut_bytes == cut
            recorder.append(STATE, PLAN)
        assert path.read_bytes() == whole + second


def test_line_that_lacks_only_its_end_is_kept(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(as_line(1, STATE, PLAN, {}).rstrip(b"\n"))
    assert numbers(path) == [1]
    fill(path, 1)
    assert numbers(path) == [1, 2]


def test_zeros_that_a_machine_left_when_it_crashed_are_cut_away(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(as_line(1, STATE, PLAN, {}) + bytes(5000) + b"\n" + bytes(70))
    fill(path, 1)
    assert numbers(path) == [1, 2]


@pytest.mark.parametrize("options", [{"most_pairs": 3}, {"most_bytes": 3000}], ids=["by pairs", "by bytes"])
def test_full_files_are_packed_and_read_in_order(tmp_path, options):
    path = tmp_path / "run.jsonl"
    fill(path, 5, **options)
    fill(path, 8, **options)
    assert numbers(path) == list(range(1, 14))
    parts = sorted(part.name for part in tmp_path.iterdir() if part.name.endswith(".gz"))
    assert parts[0] == "run.jsonl.000001.gz"
    assert len(parts) == len([part for part in tmp_path.iterdir() if part.name.startswith("run.jsonl.0")]) > 2
    assert numbers(tmp_path / parts[0]) == list(range(1, gzip.decompress((tmp_path / parts[0]).read_bytes()).count(b"\n") + 1))


def test_parts_that_are_deleted_from_the_front_are_not_missed_but_one_in_the_middle_is(tmp_path):
    path = tmp_path / "run.jsonl"
    fill(path, 7, most_pairs=2)
    (tmp_path / "run.jsonl.000001.gz").unlink()
    assert numbers(path) == [3, 4, 5, 6, 7]
    fill(path, 1, most_pairs=2)
    assert last_pair(path).number == 8
    (tmp_path / "run.jsonl.000002.gz").rename(tmp_path / "run.jsonl.000001.gz")
    with pytest.raises(InputError, match="has lost its part 000002 of 000003"):
        numbers(path)


_NOISE = random.Random(0).randbytes(999).replace(b"\n", b"")
"""Without an end of line: a line that could be read whole would be named beside the part."""


@pytest.mark.parametrize("content", [b'{"format":', gzip.compress(b"x" * 999)[:-9], gzip.compress(_NOISE)[:40]], ids=["plain", "short", "cut"])
def test_damaged_full_part_is_refused_with_its_name(tmp_path, content):
    path, part = tmp_path / "run.jsonl", tmp_path / "run.jsonl.000001.gz"
    fill(path, 2, most_pairs=1)
    path.write_bytes(b"")
    part.write_bytes(content)
    for read in (last_pair, numbers, Recorder):
        with pytest.raises(InputError) as refused:
            read(path)
        assert refused.value.source == str(part)


def test_full_part_that_holds_nothing_is_passed_over(tmp_path):
    path = tmp_path / "run.jsonl"
    fill(path, 2, most_pairs=1)
    path.write_bytes(b"")
    (tmp_path / "run.jsonl.000001.gz").write_bytes(gzip.compress(b""))
    assert last_pair(path) is None


def test_rotation_that_was_stopped_at_any_step_is_finished(tmp_path):
    path, plain, packed = (tmp_path / name for name in ("run.jsonl", "run.jsonl.000001", "run.jsonl.000001.gz"))
    line = as_line(1, STATE, PLAN, {})
    for files in ({plain}, {plain, path}, {plain, packed}, {plain, packed, path}, {packed}, {packed, path}):
        for file in (path, plain, packed):
            file.unlink(missing_ok=True)
        for file in files:
            file.write_bytes(b"" if file == path else gzip.compress(line) if file == packed else line)
        assert numbers(path) == [1]
        assert last_pair(path).number == 1
        fill(path, 1)
        assert numbers(path) == [1, 2]
        assert not plain.exists()


def _record_for_ever(path):
    with Recorder(path, most_pairs=3) as recorder:
        print_to = os.open(path.with_suffix(".told"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        while True:
            recorder.append(STATE, PLAN)
            os.write(print_to, b".")


def test_writer_killed_at_any_moment_loses_no_pair_that_it_had_written(tmp_path):
    path = tmp_path / "run.jsonl"
    told = path.with_suffix(".told")
    for turn in range(6):
        writer = multiprocessing.get_context("fork").Process(target=_record_for_ever, args=(path,))
        before = told.stat().st_size if told.exists() else 0
        writer.start()
        while not told.exists() or told.stat().st_size < before + 3 + turn:
            assert writer.is_alive()
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        found = numbers(path)
        assert found == list(range(1, len(found) + 1))
        assert len(found) >= told.stat().st_size


def test_reader_beside_a_writer_sees_every_pair_once(tmp_path):
    path = tmp_path / "run.jsonl"
    with Recorder(path, most_pairs=2, sync=False) as recorder:
        recorder.append(STATE, PLAN)
        seen = []
        for pair in read_pairs(str(path)):
            seen.append(pair.number)
            if recorder.last().number < 20:
                recorder.append(STATE, PLAN)
    assert seen == list(range(1, len(seen) + 1))


def test_second_writer_is_refused_with_the_process_of_the_first(tmp_path):
    with Recorder(tmp_path / "run.jsonl"), pytest.raises(InputError, match=f"is being written by process {os.getpid()}; stop it or name another file"):
        Recorder(tmp_path / "run.jsonl")
    Recorder(tmp_path / "run.jsonl").close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/run.jsonl", "create it first"),
        ("run.jsonl.gz", "leave .gz out"),
        ("run.jsonl.000001", "name the recording itself"),
    ],
)
def test_place_that_cannot_be_recorded_to_is_refused_with_a_remedy(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        Recorder(tmp_path / name)


def test_file_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "state.json"
    path.write_text(SMALLEST)
    with pytest.raises(InputError, match="no period of a recording"):
        Recorder(path)
    assert path.read_text() == SMALLEST
    Path(tmp_path / "other").write_text(SMALLEST)
    with pytest.raises(InputError, match="no period of a recording"):
        list(read_pairs(str(tmp_path / "other")))


def _fill_the_disk(path):
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 700, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with Recorder(path) as recorder:
        before = path.read_bytes()
        try:
            recorder.append(STATE, PLAN)
        except InputError as error:
            os._exit(0 if "the period is not on record, make room" in str(error) and path.read_bytes() == before else 1)
    os._exit(2)


def test_full_disk_leaves_the_recording_as_it_was(tmp_path):
    path = tmp_path / "run.jsonl"
    fill(path, 1)
    writer = multiprocessing.get_context("fork").Process(target=_fill_the_disk, args=(path,))
    writer.start()
    writer.join()
    assert writer.exitcode == 0
    assert numbers(path) == [1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{}\n", "its format is missing"),
        (b'{"format":"libra-opt/recording/2","state":{},"plan":{}}\n', 'its format is "libra-opt/recording/2"'),
        (b'{"format":"libra-opt/recording/1"}\n', "it has no state and no plan"),
        (b'{"format":"libra-opt/recording/1","pair":"x","state":{},"plan":{}}\n', "its pair is no whole number"),
        (b'{"format":"libra-opt/recording/1","state":{},"state":{},"plan":{}}\n', "written twice"),
        (b'{"format":"libra-opt/recording/1","state":' + b"[" * 100_000 + b"\n", "nested too deeply"),
        (b"\xff\n", "decode"),
        (b"[]\n", "'{' is expected"),
        (b"{} {}\n", "something follows"),
    ],
)
def test_line_that_is_no_period_is_named(tmp_path, line, message):
    path = tmp_path / "run.jsonl"
    path.write_bytes(as_line(1, STATE, PLAN, {}) + line + as_line(3, STATE, PLAN, {}))
    with pytest.raises(InputError, match=r"run.jsonl line 2 has 1 fault") as caught:
        list(read_pairs(str(path)))
    assert message in str(caught.value)
