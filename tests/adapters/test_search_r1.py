"""Composed rollouts: trajectories start together, tools run between turns, training follows."""

import json
import re

import numpy as np
import pytest

from libra_opt.adapters import search_r1
from libra_opt.errors import InputError
from libra_opt.recordings import Document

LOG = "step:0 - timing/gen:10.0 - timing/ref:1.0 - timing/values:0.5 - timing/adv:0.5 - timing/update_critic:4.0 - timing/update_actor:4.0\n"


def trajectory(group, *turns):
    """Return a line; turns are (engine seconds, tool seconds or None, tokens after)."""
    return json.dumps(
        {
            "prompt_group_id": group,
            "turns": [{"engine_latency_s": engine, "total_len_after": tokens} for engine, _, tokens in turns],
            "tool_calls": [{"turn": i, "latency_s": tool} for i, (_, tool, _) in enumerate(turns) if tool is not None],
        }
    )


def converted(*batches, log=LOG):
    return search_r1.convert({"trajectories": [Document(f"step{i}", "\n".join(lines)) for i, lines in enumerate(batches)], "phases": [Document("log", log)]})


def by_resource(made):
    return {each.resource: each.series.values for each in made.measured}


def test_one_step_is_what_its_trajectories_say():
    made = converted([trajectory(0, (60, 30, 1000), (30, None, 3000)), trajectory(0, (60, None, 2000))])
    values = by_resource(made)
    assert made.measured[0].series.phase[0].tolist() == [0, 0, 0, 0, 1, 2, 2, 2]
    assert np.allclose(values["gpu"][0][:4] * 32, [2, 2, 0, 1])
    assert np.allclose(values["gpu"][0][5:], 4)
    assert np.allclose(values["cpu"][0][:4], [0.1, 0.1, 0.05 + 1, 0.05])
    assert np.allclose((values["gpu_mem"][0][:4] - 15) * 1024**3 / 57_344, [3000, 3000, 1000, 3000])


def test_phases_last_as_in_the_log_relative_to_the_rollout():
    made = converted([trajectory(0, (1000, None, 10))])
    phase = made.measured[0].series.phase[0]
    assert [int((phase == code).sum()) for code in range(3)] == [33, 7, 26]


def test_tool_call_shorter_than_a_period_counts_for_its_seconds():
    values = by_resource(converted([trajectory(0, (30, 0.3, 10), (89.7, None, 10))]))
    assert values["cpu"][0][1] == pytest.approx(0.05 + 0.3 / 30)


def test_steps_of_a_job_follow_each_other():
    groups = [trajectory(group, (60, None, 10)) for group in range(16 * 8)]
    made = converted(groups, groups)
    step = made.measured[0].series.step
    assert made.measured[0].labels == ("job-0", "job-1", "job-2", "job-3")
    assert step.max() == 3
    assert (np.diff(step, axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", "no field 'turns'"),
        ('{"turns": [], "tool_calls": [], "prompt_group_id": 0}', "there is to be a turn"),
        (trajectory(0, (-1, None, 3)), "engine_latency_s holds [-1.0]"),
        ('{"turns": [{"engine_latency_s": 1, "total_len_after": 2}], "tool_calls": [{"turn": 4, "latency_s": 1}], "prompt_group_id": 0}', "the last turn is 0"),
        ("nonsense", "Expecting value"),
    ],
)
def test_broken_line_is_named(line, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        converted([trajectory(0, (1, None, 1)), line])
    assert caught.value.faults[0].path == "line 2"


def test_another_log_is_refused():
    with pytest.raises(InputError, match="this is not a PPO log"):
        converted([trajectory(0, (1, None, 1))], log="hello\n")


def test_step_of_the_log_without_a_time_is_named():
    with pytest.raises(InputError, match="line 1: a PPO step without seconds of ref"):
        converted([trajectory(0, (1, None, 1))], log=LOG.replace("timing/ref", "timing_ref"))
