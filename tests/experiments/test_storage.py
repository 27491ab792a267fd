import pytest

from libra_opt.errors import InputError
from libra_opt.experiments.cell import Cell, Result
from libra_opt.experiments.run import Task, failed, run_task
from libra_opt.experiments.storage import read_results, write_results
from libra_opt.experiments.summary import latest
from tests.experiments.made import hostile_workload


def cell(policy, seed=1, **parameters):
    return Cell(workload="curve", parameters=parameters, policy=policy, seed=seed, period_seconds=60.0)


@pytest.fixture(scope="module")
def results():
    hostile = hostile_workload()
    return [
        run_task(Task(cell("equal_split", quantum=0.05), keep_timeline=True)),
        run_task(Task(cell("bound"))),
        failed(cell("libra"), "it fell over"),
        run_task(Task(Cell(workload="a.json", digest="sha256:0", policy="greedy_fifo", seed=3, period_seconds=30.0), hostile, keep_timeline=True)),
    ]


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz", "results.parquet"])
def test_what_is_written_is_read_again(results, tmp_path, name):
    write_results(tmp_path / name, results)
    assert read_results(str(tmp_path / name)) == results
    assert [result.measures is not None for result in results] == [True, False, False, True]


def test_parquet_has_a_typed_column_for_every_measure(results, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    write_results(tmp_path / "results.parquet", results)
    table = pq.read_table(tmp_path / "results.parquet")
    assert table["card_hours_per_hour"].to_pylist()[1:3] == [None, None]
    assert str(table.schema.field("n_kills").type) == "int64"
    assert str(table.schema.field("on_time").type) == "double"
    assert table.schema.metadata[b"format"] == b"libra-opt/result/1"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"nonsense\n", "line 1"),
        (b'{"cell": {"workload": "w", "policy": "p", "seed": 1, "period_seconds": 60}}\n', "exactly one of measures, bound and error"),
        (b'\n{"cell": {"workload": "w", "policy": "p", "seed": -1, "period_seconds": 60}, "error": "e"}\n', "line 2, cell.seed"),
        (b"PAR1 and no more", "damaged Parquet"),
    ],
)
def test_file_of_something_else_is_refused_by_line(tmp_path, content, says):
    (tmp_path / "file.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_results(str(tmp_path / "file.jsonl"))


def test_parquet_of_something_else_names_what_is_missing(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="without the columns workload"):
        read_results(str(tmp_path / "other.parquet"))


def test_cell_that_was_run_again_is_told_once():
    first, again = failed(cell("libra"), "it fell over"), Result(cell=cell("libra"), bound={})
    assert latest([first, failed(cell("libra", 2), "so did this"), again]) == [again, failed(cell("libra", 2), "so did this")]


def test_order_of_parameters_makes_no_other_cell():
    assert cell("libra", a=1, b=2).key == cell("libra", b=2, a=1).key != cell("libra", a=2, b=1).key
