"""Runs of entries that belong together, against loops."""

from random import Random

import numpy as np
import pytest

from libra_opt.domain import DEFAULT_RESOURCES
from libra_opt.formulation.runs import first_least, ramp, spans
from libra_opt.formulation.written import Written


@pytest.mark.parametrize("seed", range(20))
def test_runs_agree_with_loops(seed: int) -> None:
    dice = Random(seed)
    counts = [dice.randint(0, 4) for _ in range(dice.randint(0, 6))]
    first = [dice.randint(0, 9) for _ in counts]
    assert ramp(np.array(counts, dtype=np.intp)).tolist() == [i for count in counts for i in range(count)]
    indices, starts = spans(np.array(first, dtype=np.intp), np.array(first, dtype=np.intp) + np.array(counts, dtype=np.intp))
    assert indices.tolist() == [begin + i for begin, count in zip(first, counts, strict=True) for i in range(count)]
    assert starts.tolist() == [sum(counts[:i]) for i in range(len(counts))]
    runs = [[dice.choice((0.5, 1.0, 2.0)) for _ in range(count + 1)] for count in counts]
    starts = np.array([sum(len(run) for run in runs[:i]) for i in range(len(runs))], dtype=np.intp)
    values = np.array([value for run in runs for value in run])
    assert first_least(values, starts).tolist() == [start + run.index(min(run)) for start, run in zip(starts.tolist(), runs, strict=True)]


def test_amounts_are_written_as_people_write_them() -> None:
    written = Written(DEFAULT_RESOURCES)
    quanta = np.array([[1, 80, 5, 0, 12], [1, 81, 15, 2, 12]])
    expected = [
        {"gpu": 1, "gpu_mem": "80Gi", "cpu": 0.5, "mem": 0, "net": 1.2},
        {"gpu": 1, "gpu_mem": "81Gi", "cpu": 1.5, "mem": "2Gi", "net": 1.2},
    ]
    assert [dict(row) for row in written.rows(quanta)] == expected
    assert [list(row) for row in written.rows(quanta)] == [list(expected[0])] * 2
    assert [written.one(r, int(quanta[1, r])) for r in range(5)] == list(expected[1].values())
    assert list(written.rows(np.zeros((0, 5), dtype=np.int64))) == []
