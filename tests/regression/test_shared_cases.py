"""Every neutral case that lies beside the repository, straight through the mapping, with all that it asserts."""

import json
from pathlib import Path

import pytest

from tests.regression.neutral import failures

SHARED = Path(__file__).parents[3] / "shared" / "cases"
CASES = sorted(SHARED.glob("*.json"))

ARGUED: dict[str, str] = {}
"""Cases that contradict the design, by file name, with the reason."""


@pytest.mark.skipif(not CASES, reason="the neutral cases are not at hand beside the repository")
def test_every_argued_case_is_there():
    assert set(ARGUED) <= {path.stem for path in CASES}


@pytest.mark.parametrize(
    "path",
    CASES or [pytest.param(None, marks=pytest.mark.skip("the neutral cases are not at hand beside the repository"))],
    ids=lambda path: path.stem if path else "none",
)
def test_reported_fault_does_not_occur(path):
    if path.stem in ARGUED:
        pytest.skip(ARGUED[path.stem])
    assert failures(json.loads(path.read_text("utf-8"))) == []
