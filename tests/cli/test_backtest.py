"""`libra-opt backtest`: generated sets alone, a user's file, recorded traces; a table, JSON, a picture; and what it refuses."""

import json
import sys
from pathlib import Path

import pytest

from libra_opt.cli import main

TRACES = Path(__file__).parents[3] / "shared" / "traces"
FAST = ("--origins", "2", "--methods", "last_value,ewma")
OWN = "series,period,value\n" + "".join(f"{name},{t},{(t * step) % 7 + 1}\n" for name, step in (("a", 2), ("b", 3)) for t in range(40))
HOURS = "hour,A10,A100-SXM4-80GB,GPU-series-1,H800,GPU-series-2,A800-SXM4-80GB\n"


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(OWN)
    return str(path)


def put(place, name, text):
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_generated_series_alone_are_scored_and_labelled_synthetic(capsys):
    assert main(["backtest", *FAST]) == 0
    told = capsys.readouterr()
    assert "phase_switching (SYNTHETIC)" in told.out
    assert "pooled by set" in told.out
    assert "phase_switching gpu: 24 series" in told.err


def test_json_on_standard_output_is_one_document_and_tables_go_to_standard_error(own, capsys):
    assert main(["backtest", own, *FAST, "--json", "-"]) == 0
    told = capsys.readouterr()
    held = json.loads(told.out)
    assert held["format"] == "libra-opt/backtest/1"
    assert [each["name"] for each in held["sets"]] == [own]
    assert held["sets"][0]["resources"][0]["n_series"] == 2
    assert "pooled by set" in told.err


def test_horizon_predicts_as_many_values(own, tmp_path):
    for horizon in (1, 3):
        assert main(["backtest", own, "--horizon", str(horizon), *FAST, "--json", str(tmp_path / f"{horizon}.json")]) == 0
    near, far = (json.loads((tmp_path / f"{horizon}.json").read_text())["sets"][0]["resources"][0]["n_predictions"] for horizon in (1, 3))
    assert far == 3 * near


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plot_is_a_file_of_the_kind_its_name_says(own, tmp_path, kind, magic):
    pytest.importorskip("matplotlib")
    target = tmp_path / f"plot.{kind}"
    assert main(["backtest", own, *FAST, "--plot", str(target)]) == 0
    assert target.read_bytes().startswith(magic)


def test_plot_without_matplotlib_names_the_extra_before_any_work(own, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["backtest", own, *FAST, "--plot", str(tmp_path / "plot.png")]) == 2
    told = capsys.readouterr().err
    assert "pip install 'libra-opt[plot]'" in told
    assert "origins" not in told


def test_method_of_a_package_that_is_missing_names_the_extra(own, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "statsforecast", None)
    assert main(["backtest", own, "--methods", "last_value,auto_ets"]) == 2
    assert "pip install 'libra-opt[statsforecast]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "magic"], "--methods: 'magic': known are last_value"),
        (["--sets", "moon"], "--sets: 'moon': known are genai2026"),
        (["--sets", "dlrm2025"], "recorded sets need --traces DIR"),
        (["--horizon", "0"], "--horizon: 0 is not from 1"),
        (["--plot", "x.gif"], "ends in none of .png"),
        (["--json", "/nowhere/x.json"], "there is no directory '/nowhere'"),
        (["--traces", "/nowhere"], "is no directory"),
        (["/nowhere.csv"], "no such file"),
    ],
)
def test_what_cannot_be_done_is_refused(words, message, capsys):
    assert main(["backtest", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["a,0,", "a,1,", "b,1,"], "2 without two different values, 0 without a value to predict in the second half"),
        (["a,0,1", "a,1,1", "b,0,", "c,1,5"], "3 without two different values"),
    ],
)
def test_series_of_nothing_but_gaps_or_one_value_are_refused_by_their_path(tmp_path, capsys, lines, told):
    path, target = tmp_path / "gaps.csv", tmp_path / "result.json"
    path.write_text("\n".join(["series,period,value", *lines, ""]))
    assert main(["backtest", str(path), *FAST, "--json", str(target)]) == 2
    captured = capsys.readouterr()
    assert f"{path} has 1 fault" in captured.err
    assert told in captured.err
    assert captured.out == ""
    assert not target.exists()


def test_series_of_nothing_but_gaps_are_left_out_beside_others(own, tmp_path, capsys):
    path = tmp_path / "gaps.csv"
    path.write_text("series,period,value\na,0,\na,1,\n")
    assert main(["backtest", str(path), own, *FAST]) == 0
    told = capsys.readouterr()
    assert "series left out: value: 1 constant, 0 too short" in told.out
    assert "nan" not in told.out


def test_directory_without_any_set_is_refused(tmp_path, capsys):
    assert main(["backtest", "--traces", str(tmp_path)]) == 2
    assert "holds none of the directories of genai2026" in capsys.readouterr().err


def test_file_of_another_trace_and_a_missing_one_are_both_named(tmp_path, capsys):
    put(tmp_path, "dlrm2025/disaggregated_DLRM_trace.csv", HOURS + "0,1,1,1,1,1,1\n")
    (tmp_path / "agentcgroup").mkdir()
    assert main(["backtest", "--traces", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "line 1: this is not the instances of cluster-trace-gpu-v2025: no column 'gpu_request'" in told
    assert "no file" in told
    assert "resources_1hz*.csv*, which agentcgroup needs" in told


def test_sets_that_are_not_there_are_said_and_the_others_scored(tmp_path, capsys):
    put(tmp_path, "spotgpu2026/hourly_concurrency_top_models.csv", HOURS + "".join(f"{t},{t % 24},1,2,{t % 5},3,{t % 7}\n" for t in range(60)))
    assert main(["backtest", "--traces", str(tmp_path), *FAST]) == 0
    told = capsys.readouterr()
    assert "left out: genai2026, dlrm2025, agentcgroup, search_r1" in told.err
    assert "series left out: gpu: 3 constant, 0 too short" in told.out


def test_two_files_for_one_part_are_refused(tmp_path, capsys):
    for name in ("a", "b"):
        put(tmp_path, f"spotgpu2026/hourly_concurrency_top_models.{name}.csv", HOURS + "0,1,1,1,1,1,1\n")
    assert main(["backtest", "--traces", str(tmp_path)]) == 2
    assert "keep one of them there" in capsys.readouterr().err


@pytest.mark.skipif(not TRACES.is_dir(), reason="the recorded traces are not at hand beside the repository")
def test_every_recorded_set_is_read_and_scored(tmp_path):
    target = tmp_path / "all.json"
    assert main(["backtest", "--traces", str(TRACES), *FAST, "--json", str(target)]) == 0
    held = json.loads(target.read_text())
    assert [each["name"] for each in held["sets"]] == ["genai2026", "dlrm2025", "spotgpu2026", "agentcgroup", "search_r1", "phase_switching"]
    assert all(each["assumed"] for each in held["sets"])
    assert all(0 < each["scores"]["ewma"]["pinball"] < 1 for each in held["sets"])
