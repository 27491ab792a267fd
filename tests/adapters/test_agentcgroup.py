"""Agent sandboxes: the CPU column is a running average, and reading it as use now is the trap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libra_opt.adapters import agentcgroup
from libra_opt.adapters.agentcgroup import cores_in_use
from libra_opt.errors import InputError
from libra_opt.recordings import Document

HEADER = "group,task,epoch,mem_usage,cpu_percent\n"


def running_average(cores):
    return 100 * np.cumsum(cores) / np.arange(1, len(cores) + 1)


def converted(lines):
    return agentcgroup.convert({"samples": [Document("samples.csv", HEADER + "".join(lines))]})


def samples(cores, memory="100MB", task="t"):
    return [f"g,{task},{1000 + i},{memory},{percent:.6f}%\n" for i, percent in enumerate(running_average(np.array(cores)))]


@given(st.lists(st.floats(0.01, 8), min_size=2, max_size=60))
def test_use_is_recovered_from_the_running_average(cores):
    epoch = np.arange(1.0, len(cores) + 1)
    assert np.allclose(cores_in_use(epoch, running_average(np.array(cores))), cores, atol=1e-6)


def test_container_that_worked_once_is_idle_afterwards_and_not_slowly_cooling():
    cores = [2.0] * 60 + [0.0] * 240
    used = converted(samples(cores)).measured[0].series.values[0]
    column = running_average(np.array(cores)).reshape(-1, 10).mean(axis=1) / 100
    assert np.allclose(used[:6], 2, atol=1e-3)
    assert np.allclose(used[6:], 0, atol=1e-3)
    assert column[-1] > 0.4


def test_zero_between_samples_is_a_dropout_and_no_burst_follows_it():
    percent = running_average(np.full(30, 1.5))
    percent[12] = 0.0
    cores = cores_in_use(np.arange(1.0, 31.0), percent)
    assert np.isnan(cores[12])
    assert np.allclose(np.delete(cores, 12), 1.5)


def test_average_rounded_down_gives_no_negative_use():
    assert (cores_in_use(np.arange(1.0, 101.0), np.floor(running_average(np.ones(100) * 0.37))) >= 0).all()


def test_memory_is_the_highest_sample_in_gib_and_zero_bytes_are_no_measurement():
    lines = samples([1.0] * 300)
    lines[5] = "g,t,1005,2.5GB,100.0%\n"
    lines[-1] = "g,t,1299,0B,0.00%\n"
    memory = converted(lines).measured[1].series.values[0]
    assert memory[0] == pytest.approx(2.5e9 / 1024**3)
    assert memory[-1] == pytest.approx(1e8 / 1024**3)


def test_samples_out_of_order_are_put_in_order():
    cores = np.random.default_rng(0).uniform(0.1, 2, 300)
    lines = samples(cores)
    assert np.array_equal(converted(lines[::-1]).measured[0].series.values, converted(lines).measured[0].series.values)


def test_short_task_is_left_out():
    assert converted(samples([1.0] * 300) + samples([1.0] * 50, task="brief")).measured[0].labels == ("g/t",)


@pytest.mark.parametrize(("line", "message"), [("g,t,1,100,5%\n", "line 2, mem_usage: '100'"), ("g,t,1,100MB,5\n", "line 2, cpu_percent: '5'")])
def test_amount_without_its_unit_is_named(line, message):
    with pytest.raises(InputError, match=message):
        converted([line])
