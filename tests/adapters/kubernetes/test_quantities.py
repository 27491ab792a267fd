"""Quantities are read as Kubernetes reads them and written so that it reads the same; pods ask for what its scheduler reserves."""

from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity

from libra_opt.adapters.kubernetes import Settings
from libra_opt.adapters.kubernetes.observe import vocabulary_of
from libra_opt.adapters.kubernetes.pods import is_gone, pod_requests
from tests.adapters.kubernetes.made import POOL

VOCABULARY = vocabulary_of(Settings(namespaces=("rl",), pool_label=POOL))
UNITS = (100, 1000, 1 / (1 << 20))  # quanta in a card, a core, a byte


@given(st.integers(0, 2), st.integers(0, 10**9))
def test_quantity_is_read_back_by_kubernetes_and_by_us(r, quanta):
    text = VOCABULARY.quantity(r, quanta)
    assert VOCABULARY.read({VOCABULARY.keys[r]: text}, round_up=True)[r] == quanta
    assert VOCABULARY.read({VOCABULARY.keys[r]: text}, round_up=False)[r] == quanta
    assert float(parse_quantity(text)) * UNITS[r] == pytest.approx(quanta, rel=1e-12)


@pytest.mark.parametrize("text", ["80Gi", "1536M", "1073741824", "1e9", "2Ti", "123456789k", "0.5Gi", "1500m"])
def test_bytes_are_read_as_kubernetes_reads_them(text):
    exact = parse_quantity(text) / (1 << 20)
    assert VOCABULARY.read({"memory": text}, round_up=True)[2] == ceil(exact)
    assert VOCABULARY.read({"memory": text}, round_up=False)[2] == floor(exact)


@pytest.mark.parametrize("amount", [None, "many", -1, True, {}, "1e99"])
def test_what_is_no_quantity_is_nothing(amount):
    assert VOCABULARY.read({"cpu": amount}, round_up=True) == (0, 0, 0)


def container(cpu, **more):
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "millicores"),
    [
        ({"containers": [container("1"), container("500m")]}, 1500),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2000),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]}, 1000),
        ({"containers": [container("1")], "initContainers": [container("3")]}, 3000),
        ({"containers": [container("1")], "initContainers": [container("1", restartPolicy="Always"), container("3")]}, 4000),
        ({"containers": [container("3")], "initContainers": [container("1", restartPolicy="Always"), container("2")]}, 4000),
        ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "4"}}}, 4000),
        ({}, 0),
    ],
)
def test_pod_asks_for_what_the_scheduler_reserves(spec, millicores):
    assert pod_requests(spec, VOCABULARY) == (0, millicores, 0)


def test_pod_that_ended_or_is_ending_holds_nothing():
    assert is_gone({"status": {"phase": "Failed"}})
    assert is_gone({"metadata": {"deletionTimestamp": "2026-11-30T00:00:00Z"}, "status": {"phase": "Running"}})
    assert not is_gone({"status": {"phase": "Running"}})
