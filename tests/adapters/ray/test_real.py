"""The loop beside a real Ray of four nodes, three of them with two fake cards: what `scenario` tells of it."""

import json

import pytest

from tests.adapters.ray.real import missing, run


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    if reason := missing():
        pytest.skip(reason)
    file = tmp_path_factory.mktemp("ray") / "found.json"
    run("scenario", str(file), seconds=600)
    return json.loads(file.read_text())


def test_cards_follow_load_that_swaps_in_the_first_period_after_it(found):
    swap = found["swap"]
    assert swap["period"]["done"] == [["let group a have 1 actors in pool h100", "done", ""], ["let group b have 5 actors in pool h100", "done", ""]]
    assert len({tuple(place) for place in swap["where"]}) == 6
    assert swap["rest"]["done"] == []


def test_lost_node_is_planned_around(found):
    """Its last member lost, group a could use one of the four cards that b has left, just as b can: so nothing is moved, until a counts for more."""
    lost = found["lost_node"]
    assert lost["period"]["capacity"] == [4]
    assert "1 of 4 nodes that Ray remembers is gone" in lost["period"]["notes"]
    assert "group 'a' has 0 of the 1 actors that it was given" in lost["period"]["notes"]
    assert lost["period"]["done"] == [["let group a have 0 actors", "already", ""], ["let group b have 4 actors in pool h100", "already", ""]]
    assert lost["sizes"] == [0, 4]
    assert lost["period"]["reasons"][0]["a"] == "no_room"
    assert lost["weighed"]["done"] == [["let group b have 3 actors in pool h100", "done", ""], ["let group a have 1 actors in pool h100", "done", ""]]
    assert lost["rest"]["done"] == []


def test_card_of_somebody_else_is_taken_off_and_told(found):
    others = found["others"]
    assert others["sizes"] == [1, 2]
    assert others["beside"]["capacity"] == [3]
    assert any("1 cards of gpu are held by what is not planned" in note for note in others["beside"]["notes"])
    assert others["beside"]["done"] == []


def test_group_is_found_again_and_a_different_one_of_its_name_is_refused(found):
    assert "a different group has it" in found["others"]["clash"]
    assert found["others"]["again"] == [1, 1]


def test_group_that_is_gone_is_refused(found):
    assert found["others"]["gone"] == ["refused", "there is no group 'gone' any more"]


def test_autoscaler_is_asked_and_what_was_asked_is_known(found):
    status, bundles = found["others"]["asked"]
    assert status == "done"
    assert json.loads(bundles) == [[{"GPU": 1}, 3]]


def test_actors_that_cannot_be_made_are_told_of_and_leave_others_alone(found):
    assert [text for text, _, _ in found["others"]["starts"]["done"]] == ["let group failing have 1 actors in pool h100"]
    assert "group 'failing' has 0 of the 1 actors that it was given" in found["others"]["failing"]["notes"]


def test_member_finishes_what_it_is_at_before_it_is_stopped(found):
    assert found["others"]["finished"] == ["done", "finished"]


def test_gangs_grow_whole_and_one_that_lost_an_actor_is_started_anew(found):
    gang = found["gang"]
    assert gang["before"] == gang["after"] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert [text for text, _, _ in gang["swept"]["done"]] == ["let group gang have 2 actors", "let group gang have 4 actors in pool h100"]
    assert {status for _, status, _ in gang["swept"]["done"]} == {"done"}
    assert gang["swept"]["capacity"] == [4]
    assert {status for _, status, _ in gang["dead"]["done"]} == {"done"}
    assert gang["rest"]["done"] == []


def test_ray_that_is_gone_is_told_of_and_survived(found):
    assert "Ray at" in found["down"]["unavailable"]
    assert found["down"]["done"] == []


def test_every_command_of_the_page_works_but_the_installation(found):
    commands = found["page"]["commands"]
    assert all(code == 0 for _, code, _, _ in commands), commands
    lines, outputs = [line for line, *_ in commands], [output for _, _, output, _ in commands]
    assert [line.split()[0] for line in lines] == ["python", "printf", "libra-opt", "libra-opt", "python"]
    assert "would: let group rollout have 2 actors" in outputs[2]
    assert "done: let group rollout have 2 actors" in outputs[3]
    assert "['ba', 'ba']" in outputs[4]
