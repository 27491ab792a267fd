"""A pytest plugin for mutation testing only: tests run by their duration, the quickest first, so that most mutants die soon."""

import json
from pathlib import Path

import pytest

__all__ = ["pytest_collection_modifyitems"]

STATS = Path("mutmut-stats.json")
"""Where mutmut keeps what it measured of a clean run, in the directory that it runs the tests in."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if STATS.exists():
        seconds = json.loads(STATS.read_text())["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
