"""Bad input: exit 2, every fault named with path and remedy, no traceback, nothing written."""

import gzip
import json
import os
from pathlib import Path

import pytest

from libra_opt.cli import main

POOL = {"name": "a100", "capacity": {"gpu": 8, "mem": "1Ti"}}
JOB = {"id": "a", "min_quota": {"gpu": 1}, "max_quota": {"gpu": 8}, "demand": {"gpu": 2}}


def state(**changes):
    return json.dumps({"format": "libra-opt/state/1", "pools": [POOL], "jobs": [JOB], **changes})


def job(**changes):
    return state(jobs=[{**JOB, **changes}])


BAD = {
    "empty file": ("", ["state.json has 1 fault"]),
    "malformed JSON": ('{"pools": [}', ["line 1 column"]),
    "JSON that ends early": (state()[:40], ["EOF"]),
    "not an object": ("[]", ["state.json"]),
    "another format": (state(format="libra-opt/state/9"), ["format"]),
    "unknown field": (state(podz=[]), ["podz"]),
    "unknown field of a job": (job(minimum=1), ["jobs[0].minimum"]),
    "NaN": (state().replace('"gpu": 2', '"gpu": NaN'), ["jobs[0].demand.gpu"]),
    "infinity": (state().replace('"gpu": 2', '"gpu": Infinity'), ["jobs[0].demand.gpu"]),
    "negative": (job(demand={"gpu": -2}), ["jobs[0].demand.gpu"]),
    "minimum above maximum": (job(min_quota={"gpu": 4}, max_quota={"gpu": 2}), ["jobs[0].max_quota.gpu", "below min_quota 4"]),
    "duplicate ids": (state(jobs=[JOB, JOB]), ["jobs[1].id", "jobs[0]"]),
    "duplicate pools": (state(pools=[POOL, POOL]), ["pools[1].name"]),
    "unknown resource": (job(demand={"gpus": 2}), ["jobs[0].demand.gpus", "gpu_mem"]),
    "unknown pool": (job(pools=["h100"]), ["jobs[0].pools[0]", "h100", "a100"]),
    "unknown pool of an allocation": (job(allocation={"pool": "h100", "resources": {"gpu": 1}}), ["jobs[0].allocation.pool"]),
    "unknown queue": (job(queue="research"), ["jobs[0].queue", "research"]),
    "unit that does not divide": (job(unit=3), ["jobs[0].min_quota.gpu", "multiple of unit"]),
    "wrong suffix": (job(demand={"gpu_mem": "80GB"}), ["jobs[0].demand.gpu_mem", "80GB"]),
    "suffix that leaves bytes open": (job(demand={"gpu_mem": "80"}), ["jobs[0].demand.gpu_mem"]),
    "2^63 bytes": (job(demand={"mem": str(1 << 63)}), ["jobs[0].demand.mem"]),
    "8 Ei": (job(demand={"mem": "8Ei"}), ["jobs[0].demand.mem", "2^63"]),
    "lending more than there is": (
        state(queues=[{"name": "q", "nominal_quota": {"gpu": 1}, "lending_limit": {"gpu": 2}}]),
        ["queues[0].lending_limit.gpu", "nominal_quota"],
    ),
    "several at once": (
        state(jobs=[{**JOB, "queue": "q", "pools": ["x"], "demand": {"gpu": -1}}, {**JOB, "unit": 3}]),
        ["jobs[0].demand.gpu"],
    ),
}

ODD = {
    "no jobs": state(jobs=[]),
    "no pools": state(pools=[]),
    "neither": state(pools=[], jobs=[]),
    "zero capacity": state(pools=[{"name": "a100", "capacity": {}}]),
    "a job larger than the cluster": job(min_quota={"gpu": 64}, max_quota={"gpu": 64}),
    "a guarantee larger than the cluster": state(queues=[{"name": "q", "nominal_quota": {"gpu": 99}}], jobs=[{**JOB, "queue": "q"}]),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys, *argv):
    """Run a command that must be refused and return its message, the same for `solve` and `validate`."""
    assert main(argv) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "Traceback" not in output.err
    assert output.err.startswith("libra-opt: ")
    return output.err


