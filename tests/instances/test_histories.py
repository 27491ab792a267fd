"""The histories that are shipped: made again from the traces, and read like any user's file."""

from pathlib import Path

import numpy as np
import pytest

from libra_opt.adapters import search_r1, series_csv
from libra_opt.adapters.files import read_bytes
from libra_opt.recordings import Document

ROOT = Path(__file__).parents[2]
HISTORIES = ROOT / "instances" / "histories"
TRACES = ROOT.parent / "shared" / "traces"


def documents(pattern):
    return [Document(path.name, read_bytes(str(path)).decode()) for path in sorted(TRACES.glob(pattern))]


@pytest.mark.skipif(not TRACES.is_dir(), reason="the recorded traces are not at hand beside the repository")
def test_converting_the_traces_again_gives_the_same_bytes():
    made = search_r1.convert({part: documents(pattern) for part, pattern in search_r1.PATTERNS.items()})
    assert series_csv.write(made, {"job-0"}, decimals=3) == (HISTORIES / "search-r1-job.csv").read_text()


def test_shipped_history_is_one_job_of_three_resources_with_step_and_phase():
    made = series_csv.convert(Document("history", (HISTORIES / "search-r1-job.csv").read_text()))
    assert [each.resource for each in made.measured] == ["cpu", "gpu", "gpu_mem"]
    for each in made.measured:
        assert each.labels == ("job-0",)
        assert not np.isnan(each.series.values).any()
        assert np.unique(each.series.step).tolist() == list(range(12))
        assert np.unique(each.series.phase).tolist() == [0, 1, 2]


def test_every_history_is_described():
    described = (HISTORIES / "README.md").read_text()
    assert all(path.name in described for path in HISTORIES.glob("*.csv"))
