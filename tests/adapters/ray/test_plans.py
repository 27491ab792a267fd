"""From looks at made clusters to states, and from their plans to targets; no Ray is needed."""

import json
import time

import pytest

from libra_opt.adapters.ray.cluster import make_state
from libra_opt.adapters.ray.commands import commands_for
from libra_opt.adapters.ray.records import Group, Member, Node, Report, Snapshot
from libra_opt.adapters.ray.settings import Settings
from libra_opt.allocation import allocate

NOW = 1_000_000.0
SETTINGS = Settings(pool_label="pool")


def node(name, pool="h100", *, cards=8, cores=64, free_cards=None, is_alive=True):
    total = {"GPU": float(cards), "CPU": float(cores), "memory": 64.0 * 2**30, f"node:{name}": 1.0}
    free = {**total, "GPU": float(cards if free_cards is None else free_cards)}
    return Node(name, is_alive=is_alive, total=total, free=free if is_alive else {}, labels={"pool": pool} if pool else {})


def group(name, maximum=8, **fields):
    return Group.model_validate({"name": name, "resources": {"GPU": 1, "CPU": 4}, "maximum": maximum, **fields})


def alive(n, where, unit=1):
    return tuple(Member(slot, "alive", dict.fromkeys(range(unit), where)) for slot in range(n))


def look(nodes, groups, members=(), demand=(), **fields):
    reports = {name: (Report(at=NOW - 1, demand=n),) for name, n in dict(demand).items()}
    held = {one.name: dict(members).get(one.name, ()) for one in groups}
    targets = {name: sum(len(member.parts) for member in there) for name, there in held.items()}
    return Snapshot(nodes=tuple(nodes), groups={one.name: one for one in groups}, reports=reports, members=held, **{"targets": targets, **fields})


def told(seen, settings=SETTINGS):
    state, _ = make_state(seen, settings, NOW)
    return [(command.text, command.effect) for command in commands_for(seen, allocate(state), settings, NOW)]


def test_what_shrinks_comes_before_what_grows():
    seen = look([node("n")], [group("a"), group("z")], {"a": alive(1, "n"), "z": alive(7, "n")}, {"a": 6, "z": 2})
    assert told(seen) == [("let group z have 2 actors in pool h100", "frees"), ("let group a have 6 actors in pool h100", "takes")]


def test_nothing_is_told_where_all_is_as_planned():
    assert told(look([node("n")], [group("a")], {"a": alive(3, "n")}, {"a": 3})) == []


def test_cards_that_others_hold_are_taken_off_but_those_of_members_are_not():
    state, notes = make_state(look([node("n", free_cards=2)], [group("a")], {"a": alive(3, "n")}, {"a": 8}), SETTINGS, NOW)
    assert state.pools[0].capacity["gpu"] == 5
    assert any("3 cards of gpu are held by what is not planned" in note for note in notes)


def test_node_that_is_gone_has_no_capacity_and_is_told_of():
    state, notes = make_state(look([node("n"), node("m", is_alive=False)], [group("a")]), SETTINGS, NOW)
    assert [pool.capacity["gpu"] for pool in state.pools] == [8]
    assert "1 of 2 nodes that Ray remembers is gone" in notes


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"a": 0, "b": 4}),
        ({"weight": 2}, {"a": 1, "b": 3}),
        ({"objective": "max_min"}, {"a": 1, "b": 3}),
        ({"nominal_quota": {"gpu": 1}}, {"a": 1, "b": 3}),
    ],
    ids=lambda each: next(iter(each), "as it is"),
)
def test_group_that_lost_its_only_member_with_a_node_waits_until_it_counts_for_more(changes, expected):
    nodes = [*(node(name, cards=2, free_cards=0) for name in "nm"), node("gone", cards=2, is_alive=False)]
    groups = [group("a", minimum=1, queue="team"), group("b", minimum=1)]
    there = tuple(Member(slot, "alive", {0: "n" if slot < 2 else "m"}) for slot in range(4))
    state, _ = make_state(look(nodes, groups, {"b": there}, {"a": 1, "b": 5}), SETTINGS, NOW)
    if weight := changes.get("weight"):
        state = state.replace({"jobs": tuple(job.replace({"weight": weight}) if job.id == "a" else job for job in state.jobs)})
    if objective := changes.get("objective"):
        state = state.replace({"options": state.options.replace({"objective": objective})})
    if quota := changes.get("nominal_quota"):
        state = state.replace({"queues": tuple(queue.replace({"nominal_quota": quota}) for queue in state.queues)})
    plan = allocate(state)
    assert {job.id: sum(stage.resources["gpu"] for stage in job.stages) for job in plan.jobs} == expected


def test_members_of_the_nodes_that_are_left_go_on_when_one_is_lost():
    nodes = [*(node(name, cards=2, free_cards=0) for name in "nm"), node("gone", cards=2, is_alive=False)]
    there = tuple(Member(slot, "alive", {0: "n" if slot < 1 else "m"}) for slot in range(3))
    seen = look(nodes, [group("a"), group("b")], {"a": alive(1, "n"), "b": there}, {"a": 1, "b": 5})
    assert told(seen) == []


