"""`simulate`, `sweep` and `workload` as they are called."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from libra_opt.cli import main
from libra_opt.domain import read_workload
from libra_opt.experiments.storage import read_results
from libra_opt.simulation.workloads import make

QUICK = ("--policies", "equal_split,greedy_fifo", "--against", "equal_split")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *argv, code=0):
    assert main(argv) == code
    return capsys.readouterr()


def test_list_names_workloads_with_parameters_policies_and_meanings(capsys):
    shown = run(capsys, "simulate", "--list").out
    for part in ("agentic", "load=1.2", "gang=elastic", "static_best", "libra", "bound", "card-hours of finished steps per hour"):
        assert part in shown


def test_table_compares_with_the_baseline_and_names_the_throughput(capsys):
    shown = run(capsys, "simulate", "four_jobs", *QUICK, "--seeds", "1-2", "--throughput", "jobs").out
    assert "four_jobs (synthetic), period 60 s, 2 seeds" in shown
    assert "Throughput: finished jobs per hour" in shown
    assert "x equal_split" in shown


def test_json_is_one_result_a_line_and_nothing_else(capsys):
    told = run(capsys, "simulate", "four_jobs", *QUICK, "--seeds", "2,1", "--json", "-")
    cells = [json.loads(line)["cell"] for line in told.out.splitlines()]
    assert [(cell["seed"], cell["policy"]) for cell in cells] == [(seed, policy) for seed in (2, 1) for policy in ("equal_split", "greedy_fifo")]
    assert "Throughput" in told.err


def test_record_keeps_the_timelines_of_the_first_seed_and_json_none(capsys):
    run(capsys, "simulate", "four_jobs", *QUICK, "--seeds", "1-2", "--record", "runs.jsonl.gz", "--json", "measures.jsonl")
    assert [result.timeline is not None for result in read_results("runs.jsonl.gz")] == [True, True, False, False]
    assert [result.timeline for result in read_results("measures.jsonl")] == [None] * 4


def test_parameters_and_period_reach_the_run(capsys):
    run(capsys, "simulate", "curve", *QUICK, "--seeds", "1", "--set", "capacity=2", "--period", "2m", "--json", "out.jsonl")
    result = read_results("out.jsonl")[0]
    assert result.cell.parameters == {"capacity": 2}
    assert result.cell.period_seconds == 120
    assert result.measures.makespan_seconds < 600


def test_workload_is_a_document_that_simulate_takes(capsys, place):
    run(capsys, "workload", "curve", "--set", "capacity=2", "--seed", "3", "-o", "w.json.gz")
    run(capsys, "workload", "curve", "--set", "capacity=2", "--seed", "3", "-o", "w.json")
    assert read_workload((place / "w.json").read_bytes()) == make("curve", 3, capacity=2)
    shown = run(capsys, "simulate", "./w.json.gz", *QUICK, "--seeds", "1", "--json", "out.jsonl").out
    assert "./w.json.gz (synthetic)" in shown
    assert read_results("out.jsonl")[0].cell.digest.startswith("sha256:")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("simulate",), ["WORKLOAD: is missing"]),
        (("simulate", "four_job"), ["'four_job' is no workload; choose one of four_jobs"]),
        (("simulate", "./no.json"), ["no such file"]),
        (("simulate", "four_jobs", "--policies", "libra,best,x"), ["'best', 'x': known are equal_split"]),
        (("simulate", "four_jobs", "--seeds", "8-1"), ["'8-1' is neither"]),
        (("simulate", "four_jobs", "--seeds", ""), ["'' is neither"]),
        (("simulate", "four_jobs", "--seeds", "-1"), ["'-1' is neither"]),
        (("simulate", "four_jobs", "--period", "0s"), ["'0s' is no duration"]),
        (("simulate", "four_jobs", "--period", "fast", "--jobs", "0"), ["'fast' is no duration", "--jobs: 0 processes"]),
        (("simulate", "agentic", "--set", "load=much", "--set", "gang=loose", "--set", "x=1"), ["--set load", "--set gang", "--set x: unknown field"]),
        (("simulate", "agentic", "--set", "load=1,2"), ["several values"]),
        (("simulate", "agentic", "--set", "load", "--set", "cards=8", "--set", "cards=16"), ["'load' is not NAME=VALUE", "set twice"]),
        (("simulate", "recorded"), ["--traces: is missing"]),
        (("workload", "recorded", "--set", "load=0"), ["--traces: is missing", "--set load"]),
        (("simulate", "four_jobs", "--traces", "."), ["'four_jobs' is generated"]),
        (("simulate", "four_jobs", "--against", "nobody"), ["--against: 'nobody'"]),
        (("simulate", "four_jobs", "--record", "runs.txt"), ["does not say the format"]),
        (("simulate", "four_jobs", "--json", "no/out.jsonl"), ["there is no directory"]),
        (("sweep", "four_jobs", "-o", "out.csv"), ["does not say the format"]),
        (("sweep", "four_jobs", "-o", "out.jsonl", "--periods", "60s,soon"), ["--periods: 'soon'"]),
        (("sweep", "four_jobs", "-o", "out.jsonl", "--seeds", "1-900000", "--periods", "1,2"), ["more than 1,000,000 cells"]),
        (("workload", "nothing", "--seed", "-1"), ["'nothing' is no workload", "-1 is negative"]),
    ],
)
def test_bad_call_names_every_fault_and_does_nothing(capsys, place, argv, says):
    told = run(capsys, *argv, code=2)
    for part in says:
        assert part in told.err
    assert told.out == ""
    assert list(place.iterdir()) == []


def test_recorded_workload_is_composed_from_traces_and_named_by_what_is_missing(capsys, place):
    told = run(capsys, "simulate", "recorded", "--traces", ".", code=2)
    assert "which the recorded workload needs" in told.err
    traces = Path(__file__).parents[2].parent / "shared" / "traces"
    if not traces.is_dir():
        pytest.skip("no recorded traces beside the repository")
    run(capsys, "workload", "recorded", "--traces", str(traces), "--set", "load=0.5", "--set", "cards=16", "--seed", "2", "-o", "w.json")
    made = read_workload((place / "w.json").read_bytes())
    assert made.about.synthetic is False
    assert made.about.assumed
    shown = run(
        capsys, "simulate", "recorded", "--traces", str(traces), "--set", "load=0.5", "--set", "cards=16", "--seeds", "2", "--policies", "equal_split"
    ).out
    assert "recorded, cards 16, load 0.5 (recorded)" in shown


def test_document_is_not_changed_from_the_command_line(capsys):
    run(capsys, "workload", "curve", "-o", "w.json")
    assert "change it in there" in run(capsys, "simulate", "./w.json", "--set", "capacity=2", code=2).err


def test_sweep_crosses_parameters_periods_and_seeds_and_goes_on(capsys):
    grid = ("sweep", "curve", *QUICK, "--set", "capacity=1,2", "--periods", "30s,2m", "-o", "out.jsonl")
    first = run(capsys, *grid, "--seeds", "1")
    told = run(capsys, *grid, "--seeds", "1-2")
    results = read_results("out.jsonl")
    assert "8 of 16 cells are in out.jsonl already" in told.err
    assert told.err.count(": done") == first.err.count(": done") == 8
    assert len({result.cell.key for result in results}) == 16
    assert [result.cell.setting for result in results if result.timeline is not None] == ["curve, capacity 1"] * 2 + ["curve, capacity 2"] * 2
    assert "By period" in told.out
    assert "best" in told.out


def test_failed_cell_is_told_with_its_cell_and_run_again(capsys):
    run(capsys, "workload", "curve", "-o", "w.json")
    run(capsys, "sweep", "./w.json", *QUICK, "--seeds", "1-2", "-o", "out.jsonl")
    first, *others = read_results("out.jsonl")
    broken = first.model_copy(update={"measures": None, "timeline": None, "error": "it fell over"})
    with open("out.jsonl", "w") as stream:  # noqa: PTH123 - as an earlier call would have left it
        stream.writelines(f"{result.model_dump_json(exclude_none=True)}\n" for result in (broken, *others))
    told = run(capsys, "sweep", "./w.json", *QUICK, "--seeds", "1-2", "-o", "out.jsonl")
    assert "3 of 4 cells" in told.err
    assert all(result.error is None for result in read_results("out.jsonl"))


def test_interrupted_sweep_keeps_what_is_done_and_says_how_to_go_on(place):
    command = [sys.executable, "-c", "import sys; from libra_opt.cli import main; sys.exit(main())"]
    grid = ["sweep", "four_jobs", "--policies", "equal_split,libra", "--seeds", "1-50", "-o", "out.jsonl"]
    running = subprocess.Popen([*command, *grid], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ}, cwd=place)  # noqa: S603 - our own command
    for _ in range(600):
        if (place / "out.jsonl.partial").exists() and (place / "out.jsonl.partial").stat().st_size:
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    message = running.stderr.read().decode()
    running.stderr.close()
    assert running.wait(timeout=60) == 130
    assert "the same call goes on" in message
    assert len(read_results("out.jsonl")) >= 1
    assert not (place / "out.jsonl.partial").exists()


def test_ray_gives_the_same_numbers_as_this_machine(capsys, place):
    pytest.importorskip("ray")
    grid = ("sweep", "curve", "--policies", "equal_split,greedy_fifo,bound", "--seeds", "1-2", "--set", "capacity=1,2", "--timelines", "none")
    run(capsys, *grid, "-o", "local.parquet")
    command = [sys.executable, "-c", "import sys; from libra_opt.cli import main; sys.exit(main())", *grid, "--engine", "ray", "--jobs", "2"]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    ended = subprocess.run([*command, "-o", "ray.parquet"], capture_output=True, text=True, check=False, timeout=300, env=environment)  # noqa: S603 - our own command
    assert ended.returncode == 0, ended.stderr
    here, there = ({result.cell.key: comparable(result) for result in read_results(f"{place}/{engine}.parquet")} for engine in ("local", "ray"))
    assert len(here) == 12
    assert here == there


def comparable(result):
    """Return a result without what a clock told."""
    told = result.model_dump()
    if told["measures"] is not None:
        told["measures"] = {name: value for name, value in told["measures"].items() if not name.startswith("deciding")}
    return told
