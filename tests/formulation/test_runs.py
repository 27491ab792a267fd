"""Runs agree with what plain loops say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.formulation.runs import first_least, ramp, spans

COUNTS = st.lists(st.integers(0, 5), max_size=8)
RUNS = st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=1, max_size=5), max_size=8)


@given(COUNTS)
def test_ramp_counts_up_in_every_run(counts: list[int]) -> None:
    assert ramp(np.array(counts, dtype=np.intp)).tolist() == [i for count in counts for i in range(count)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=8))
def test_spans_list_the_indices_of_every_run(runs: list[tuple[int, int]]) -> None:
    first = np.array([begin for begin, _ in runs], dtype=np.intp)
    indices, starts = spans(first, first + np.array([count for _, count in runs], dtype=np.intp))
    assert indices.tolist() == [i for begin, count in runs for i in range(begin, begin + count)]
    assert starts.tolist() == [sum(count for _, count in runs[:i]) for i in range(len(runs))]


@given(RUNS)
def test_first_least_is_the_first_of_the_least_of_its_run(runs: list[list[float]]) -> None:
    values = np.array([value for run in runs for value in run], dtype=np.float64)
    starts = np.array([sum(map(len, runs[:i])) for i in range(len(runs))], dtype=np.intp)
    found = first_least(values, starts)
    assert [index - start for index, start in zip(found.tolist(), starts.tolist(), strict=True)] == [run.index(min(run)) for run in runs]
