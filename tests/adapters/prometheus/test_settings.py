"""Every fault of the section is named with its path, before a server is asked anything."""

import pytest

from libra_opt.adapters.prometheus import read_settings
from libra_opt.errors import InputError

GOOD = {"url": "http://127.0.0.1:9090", "match": [{"labels": {"pod": "{name}-{stage}-.*"}}]}


def test_small_section_is_enough():
    assert read_settings(GOOD).periods == 120


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"url": "ftp://x"}, "prometheus.url", ""),
        ({"match": []}, "prometheus", "no match rule"),
        ({"match": [{"labels": {"pod": "x"}}]}, "prometheus.match[0]", "write {job} or {name}"),
        ({"match": [{"labels": {"pod": "{name}{pod}"}}]}, "prometheus.match[0]", "{pod} is none of"),
        ({"match": [{"labels": {"pod": "{name}("}}]}, "prometheus.match[0]", "not a regular expression"),
        ({"match": [{"labels": {"pod": "{name}", "app": "{name}"}}]}, "prometheus.match[0]", "write each once"),
        ({"match": [{"labels": {"a-b": "{name}"}}]}, "prometheus.match[0]", "not the name of a label"),
        ({"periods": 0}, "prometheus.periods", "0 is not a whole number from 1 to 10000"),
        ({"query": [{"field": "usage", "metrics": ["a"]}]}, "prometheus.query[0]", "usage is by resource; name the resource"),
        ({"query": [{"field": "cpu_queue", "resource": "cpu", "metrics": ["a"]}]}, "prometheus.query[0]", "cpu_queue is not by resource"),
        ({"query": [{"field": "cpu_queue", "metrics": ["a b"]}]}, "prometheus.query[0]", "'a b' is not the name of a metric"),
        ({"query": [{"field": "cpu_queue", "metrics": []}]}, "prometheus.query[0]", "names no metric"),
        ({"query": [{"field": "cpu_queue", "metrics": ["a"], "matchers": ["a=b"]}]}, "prometheus.query[0]", "'a=b' is not a label matcher"),
        ({"query": [{"field": "cpu_queue", "metrics": ["a"], "unit": "B"}]}, "prometheus.query[0]", "no unit of bytes"),
        ({"query": [{"field": "cpu_queue", "metrics": ["a"], "over_time": "median"}]}, "prometheus.query[0].over_time", "did you mean 'mean'"),
        ({"query": 2 * [{"field": "cpu_queue", "metrics": ["a"]}]}, "prometheus", "two queries are for cpu_queue"),
        ({"matchers": ['x="1"} or up{y="2"']}, "prometheus", "is not a label matcher"),
        ({"urls": "x"}, "prometheus.urls", "did you mean 'url'"),
    ],
)
def test_fault_is_named_by_its_path(changes, path, message):
    with pytest.raises(InputError) as refused:
        read_settings({**GOOD, **changes}, "loop.toml")
    assert [fault.path for fault in refused.value.faults] == [path]
    assert message in refused.value.faults[0].message


def test_all_faults_are_named_at_once():
    with pytest.raises(InputError) as refused:
        read_settings({"url": "x", "periods": "many", "query": [{"field": "rows"}]}, "loop.toml")
    assert {fault.path for fault in refused.value.faults} >= {"prometheus.url", "prometheus.match", "prometheus.periods", "prometheus.query[0].field"}
