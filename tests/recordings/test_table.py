"""Text to columns: what is wrong is named by its line, and another file is told from a broken one."""

import numpy as np
import pytest

from libra_opt.errors import InputError
from libra_opt.recordings import Document, read_objects, read_table


def faults(text, **columns):
    with pytest.raises(InputError) as caught:
        read_table(Document("file.csv", text), "a list of things", **columns)
    assert caught.value.source == "file.csv"
    return [str(fault) for fault in caught.value.faults]


def test_columns_are_found_by_name_and_empty_optional_cells_are_nan():
    table = read_table(Document("f", "b,a,c\nx,1.5,\ny,2,3\n"), "things", numbers=("a",), texts=("b",), optional=("c",))
    assert table.numbers["a"].tolist() == [1.5, 2.0]
    assert list(table.texts["b"]) == ["x", "y"]
    assert np.array_equal(table.numbers["c"], [np.nan, 3.0], equal_nan=True)
    assert table.lines.tolist() == [2, 3]


def test_another_file_is_named_as_such():
    assert faults("p,q\n1,2\n", numbers=("a",)) == [
        "line 1: this is not a list of things: no column 'a' (the first line names 'p', 'q'); give that file, with its header"
    ]


@pytest.mark.parametrize("cell", ["", "x", "-1", "nan", "inf", "-inf", "1e999"])
def test_cell_that_is_no_amount_is_named_by_line_and_column(cell):
    assert faults(f"a,b\n1,u\n{cell},v\n", numbers=("a",)) == [f"line 3, a: {cell!r} is not a finite number of 0 or more; mend or remove the line"]


def test_optional_cell_that_is_there_must_be_an_amount():
    assert faults("a,b\n1,\n1,-3\n", numbers=("a",), optional=("b",)) == ["line 3, b: '-3' is not a finite number of 0 or more; mend or remove the line"]


def test_line_with_too_few_cells_is_named():
    assert faults("a,b\n1,2\n3\n", numbers=("a", "b")) == ["line 3: has 1 cells where the header has 2; mend or remove the line"]


def test_header_alone_is_refused():
    assert faults("a\n", numbers=("a",)) == ["holds no line below its header; there is nothing to read"]


def test_many_faults_are_counted_and_not_all_listed():
    told = faults("a\n" + "x\n" * 500, numbers=("a",))
    assert len(told) == 21
    assert told[-1].startswith("and ")


def test_quoted_line_breaks_do_not_shift_the_line_numbers():
    assert faults('a,b\n1,"two\nlines"\nx,y\n', numbers=("a",)) == ["line 4, a: 'x' is not a finite number of 0 or more; mend or remove the line"]


def test_objects_are_read_line_by_line_and_each_bad_line_is_named():
    assert read_objects(Document("f", '{"a": 1}\n\n{"a": 2}\n'), "things", lambda held: held["a"]) == [1, 2]
    with pytest.raises(InputError) as caught:
        read_objects(Document("f", '{"a": 1}\n{"b": 1}\n[]\n{"a"\n'), "things", lambda held: held["a"])
    assert [fault.path for fault in caught.value.faults] == ["line 2", "line 3", "line 4"]
    assert "no field 'a'" in caught.value.faults[0].message


@pytest.mark.parametrize("text", ["a\x00\n1\n", 'a\n"' + "x" * 200_000 + '"\n'])
def test_what_is_no_comma_separated_text_is_refused(text):
    assert faults(text, numbers=("a",))[0].startswith("line ")


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a": 1' + "0" * 5000 + "}"])
def test_line_that_upsets_the_reader_is_named(line):
    with pytest.raises(InputError) as caught:
        read_objects(Document("f", line), "things", lambda held: np.array([held["a"]], dtype=np.float64))
    assert caught.value.faults[0].path == "line 1"