def test_gang_that_lost_an_actor_holds_nothing_and_is_swept_before_anything_grows():
    there = (*alive(1, "n", unit=2), Member(1, "broken", {0: "n"}))
    seen = look([node("n", free_cards=5)], [group("g", unit=2, minimum=2)], {"g": there}, {"g": 4})
    state, _ = make_state(seen, SETTINGS, NOW)
    assert state.jobs[0].allocation.resources["gpu"] == 2
    assert state.pools[0].capacity["gpu"] == 8
    assert told(seen) == [("let group g have 2 actors", "frees"), ("let group g have 4 actors in pool h100", "takes")]


def test_demand_is_rounded_up_to_whole_gangs():
    state, _ = make_state(look([node("n")], [group("g", unit=4, minimum=4)], demand={"g": 5}), SETTINGS, NOW)
    assert state.jobs[0].demand["gpu"] == 8


def test_group_moves_to_the_pool_that_is_left_for_it():
    seen = look([node("n", "old"), node("m", "new")], [group("a", pools=("new",))], {"a": alive(2, "n")}, {"a": 2})
    assert told(seen) == [("let group a have 2 actors in pool new", "either")]


def test_group_that_fits_nowhere_is_left_out_and_told_of():
    state, notes = make_state(
        look([node("n")], [group("a", resources={"GPU": 16}), group("b", pools=("a100",)), group("c", resources={"TPU": 1})]), SETTINGS, NOW
    )
    assert state.jobs == ()
    assert [note.split(":")[0] for note in notes if "not planned" in note and note.startswith("group")] == [
        "group 'a' is not planned",
        "group 'b' is not planned",
        "group 'c' needs nothing of what is shared out (TPU) and is not planned",
    ]


def test_shares_of_cards_are_planned_to_the_hundredth():
    seen = look([node("n", cards=1)], [group("a", maximum=9, resources={"GPU": 0.15})], demand={"a": 9})
    assert told(seen) == [("let group a have 6 actors in pool h100", "takes")]


@pytest.mark.parametrize(("age", "counts"), [(10, True), (1000, False)])
def test_report_counts_for_as_long_as_it_is_said_to(age, counts):
    seen = Snapshot(nodes=(node("n"),), groups={"a": group("a")}, reports={"a": (Report(at=NOW - age, demand=3),)}, members={"a": ()})
    state, notes = make_state(seen, SETTINGS, NOW)
    assert (state.jobs[0].demand is not None) == counts
    assert any("has not reported" in note for note in notes) != counts


def test_work_that_was_reported_becomes_a_history_with_gaps():
    reports = tuple(Report(at=t, busy=busy, held=4.0, requests_waiting=2.0) for t, busy in ((NOW - 180, 1.0), (NOW - 175, 3.0), (NOW - 60, 4.0)))
    seen = Snapshot(nodes=(node("n"),), groups={"a": group("a")}, reports={"a": reports}, members={"a": ()})
    history = make_state(seen, SETTINGS, NOW)[0].jobs[0].history
    assert [entry.usage.get("gpu") for entry in history] == [2, None, 4]
    assert (history[0].allocation["gpu"], history[0].requests_waiting) == (4, 2)
    assert allocate(make_state(seen, SETTINGS, NOW)[0]).jobs[0].stages


def test_autoscaler_is_asked_for_all_that_is_held_or_wanted_and_not_twice():
    settings = Settings(pool_label="pool", autoscale=True)
    seen = look([node("n")], [group("a", maximum=20), group("b")], {"b": alive(2, "n")}, {"a": 16})
    state, _ = make_state(seen, settings, NOW)
    last = commands_for(seen, allocate(state), settings, NOW)[-1]
    asked = json.loads(last.arguments[1])
    assert asked == [[{"CPU": 4, "GPU": 1}, 16], [{"CPU": 4, "GPU": 1}, 2]]
    again = look([node("n")], [group("a", maximum=20), group("b")], {"b": alive(2, "n")}, {"a": 16}, bundles=last.arguments[1])
    assert not any("autoscaler" in text for text, _ in told(again, settings))


def test_pools_without_a_label_go_by_type_and_by_cards():
    total = {"GPU": 2.0, "accelerator_type:A10": 1.0}
    typed = Node("t", is_alive=True, total=total, free=total, labels={})
    state, _ = make_state(look([node("n", ""), typed, node("c", "", cards=0)], []), SETTINGS, NOW)
    assert [pool.name for pool in state.pools] == ["A10", "cpu", "gpu"]


def test_two_hundred_groups_are_read_and_told_of_in_little_time():
    groups = [group(f"g{i:03}") for i in range(200)]
    nodes = [node(f"n{i}", free_cards=6) for i in range(50)]
    members = {one.name: alive(1, f"n{i % 50}") for i, one in enumerate(groups) if i < 100}
    seen = look(nodes, groups, members, {one.name: 1 + i % 5 for i, one in enumerate(groups)})
    began = time.process_time()
    state, _ = make_state(seen, SETTINGS, NOW)
    read = time.process_time() - began
    plan = allocate(state)
    began = time.process_time()
    commands = commands_for(seen, plan, SETTINGS, NOW)
    assert len({command.job for command in commands}) == len(commands)
    assert sum(int(command.arguments[2]) for command in commands) <= 400
    assert read + time.process_time() - began < 2
