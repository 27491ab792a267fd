import pytest

from libra_opt.errors import InputError
from libra_opt.experiments.cell import Cell, Result
from libra_opt.experiments.journal import journal_of, open_journal
from libra_opt.experiments.run import failed
from libra_opt.experiments.storage import as_lines, read_results


def result(seed, error=None):
    cell = Cell(workload="curve", policy="bound", seed=seed, period_seconds=60.0)
    return Result(cell=cell, bound={}) if error is None else failed(cell, error)


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz", "results.parquet"])
def test_what_is_done_is_not_done_again_and_what_failed_is(tmp_path, name):
    with open_journal(tmp_path / name) as journal:
        assert journal.done() == set()
        for each in (result(1), result(2, "it fell over")):
            journal.add(each)
    with open_journal(tmp_path / name) as journal:
        assert journal.done() == {result(1).cell.key}
        journal.add(result(2))
    assert read_results(str(tmp_path / name)) == [result(1), result(2)]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def stop_after(path, *results):
    with open_journal(path) as journal:
        for each in results:
            journal.add(each)
        raise KeyboardInterrupt


def test_interruption_loses_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        stop_after(tmp_path / "results.jsonl", result(1), result(2))
    assert read_results(str(tmp_path / "results.jsonl")) == [result(1), result(2)]


def test_journal_of_a_sweep_that_was_killed_is_gone_on_with_up_to_its_last_whole_line(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(as_lines([result(1)]))
    journal_of(path).write_text(as_lines([result(2)]) + as_lines([result(3)])[:-20])
    with open_journal(path) as journal:
        assert journal.done() == {result(1).cell.key, result(2).cell.key}
        journal.add(result(4))
        assert journal_of(path).read_text() == as_lines([result(2), result(4)])
    assert read_results(str(path)) == [result(1), result(2), result(4)]


def test_two_sweeps_do_not_write_one_file(tmp_path):
    with open_journal(tmp_path / "results.jsonl") as journal:
        journal.add(result(1))
        with pytest.raises(InputError, match="another sweep"), open_journal(tmp_path / "results.jsonl"):
            pass
        journal.add(result(2))
    assert read_results(str(tmp_path / "results.jsonl")) == [result(1), result(2)]


def test_file_of_something_else_is_left_as_it_is(tmp_path):
    (tmp_path / "results.jsonl").write_text("a shopping list\n")
    with pytest.raises(InputError, match="line 1"), open_journal(tmp_path / "results.jsonl"):
        pass
    assert (tmp_path / "results.jsonl").read_text() == "a shopping list\n"
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]
