"""A resource that a job never uses, beside one whose use changes, in a job that reports its step."""

import json

from libra_opt.domain import read_state
from libra_opt.forecast import forecast


def test_resource_that_is_never_used_is_forecast_as_nothing():
    history = [{"period": t, "usage": {"gpu": 1 + 2 * (t % 2), "cpu": 0}, "step": t // 2, "progress": 0.5 * (t % 2)} for t in range(6)]
    state = read_state(
        json.dumps(
            {
                "format": "libra-opt/state/1",
                "period": {"index": 6},
                "pools": [{"name": "p", "capacity": {"gpu": 8, "cpu": 8}}],
                "jobs": [{"id": "a", "history": history}],
            }
        )
    )
    ((_, stage),) = forecast(state).stages
    demand = dict(zip((resource.name for resource in state.resources), stage.demand, strict=True))
    assert demand["gpu"] >= 1
    assert demand["cpu"] == 0
