"""Profiles at the door (R15): what they become in whole quanta, and every way to contradict oneself is refused at its place with a remedy."""

import json
from fractions import Fraction
from typing import Any

import pytest

from libra_opt.domain import read_state, write
from libra_opt.errors import InputError

POOLS = [{"name": "a", "capacity": {"gpu": 8, "gpu_mem": 640, "cpu": 64}, "card_mem": 80}, {"name": "b", "capacity": {"gpu": 4}}]


def entry(pool: str = "a", rate: float = 1, **resources: Any) -> dict[str, Any]:
    return {"pool": pool, "resources": resources, "rate": rate}


def document(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"pools": POOLS, "jobs": [{"id": "x", "profile": list(entries), **fields}]}


def faults(given: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InputError) as refused:
        read_state(json.dumps(given))
    return {fault.path: fault.message for fault in refused.value.faults}


def test_shares_are_rates_over_the_highest_or_the_stated_full_rate() -> None:
    entries = [entry(gpu=4, rate=3), entry(gpu=1, rate=1), entry("b", gpu=2, rate=6)]
    by_highest = read_state(json.dumps(document(*entries))).ledger.profiles[0]
    by_stated = read_state(json.dumps(document(*entries, full_rate=12))).ledger.profiles[0]
    assert [found.share for found in by_highest.entries] == [Fraction(1, 6), Fraction(1, 2), 1]
    assert [found.share for found in by_stated.entries] == [Fraction(1, 12), Fraction(1, 4), Fraction(1, 2)]
    assert by_highest.wish == by_stated.wish == (2, 0, 0, 0, 0)


def test_of_equally_fast_entries_the_one_that_lists_least_is_wished() -> None:
    state = read_state(json.dumps(document(entry(gpu=4, rate=3), entry("b", gpu=3, rate=3), entry(gpu=8, rate=2))))
    assert state.ledger.wish(0)[0] == 3


def test_a_state_with_profiles_is_written_and_read_back_unchanged() -> None:
    state = read_state(json.dumps(document(entry(gpu=1, gpu_mem="80Gi"), entry(gpu=2, gpu_mem="160Gi", rate=1.75), full_rate=2)))
    again = read_state(write(state))
    assert again == state
    assert again.digest == state.digest


def test_equal_profiles_of_many_jobs_are_one_object() -> None:
    jobs = [{"id": f"j{i}", "profile": [entry(gpu=1), entry(gpu=2, rate=2)]} for i in range(3)]
    profiles = read_state(json.dumps({"pools": POOLS, "jobs": jobs})).ledger.profiles
    assert profiles[0] is profiles[1] is profiles[2]


@pytest.mark.parametrize(
    ("given", "path", "part"),
    [
        (document(), "jobs[0].profile", "no entries"),
        (document(entry(gpu=1), demand={"gpu": 1}), "jobs[0].demand", "beside profile"),
        (document(entry(gpu=1), history=[{"gpu": 1}]), "jobs[0].history", "beside profile"),
        (document(entry(gpu=1), waits_in=["train"]), "jobs[0].waits_in", "beside profile"),
        (document(entry(gpu=1), curve=[[1, 1]]), "jobs[0].curve", "beside profile"),
        (document(entry(gpu=1), demand_intensity=[1]), "jobs[0].demand_intensity", "beside profile"),
        (document(entry(gpu=1), pools={"a": 2}), "jobs[0].pools", "beside profile"),
        (document(entry("c", gpu=1)), "jobs[0].profile[0].pool", "list a lost pool"),
        (document(entry(tpu=1)), "jobs[0].profile[0].resources.tpu", "unknown resource"),
        (document(entry()), "jobs[0].profile[0].resources", "lists no resource"),
        (document(entry(gpu=1), entry(gpu=2, cpu=3)), "jobs[0].profile[1].resources", "the same resources"),
        (document(entry(gpu=1), entry(gpu=1.0, rate=2)), "jobs[0].profile[1]", "keep one of the two"),
        (document(entry(gpu=1.5)), "jobs[0].profile[0].resources.gpu", "not a whole number of quanta"),
        (document(entry(gpu=4), max_quota={"gpu": 2}), "jobs[0].profile[0].resources.gpu", "above max_quota 2"),
        (document(entry(gpu=1), min_quota={"gpu": 2}), "jobs[0].profile[0].resources.gpu", "below min_quota 2"),
        (document(entry(gpu=3), unit=2), "jobs[0].profile[0].resources.gpu", "multiple of unit 2"),
        (document(entry(gpu=1, gpu_mem=40), need={"gpu_mem": 60}), "jobs[0].profile[0].resources.gpu_mem", "below need"),
        (document(entry(gpu=1, gpu_mem=81)), "jobs[0].profile[0].resources.gpu_mem", "card_mem"),
        (document(entry(gpu=1, rate=3), full_rate=2), "jobs[0].full_rate", "below 3"),
        (document(entry(gpu=1, rate=0)), "jobs[0].profile[0].rate", "is not a number"),
        ({"jobs": [{"id": "x", "full_rate": 2}]}, "jobs[0].full_rate", "none is given"),
    ],
)
def test_a_contradictory_profile_is_refused_at_its_place(given: dict[str, Any], path: str, part: str) -> None:
    found = faults(given)
    assert list(found) == [path]
    assert part in found[path]
    assert ";" in found[path] or "is not a number" in found[path] or "unknown" in found[path]


def test_faults_of_a_profile_are_listed_beside_others_and_none_follows_from_another() -> None:
    assert set(faults(document(entry(gpu=1, rate=-1), entry(gpu=2), full_rate=9, weight=-1))) == {"jobs[0].profile[0].rate", "jobs[0].weight"}
    assert set(faults({"pools": [{"name": 1}], "jobs": [{"id": "x", "profile": [entry("c", gpu=1)]}]})) == {"pools[0].name"}
    broken = {"resources": [{"name": "gpu", "quantum": -1}], "pools": [{"name": "a"}], "jobs": [{"id": "x", "profile": [entry(cpu=0.5)]}]}
    assert set(faults(broken)) == {"resources[0].quantum"}


def test_an_entry_above_what_its_pool_has_left_is_no_fault() -> None:
    state = read_state(json.dumps({"pools": [{"name": "a"}], "jobs": [{"id": "x", "profile": [entry(gpu=1)]}]}))
    assert not state.ledger.fits_alone(0)
