"""Files are written whole or not at all, and read with a remedy for whatever is wrong."""

import os
from pathlib import Path

import pytest

from libra_opt.adapters.files import check_writable, read_bytes, write_whole
from libra_opt.errors import InputError


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_nothing_is_left_behind_by_a_success(tmp_path):
    write_whole({tmp_path / "a": "1", tmp_path / "b": "2"})
    assert names(tmp_path) == ["a", "b"]


def test_no_document_is_written_when_one_cannot_be(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(InputError, match="no such file"):
        write_whole({tmp_path / "a": "new", tmp_path / "missing" / "b": "2"})
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_target_that_is_a_directory_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError):
        write_whole({tmp_path / "a": "1"})
    assert names(tmp_path) == ["a"]


def test_link_is_followed_and_stays(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole({tmp_path / "link": "new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_device_stays_a_device(tmp_path):
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    write_whole({null: "gone"})
    assert Path(os.devnull).is_char_device()


def test_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    write_whole({tmp_path / "a": "1"})
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_packed_text_has_the_same_bytes_each_time_and_reads_back(tmp_path):
    write_whole({tmp_path / "a.gz": "text"})
    first = (tmp_path / "a.gz").read_bytes()
    write_whole({tmp_path / "a.gz": "text"})
    assert (tmp_path / "a.gz").read_bytes() == first
    assert read_bytes(str(tmp_path / "a.gz")) == b"text"


@pytest.mark.parametrize("name", ["nowhere", ".", "a\0b"])
def test_file_that_cannot_be_read_is_refused_by_name(name):
    with pytest.raises(InputError):
        read_bytes(name)


def test_check_refuses_a_missing_directory_and_takes_a_device(tmp_path):
    with pytest.raises(InputError, match="create it first"):
        check_writable(tmp_path / "missing" / "a")
    with pytest.raises(InputError, match="is a directory"):
        check_writable(tmp_path)
    check_writable(tmp_path / "a")
