"""What is computed together is what each would be alone, to the last bit: windows that rows of different lengths share, and tables read at once."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.domain import DEFAULT_RESOURCES, Observation, Resource
from libra_opt.domain.observation import period_numbers
from libra_opt.domain.quantity import parse
from libra_opt.forecast.amounts import UNKNOWN, Reader
from libra_opt.forecast.observations import Signals, observe
from libra_opt.forecast.quantiles import predict_quantiles
from libra_opt.forecast.series import Series
from libra_opt.forecast.window import MOST_ORIGINS
from libra_opt.forecast.windows import cut

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
N_JOBS, N_EACH, N_PERIODS = 24, 3, 200


def jobs_of_many_ages(seed: int) -> Series:
    """Return jobs that began at different times, some rows later than their job, some constant, with gaps and, but for some, with their steps."""
    generator = np.random.default_rng(seed)
    values = generator.gamma(2, 3, (N_JOBS, N_EACH, N_PERIODS)) + 5 * np.sin(np.arange(N_PERIODS) * 2 * np.pi / 12)
    values = np.round(np.maximum(values, 0), 3)
    began = generator.choice([0, 0, 40, 90, 100, 130, 135, 136, 137, 150, 170, 185, 197], N_JOBS)
    for j in range(N_JOBS):
        values[j, :, : began[j]] = np.nan
        if j % 4 == 1:
            values[j, 1] = 7.0
        if j % 4 == 2:
            values[j, 2, : (began[j] + N_PERIODS) // 2] = np.nan
        if j % 3:
            values[j, :, generator.random(N_PERIODS) < 0.1] = np.nan
    length = generator.integers(6, 14, N_JOBS)[:, None]
    step, place = np.divmod(np.arange(N_PERIODS), length)
    step[::5] = -1
    step[generator.random(step.shape) < 0.05] = -1
    progress = np.where(generator.random(step.shape) < 0.2, np.nan, 3 * place / length % 1)
    return Series(values.reshape(-1, N_PERIODS), step, 3 * place // length, progress)


def job(series: Series, j: int) -> Series:
    rows = slice(j * N_EACH, (j + 1) * N_EACH)
    return Series(series.values[rows], *(None if codes is None else codes[j : j + 1] for codes in (series.step, series.phase, series.progress)))


@pytest.mark.parametrize("method", ["auto", "own_step", "quantile_tracking"])
@pytest.mark.parametrize(("seed", "horizon"), [(1, 1), (2, 3)])
def test_jobs_of_different_age_are_predicted_together_as_each_alone(method, seed, horizon):
    series = jobs_of_many_ages(seed)
    series = series if seed == 1 else replace(series, step=None)
    together = predict_quantiles(series, LEVELS, horizon=horizon, method=method)
    for j in range(N_JOBS):
        alone = predict_quantiles(job(series, j), LEVELS, horizon=horizon, method=method)
        rows = slice(j * N_EACH, (j + 1) * N_EACH)
        np.testing.assert_array_equal(together.values[rows], alone.values, strict=True)
        assert together.methods[rows] == alone.methods


def test_few_jobs_of_many_ages_share_windows_and_short_ones_do_not():
    series = jobs_of_many_ages(1)
    largest, smallest = np.fmax.reduce(series.values, axis=1), np.fmin.reduce(series.values, axis=1)
    cuts = list(cut(series, series.values, largest, largest > smallest, 1))
    shared = [one for one in cuts if one.parts]
    assert shared
    assert all(one.measured.shape[1] - part.begin > MOST_ORIGINS for one in shared for part in one.parts)
    assert len(cuts) < len({int(lead) for one in cuts for lead in one.lead})
    assert sorted(row for one in cuts for row in one.rows.tolist()) == list(range(N_JOBS * N_EACH))
    for one in shared:
        for part in one.parts:
            assert np.isnan(one.measured[part.rows, : part.begin]).all()
            assert not np.isnan(one.measured[part.rows, part.begin :]).all(axis=1).any()


wholes = st.integers(0, 1 << 40) | st.integers((1 << 50) - 9, (1 << 53) + 9) | st.integers(0, 1 << 40).map(float)
near_wholes = st.tuples(st.integers(0, 9999), st.sampled_from([0.1, 0.25, 1e-9, 1e-10, 1e-12, 0.7])).map(lambda pair: pair[0] + pair[1])
parts = st.builds(lambda count, each: count / each, st.integers(0, 99_999) | st.integers(0, 10**15), st.sampled_from([10, 1000, 1024, 1 << 20]))
texts = st.lists(st.sampled_from(["3", "0.3"]) | st.sampled_from(["3.00000000000000000001", "0.30000000000000001", "250m", "1k"]), max_size=2)
amounts = st.none() | wholes | near_wholes | parts | st.floats(0, 1e6) | st.just(-0.0)


@given(st.lists(amounts, max_size=20), texts, st.sampled_from([1, 0.1, 0.25, 3, 2.5, 0.001, 1e-6, 1e-7, 1 / 1024, 2**-20]))
def test_amounts_are_read_together_as_each_alone(numbers, texts, quantum):
    resource = Resource(name="cpu", unit="cores", quantum=quantum)
    written = [amount for amount in numbers if amount is None or amount < quantum * (1 << 62)] + texts
    quanta, measured = Reader(resource).measure(written)
    assert quanta.tolist() == [UNKNOWN if amount is None else resource.quanta(amount, round_up=True) for amount in written]
    assert Reader(resource).read(written).tolist() == quanta.tolist()
    for amount, fraction in zip(written, measured.tolist(), strict=True):
        assert math.isnan(fraction) if amount is None else math.isclose(fraction, parse(amount, "cores") / resource.step, rel_tol=1e-12, abs_tol=1e-300)


def test_observations_are_read_in_portions_as_all_at_once(monkeypatch):
    entries = [
        {"usage": {"gpu": 1.5, "mem": 3}, "allocation": {"gpu": 2, "mem": 8}, "watermark": {"mem": 4.2}, "step": 1, "phase": "rollout", "progress": 0.5},
        {"usage": {}, "phase": "train", "requests_waiting": 2.5},
        {"usage": {"gpu": None, "mem": "3Gi"}, "allocation": {}, "tool_calls": 3, "step": 2, "phase": "reward"},
        {"usage": {"gpu": 0.3}, "watermark": {"gpu_mem": 7}, "period": 3, "phase": "rollout", "cpu_queue": 1, "requests_running": 4},
    ]
    observed = [Observation.model_validate(entry) for entry in entries]
    histories = [(*observed[s:], {"gpu": 1}, *observed[:s]) for s in range(len(observed))]
    (whole,) = observe(histories, DEFAULT_RESOURCES)
    monkeypatch.setattr("libra_opt.forecast.observations._SAMPLES_AT_ONCE", 3)
    (portioned,) = observe(histories, DEFAULT_RESOURCES)
    assert whole.stages == portioned.stages
    for name in ("quanta", "measured"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(portioned, name), strict=True)
    for name in Signals.__slots__:
        np.testing.assert_array_equal(getattr(whole.signals, name), getattr(portioned.signals, name), strict=True)
    for row, s in enumerate(whole.stages):
        told = [sample if isinstance(sample, Observation) else Observation(usage=sample) for sample in histories[s]]
        numbers = period_numbers(told)
        for number, sample in zip(numbers, told, strict=True):
            t = whole.quanta.shape[1] - 1 - max(numbers) + number
            assert whole.signals.step[row, t] == (UNKNOWN if sample.step is None else sample.step)
            assert (whole.signals.phase[row, t] == UNKNOWN) == (sample.phase is None)
            for name in ("cpu_queue", "requests_running", "requests_waiting", "tool_calls", "progress"):
                said = getattr(sample, name)
                np.testing.assert_equal(getattr(whole.signals, name)[row, t], np.nan if said is None else said)
            for r, resource in enumerate(DEFAULT_RESOURCES):
                held = UNKNOWN if sample.allocation is None else resource.quanta(sample.allocation.get(resource.name, 0), round_up=True)
                assert whole.signals.held[row, t, r] == held
                amounts = [sample.usage.get(resource.name), None if resource.compressible else sample.watermark.get(resource.name)]
                most = max(UNKNOWN if amount is None else resource.quanta(amount, round_up=True) for amount in amounts)
                assert whole.quanta[row, t, r] in ({most} if sample.allocation != {} else {most, UNKNOWN})
