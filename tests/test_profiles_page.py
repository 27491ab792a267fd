"""The page on profiles says what is so: its examples run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "profiles.md"


def test_examples_run() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.failed == 0
    assert found.attempted > 10
