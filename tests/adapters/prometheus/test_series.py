"""To whom a series belongs, and what the series of a stage make together."""

import numpy as np
import pytest

from libra_opt.adapters.prometheus.matching import Matching
from libra_opt.adapters.prometheus.settings import MatchRule
from libra_opt.adapters.prometheus.stages import across, rounded, together, unit_ratio
from libra_opt.domain import Job

NAN = float("nan")


def jobs(*names):
    return [Job.model_validate({"id": name, "stages": [{"name": "rollout"}, {"name": "train"}]}) for name in names]


def matching(*labels, of=("rl/a", "rl/a-b", "ops/a")):
    return Matching([MatchRule.model_validate({"labels": each}) for each in labels], jobs(*of))


@pytest.mark.parametrize(
    ("pod", "namespace", "stage"),
    [
        ("a-rollout-x1", "rl", ("rl/a", "rollout")),
        ("a-b-train-x1", "rl", ("rl/a-b", "train")),
        ("a-train-x1", "ops", ("ops/a", "train")),
        ("a-b-train-x1", "ops", None),
        ("a-serve-x1", "rl", None),
        ("aa-train-x1", "rl", None),
        ("a-train-x1", "other", None),
    ],
)
def test_series_belongs_to_the_stage_that_its_labels_leave(pod, namespace, stage):
    assert matching({"namespace": "{namespace}", "pod": "{name}-{stage}-.*"}).stage({"pod": pod, "namespace": namespace, "gpu": "0"}) == stage


def test_what_leaves_two_stages_belongs_to_none():
    assert matching({"pod": "{name}-{stage}-.*"}).stage({"pod": "a-train-0"}) is None
    assert matching({"pod": "{job}-.*"}).stage({"pod": "rl/a-0"}) is None


def test_first_rule_that_leaves_one_stage_counts():
    rules = {"exported_pod": "{name}-{stage}-.*"}, {"pod": "{name}-{stage}-.*"}
    found = matching(*rules, of=("rl/a", "rl/c"))
    assert found.stage({"exported_pod": "a-train-0", "pod": "exporter"}) == ("rl/a", "train")
    assert found.stage({"pod": "c-train-0"}) == ("rl/c", "train")


def test_names_are_taken_as_they_are():
    assert matching({"pod": "{name}"}, of=()).stage({"pod": "x"}) is None
    one = Matching([MatchRule.model_validate({"labels": {"pod": "{name}"}})], [Job.model_validate({"id": "a.b"})])
    assert one.stage({"pod": "a.b"}) == ("a.b", "main")
    assert one.stage({"pod": "axb"}) is None


@pytest.mark.parametrize(
    ("series", "hole", "expected"),
    [
        ([[1, 2, 3], [4, 5, 6]], 1, [5, 7, 9]),
        ([[1, NAN, 3], [4, 5, 6]], 1, [5, NAN, 9]),
        ([[1, NAN, 3], [4, 5, 6]], 0, [5, 5, 9]),
        ([[1, NAN, NAN, 3], [4, 5, 6, 7]], 1, [5, 5, 6, 10]),
        ([[NAN, NAN, 3], [4, 5, 6]], 9, [4, 5, 9]),
        ([[1, NAN, NAN, NAN], [4, 5, 6, 7]], 9, [5, 5, 6, 7]),
        ([[1, 2, NAN], [4, 5, 6]], 0, [5, 7, NAN]),
        ([[NAN, NAN]], 1, [NAN, NAN]),
    ],
)
def test_sum_that_lacks_a_part_is_not_known(series, hole, expected):
    assert np.array_equal(across([np.array(each, float) for each in series], "sum", hole), np.array(expected, float), equal_nan=True)


def test_metrics_together():
    one, two, none = np.array([1.0, NAN, 3.0]), np.array([2.0, 2.0, NAN]), np.full(3, NAN)
    assert np.array_equal(together([none, one], "first"), one, equal_nan=True)
    assert np.array_equal(together([one, two], "larger"), [2.0, 2.0, 3.0])
    assert np.array_equal(together([one, two], "sum"), [3.0, NAN, NAN], equal_nan=True)
    assert np.array_equal(across([one, two], "mean", 0), [1.5, 2.0, NAN], equal_nan=True)
    assert np.array_equal(across([one, two], "max", 0), [2.0, 2.0, NAN], equal_nan=True)


def test_units_are_exact_and_of_one_kind():
    assert unit_ratio("MiB", "GiB") == 1 / 1024
    assert unit_ratio("", "cards") == 1
    assert unit_ratio("B/s", "GB/s") == 1e-9
    assert [unit_ratio("B", "GB/s"), unit_ratio("B/s", "GiB"), unit_ratio("B", "cards")] == [None, None, None]


def test_noise_of_floats_does_not_tip_an_amount():
    assert rounded(0.1 + 0.2) == 0.3
    assert [rounded(-1.0), rounded(1e16), rounded(NAN)] == [None, None, None]
