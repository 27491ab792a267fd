"""States that look wrong and are valid: each has a ledger, and each is written as it was read."""

import json
from typing import Any

import pytest

from libra_opt.domain import read_state, write

ODD: dict[str, dict[str, Any]] = {
    "nothing at all": {},
    "no jobs": {"pools": [{"name": "a", "capacity": {"gpu": 8}}], "jobs": []},
    "no pools": {"jobs": [{"id": "a", "min_quota": {"gpu": 1}, "demand": {"gpu": 1}}]},
    "zero capacity": {"pools": [{"name": "a", "capacity": {"gpu": 0}}], "jobs": [{"id": "a", "demand": {"gpu": 1}}]},
    "a lost pool": {"pools": [{"name": "a", "capacity": {}}], "jobs": [{"id": "a", "allocation": {"pool": "a", "resources": {"gpu": 1}}}]},
    "a job larger than the cluster": {"pools": [{"name": "a", "capacity": {"gpu": 8}}], "jobs": [{"id": "a", "min_quota": {"gpu": 16}}]},
    "a guarantee larger than the cluster": {
        "pools": [{"name": "a", "capacity": {"gpu": 8}}],
        "queues": [{"name": "q", "nominal_quota": {"gpu": 64}, "lending_limit": {"gpu": 0}}],
        "jobs": [{"id": "a", "queue": "q", "demand": {"gpu": 64}}],
    },
    "an allocation below its minimum": {
        "pools": [{"name": "a", "capacity": {"gpu": 8}}],
        "jobs": [{"id": "a", "min_quota": {"gpu": 4}, "allocation": {"pool": "a", "resources": {"gpu": 1}}}],
    },
    "an allocation of nothing": {"pools": [{"name": "a"}], "jobs": [{"id": "a", "allocation": {"pool": "a", "resources": {"gpu": 0}}}]},
    "a demand above the maximum": {"jobs": [{"id": "a", "max_quota": {"gpu": 1}, "demand": {"gpu": 9, "gpu_mem": "9Gi"}}]},
    "a maximum of zero": {"jobs": [{"id": "a", "max_quota": {"gpu": 0}}]},
    "an empty history": {"jobs": [{"id": "a", "history": []}, {"id": "b", "history": [{}, {"cpu": None}]}]},
    "idle at every intensity": {"jobs": [{"id": "a", "demand": {"gpu": 1}, "demand_intensity": [0, 0]}]},
    "weight zero": {"jobs": [{"id": "a", "weight": 0}]},
    "one resource, charged by name": {
        "resources": [{"name": "licence", "unit": "seats"}],
        "pools": [{"name": "a", "capacity": {"licence": 3}}],
        "jobs": [{"id": "a", "min_quota": {"licence": 1}, "preemption_cost": {"resize_seconds": {"licence": 2}}}, {"id": "b"}],
    },
    "many stages": {"jobs": [{"id": "a", "stages": [{"name": f"s{i}", "unit": {"gpu": 2}} for i in range(64)]}]},
}


@pytest.mark.parametrize("document", [pytest.param(document, id=name) for name, document in ODD.items()])
def test_odd_state_is_valid_and_written_as_it_was_read(document: dict[str, Any]) -> None:
    state = read_state(json.dumps(document))
    again = read_state(write(state))
    assert again == state
    assert write(again) == write(state)
    assert json.loads(write(state)) == {"format": "libra-opt/state/1", **document}
    assert len(state.ledger.lo) == sum(len(job.all_stages) for job in state.jobs)


def test_need_above_the_maximum_is_cut_with_a_warning() -> None:
    state = read_state('{"jobs":[{"id":"a","max_quota":{"gpu_mem":4},"demand":{"gpu_mem":9}}]}')
    assert state.ledger.need[0][1] == 4
    assert "jobs[0] ('a'): the need of gpu_mem is above max_quota" in state.ledger.warnings[0]


def test_capacity_and_maxima_round_down_and_the_rest_rounds_up() -> None:
    amounts = {"gpu": 1.5, "cpu": "1250m", "mem": "1536Mi"}
    document = {
        "pools": [{"name": "a", "capacity": amounts}],
        "queues": [{"name": "q", "nominal_quota": amounts, "borrowing_limit": {"gpu": 0}}],
        "jobs": [
            {"id": "a", "min_quota": amounts, "demand": amounts, "allocation": {"pool": "a", "resources": amounts}},
            {"id": "b", "max_quota": {"cpu": 1.25, "mem": 1.5, "gpu": 2.5}},
        ],
    }
    ledger = read_state(json.dumps(document)).ledger
    assert ledger.capacity[0] == ledger.nominal[0] == (1, 0, 12, 1, 0)
    assert ledger.lo[0] == ledger.current[0] == (2, 0, 13, 2, 0)
    assert (ledger.demand[0], ledger.need[0]) == ((2, 0, 13, 0, 0), (0, 0, 0, 2, 0))
    assert ledger.ceiling[0][0] == 1
    assert ledger.hi[1][:4] == (2, (1 << 63) - 1, 12, 1)


def test_amounts_in_another_order_or_number_type_are_the_same() -> None:
    orders = ['{"gpu":1,"mem":2,"cpu":3}', '{"cpu":3.0,"mem":"2Gi","gpu":1}', '{"mem":2.0,"gpu":1.0,"cpu":"3"}']
    template = '{"jobs":[{"id":"a","demand":ONE},{"id":"b","demand":OTHER}]}'
    ledgers = [read_state(template.replace("ONE", one).replace("OTHER", orders[0])).ledger for one in orders]
    assert ledgers[0] == ledgers[1] == ledgers[2]
    assert ledgers[0].demand[0] == ledgers[0].demand[1] == (1, 0, 30, 0, 0)
