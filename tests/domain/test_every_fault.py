"""Every fault of a document is reported at once, and none that is only a consequence of another."""

import json
from typing import Any

import pytest

from libra_opt.domain import read_state
from libra_opt.domain.document import MOST_FAULTS
from libra_opt.errors import InputError


def paths(document: dict[str, Any]) -> set[str]:
    with pytest.raises(InputError) as refused:
        read_state(json.dumps(document))
    found = [fault.path for fault in refused.value.faults]
    assert len(found) == len(set(found))
    return set(found)


def test_contradictions_are_listed_beside_structural_faults() -> None:
    document = {
        "pools": [{"name": "a", "capacity": {"gpu": -1, "cpus": 3}}],
        "jobs": [
            {"id": 3, "demand": {"cpu": -1, "gpus": 1}},
            {"id": "c", "min_quota": {"gpu": 4}, "max_quota": {"gpu": 2}, "queue": "q"},
            5,
            {"id": "c", "stages": [{"min_quota": {"gpu": 2}, "max_quota": {"gpu": 1}, "weight": 1}]},
        ],
    }
    assert paths(document) == {
        "pools[0].capacity.gpu",
        "pools[0].capacity.cpus",
        "jobs[0].id",
        "jobs[0].demand.cpu",
        "jobs[0].demand.gpus",
        "jobs[1].max_quota.gpu",
        "jobs[1].queue",
        "jobs[2]",
        "jobs[3].id",
        "jobs[3].stages[0].weight",
        "jobs[3].stages[0].max_quota.gpu",
    }


@pytest.mark.parametrize(
    ("document", "only"),
    [
        ({"pools": [{"name": 1}], "jobs": [{"id": "a", "pools": ["b"], "allocation": {"pool": "c"}}]}, "pools[0].name"),
        ({"pools": [{"nam": "b"}], "jobs": [{"id": "a", "pools": ["b"]}]}, "pools[0].nam"),
        ({"pools": {}, "jobs": [{"id": "a", "pools": ["b"]}]}, "pools"),
        ({"pool": [], "jobs": [{"id": "a", "pools": ["b"]}]}, "pool"),
        ({"queues": ["q"], "jobs": [{"id": "a", "queue": "q"}]}, "queues[0]"),
        ({"queues": [{"name": "q", "nominal_quota": {"gpu": -1}, "lending_limit": {"gpu": 1}}]}, "queues[0].nominal_quota.gpu"),
        ({"queues": [{"name": "q", "nominal_qouta": {"gpu": 1}, "lending_limit": {"gpu": 1}}]}, "queues[0].nominal_qouta"),
        (
            {"resources": [{"name": "gpu", "quantum": -1}], "jobs": [{"id": "a", "demand": {"cpu": 1, "gpu": 0.3}, "unit": {"gpu": 0.3}}]},
            "resources[0].quantum",
        ),
        ({"resource": [], "jobs": [{"id": "a", "demand": {"tpu": 1}}]}, "resource"),
        ({"jobs": [{"id": "a", "stages": [{"name": 1}, {"name": 2}]}]}, "jobs[0].stages[0].name|jobs[0].stages[1].name"),
        ({"jobs": [{"id": 1}, {"id": 1}]}, "jobs[0].id|jobs[1].id"),
        ({"jobs": [{"id": "a", "min_quota": {"gpu": 3}, "max_quota": {"gpu": None}, "unit": "2"}]}, "jobs[0].max_quota.gpu|jobs[0].unit"),
        ({"jobs": [{"id": "a", "history": [{"cpu": -1}], "demand": []}]}, "jobs[0].history[0].cpu|jobs[0].demand"),
        ({"format": "other", "pool": 1, "jobs": 2}, "format"),
    ],
)
def test_no_fault_follows_from_another(document: dict[str, Any], only: str) -> None:
    found = paths(document)
    assert {path for path in found if not path.endswith("name") or path in only.split("|")} == set(only.split("|"))


def test_every_element_of_a_list_is_looked_at() -> None:
    stages = [{"name": 1}, {"min_quota": {"gpu": -1}}]
    document = {
        "pools": [{"name": "a", "zzz": 1}, {"name": "b", "zzz": 1}],
        "jobs": [{"id": "a", "weight": -1}, {"id": "b", "stages": stages}, {"id": "c", "weight": -1, "history": [{"cpu": -1}, {"gpu": -1}, {"cpus": 1}]}],
        "options": {"gap": 2},
    }
    assert paths(document) == {
        "pools[0].zzz",
        "pools[1].zzz",
        "jobs[0].weight",
        "jobs[1].stages[0].name",
        "jobs[1].stages[1].min_quota.gpu",
        "jobs[2].weight",
        "jobs[2].history[0].cpu",
        "jobs[2].history[1].gpu",
        "jobs[2].history[2].cpus",
        "options.gap",
    }


def test_repeated_keys_do_not_hide_the_other_faults() -> None:
    text = '{"jobs":[{"id":"a","min_quota":{"gpu":1},"min_quota":{"gpu":9},"max_quota":{"gpu":2}},{"id":"b","min_quota":{"gpu":3},"max_quota":{"gpu":2}}]}'
    with pytest.raises(InputError) as refused:
        read_state(text)
    assert [fault.path for fault in refused.value.faults] == ["jobs[0].min_quota", "jobs[1].max_quota.gpu"]


@pytest.mark.parametrize("element", ["1", '{"id":"a"}', '{"id":"a","zzz":1}', '{"id":"a","queue":"q"}', '{"id":"a","demand":{"gpu":-1,"cpu":-1,"net":-1}}'])
def test_faults_beyond_the_limit_are_counted(element: str) -> None:
    with pytest.raises(InputError) as refused:
        read_state('{"jobs":[' + ",".join([element] * 20_001) + "]}")
    assert len(refused.value.faults) == MOST_FAULTS + 1
    assert "faults more; put these right first" in refused.value.faults[-1].message
