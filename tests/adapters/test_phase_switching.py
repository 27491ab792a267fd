"""Generated jobs: labelled so, the same for the same generator, and shaped as they say."""

import numpy as np

from libra_opt.adapters.phase_switching import PHASES, generate


def test_generated_series_are_labelled_so():
    made = generate(np.random.default_rng(0), 2)
    assert made.synthetic
    assert made.recorded == ()
    assert made.assumed


def test_same_generator_gives_the_same_series():
    first, second = (generate(np.random.default_rng(5), 3).measured[0].series.values for _ in range(2))
    assert np.array_equal(first, second, equal_nan=True)


def test_step_and_phase_are_known_of_every_other_job():
    series = generate(np.random.default_rng(0), 4).measured[0].series
    assert (series.step[::2] >= 0).all()
    assert (series.step[1::2] == -1).all()
    assert set(np.unique(series.phase[::2])) == set(range(len(PHASES)))


def test_cards_are_busy_in_training_and_idle_in_reward():
    series = generate(np.random.default_rng(0), 6).measured[0].series
    for values, phase in zip(series.values[::2], series.phase[::2], strict=True):
        assert np.nanmean(values[phase == 2]) > 3 * np.nanmean(values[phase == 1])


def test_no_jobs_are_no_series():
    assert generate(np.random.default_rng(0), 0).measured == ()