@pytest.mark.parametrize("command", ["solve", "validate"])
@pytest.mark.parametrize("fault", BAD)
def test_bad_state_is_refused_with_path_and_remedy(fault, command, place, capsys):
    text, expected = BAD[fault]
    (place / "state.json").write_text(text)
    output = ["-o", "plan.json"] if command == "solve" else []
    message = refused(capsys, command, "state.json", *output)
    for part in expected:
        assert part in message
    assert [path.name for path in place.iterdir()] == ["state.json"]


@pytest.mark.parametrize("fault", ODD)
def test_odd_but_valid_state_has_a_plan(fault, place, capsys):
    (place / "state.json").write_text(ODD[fault])
    assert main(["solve", "state.json", "-o", "plan.json", "--json"]) == 0
    assert capsys.readouterr().out == Path("plan.json").read_text()
    assert main(["verify", "state.json", "plan.json"]) == 0


def test_missing_file_is_one_clear_line(capsys):
    message = refused(capsys, "solve", "nowhere.json")
    assert "nowhere.json" in message
    assert "no such file" in message


def test_directory_is_one_clear_line(place, capsys):
    assert "is a directory" in refused(capsys, "validate", str(place))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_unreadable_file_is_one_clear_line(place, capsys):
    (place / "state.json").write_text(state())
    (place / "state.json").chmod(0)
    assert "permission denied" in refused(capsys, "validate", "state.json")


def test_gzip_that_ends_early_is_refused(place, capsys):
    (place / "state.json.gz").write_bytes(gzip.compress(state().encode())[:-12])
    assert "ends early" in refused(capsys, "solve", "state.json.gz")


def test_damaged_gzip_is_refused(place, capsys):
    content = bytearray(gzip.compress(state().encode()))
    content[len(content) // 2] ^= 0xFF
    (place / "state.json.gz").write_bytes(content)
    assert "state.json.gz" in refused(capsys, "solve", "state.json.gz")


def test_text_that_is_not_utf8_is_refused(place, capsys):
    (place / "state.json").write_bytes(state().encode("utf-16"))
    refused(capsys, "validate", "state.json")


def test_faults_of_all_files_are_shown_and_no_plan_is_written(place, capsys):
    (place / "good.json").write_text(state())
    (place / "bad.json").write_text(BAD["unknown queue"][0])
    (place / "worse.json").write_text(BAD["unknown pool"][0])
    message = refused(capsys, "solve", "good.json", "bad.json", "worse.json", "-o", "plans")
    assert "bad.json" in message
    assert "worse.json" in message
    assert not (place / "plans").exists()


def test_terminal_escapes_in_a_file_do_not_reach_the_terminal(place, capsys):
    (place / "state.json").write_text(job(queue="\x1b[2Jgone"))
    assert "\x1b" not in refused(capsys, "validate", "state.json")


@pytest.mark.parametrize(("option", "value"), [("--gap", "-1"), ("--gap", "nan"), ("--gap", "2"), ("--effort", "-1"), ("--effort", "inf"), ("--seed", "-1")])
def test_option_out_of_range_is_refused_by_name(option, value, place, capsys):
    (place / "state.json").write_text(state())
    assert option in refused(capsys, "solve", "state.json", f"{option}={value}")


@pytest.mark.parametrize("argv", [[], ["solve"], ["solve", "x", "--backend", "magic"], ["schema", "job"], ["fly"], ["convert", "fgd2023", "n", "p"]])
def test_bad_usage_ends_with_2(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "value"), [("--jobs", "-1"), ("--seed", "-1"), ("--contention", "0"), ("--contention", "nan"), ("--contention", "inf")])
def test_generate_refuses_what_it_cannot_make(option, value, capsys):
    argv = {"--jobs": "4", option: value}
    assert option in refused(capsys, "generate", *(f"{name}={given}" for name, given in argv.items()))


def test_convert_names_bad_lines_and_writes_nothing(place, capsys):
    (place / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,many,1,1,T4\n")
    (place / "pods.csv").write_text("name\n")
    message = refused(capsys, "convert", "fgd2023", "nodes.csv", "pods.csv", "-o", "states")
    assert "nodes.csv" in message
    assert "line 2, cpu_milli: 'many'" in message
    assert not (place / "states").exists()
