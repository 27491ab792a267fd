"""Configurations are read whole or refused with every fault by its path."""

import pytest

from libra_opt.controller import read_settings
from libra_opt.errors import InputError

GOOD = b"""
[scheduler]
kind = "file"
cluster = "cluster.json"

[options]
hold_periods = 4.0

[queues.team-a]
nominal_quota = {gpu = 4}

[jobs.rollout]
min_quota = {gpu = 1, mem = "64Gi"}
unit = 2
preemption_cost = {resize_seconds = 5}
"""


def test_good_one_is_read():
    settings = read_settings(GOOD, "loop.toml")
    assert settings.kind == "file"
    assert settings.options.hold_periods == 4
    assert settings.jobs["rollout"].min_quota["mem"] == "64Gi"
    assert settings.queues["team-a"].nominal_quota == {"gpu": 4}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((b"hold_periods", b"hold_period"), r"options\.hold_period: unknown field; did you mean 'hold_periods'\?"),
        ((b"unit = 2", b"unit = -2"), r"jobs\.rollout\.unit"),
        ((b"unit = 2", b"history = []"), r"jobs\.rollout\.history: is the scheduler's to say"),
        ((b'"64Gi"', b"-1"), r"jobs\.rollout\.min_quota\.mem"),
        ((b"cluster = ", b"clusters = "), r"scheduler\.clusters: unknown field"),
        ((b"[options]", b"[option]"), r"option: unknown section; did you mean 'options'\?"),
        ((b'kind = "file"', b'kind = "pbs"'), r"scheduler\.kind: \"pbs\" is not a scheduler"),
        ((b'kind = "file"', b""), r"scheduler\.kind: is missing"),
        ((b"[options]", b"[options"), r"is not TOML"),
        ((b"[options]\nhold_periods = 4.0", b""), None),
        ((b"[scheduler]", b"options = 3\n[scheduler]\n"), r"is not TOML"),
        ((b'"file"', b"\xff"), r"is not UTF-8"),
    ],
)
def test_fault_is_named(change, told):
    assert change[0] in GOOD
    text = GOOD.replace(*change)
    if told is None:
        assert read_settings(text, "loop.toml").options.hold_periods == 2
        return
    with pytest.raises(InputError, match=told):
        read_settings(text, "loop.toml")


def test_every_fault_is_listed():
    with pytest.raises(InputError) as caught:
        read_settings(GOOD.replace(b"hold_periods = 4.0", b"gap = 7").replace(b"unit = 2", b"units = 2"), "loop.toml")
    assert [fault.path for fault in caught.value.faults] == ["options.gap", "jobs.rollout.units"]


def test_command_line_and_file_must_name_the_same_scheduler():
    with pytest.raises(InputError, match="make them agree"):
        read_settings(GOOD, "loop.toml", "slurm")


def test_section_that_is_none_is_told():
    with pytest.raises(InputError, match="is not a section"):
        read_settings(b'jobs = 3\n[scheduler]\nkind = "file"\ncluster = "c"', "loop.toml")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('kind = ["file"]', "scheduler.kind"),
        ("kind = {file = 1}", "scheduler.kind"),
        (f"cluster = {'[' * 10_000}", ""),
        (f"cluster = {'9' * 5_000}", ""),
        ('kind = "file"\ncluster = "x"\n[queues.a]\nname = "b"', "queues.a.name"),
    ],
    ids=["kind-of-a-list", "kind-of-a-table", "deep", "long", "queue-of-another-name"],
)
def test_hostile_configuration_is_refused_with_its_path(text, path):
    with pytest.raises(InputError) as refused:
        read_settings(f"[scheduler]\n{text}".encode(), "loop.toml")
    assert path in [fault.path for fault in refused.value.faults]


def test_byte_order_mark_of_an_editor_is_no_fault():
    assert read_settings(b'\xef\xbb\xbf[scheduler]\nkind = "file"\ncluster = "x"', "loop.toml").kind == "file"
