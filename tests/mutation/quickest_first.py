"""A pytest plugin for mutation testing only: tests run by their duration, the quickest first, so that most mutants die soon.

Every mutant is tried in a fork of one process that holds the tests; what is there already is put beyond the garbage collector, so that no fork copies it only
to look at it.
"""

import gc
import json
from pathlib import Path

import pytest

__all__ = ["pytest_collection_modifyitems", "pytest_configure"]

STATS = Path("mutmut-stats.json")
"""Where mutmut keeps what it measured of a clean run, in the directory that it runs the tests in."""


def pytest_configure() -> None:
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if STATS.exists():
        seconds = json.loads(STATS.read_text())["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
