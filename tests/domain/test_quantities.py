"""Amounts: as Kubernetes reads them, exact at any size, and read back as they were written."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from libra_opt.domain import Resource, read_state, write
from libra_opt.domain.quantity import LIMIT, exact, parse, unit_factor

UNITS = ["cards", "cores", "", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "PiB", "GB/s", "MB/s"]
QUANTA = st.one_of(
    st.sampled_from([1, 0.1, 0.001, 0.25, 0.3, 2, 8, 1e-9, 1e6]),
    st.integers(1, 10**6),
    st.floats(1e-9, 1e9, allow_nan=False, allow_infinity=False),
    st.decimals("0.000001", "1000", places=6).map(float),
)


@given(unit=st.sampled_from(UNITS), quantum=QUANTA, n=st.one_of(st.integers(0, 10**6), st.integers(0, LIMIT - 1)))
def test_written_quanta_read_back(unit: str, quantum: float, n: int) -> None:
    resource = Resource(name="r", unit=unit, quantum=quantum)
    value = n * resource.step
    assume(value * max(unit_factor(unit) or 1, 1) < LIMIT)
    written = resource.write(n)
    assert resource.quanta(written, round_up=True) == resource.quanta(written, round_up=False) == n


@given(
    number=st.integers(0, 2**40).map(str) | st.decimals(0, 10**6, places=3).map(str),
    suffix=st.sampled_from(["n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
)
def test_parse_agrees_with_the_kubernetes_client(number: str, suffix: str) -> None:
    quantity = pytest.importorskip("kubernetes.utils.quantity", reason="the Kubernetes client is not installed: its parser is not compared")
    expected = quantity.parse_quantity(number + suffix)
    assume(expected < LIMIT)
    if len(expected.as_tuple().digits) < 28:  # the client rounds to the decimal context
        assert parse(number + suffix, "cores") == Fraction(expected)


@pytest.mark.parametrize("written", ["1e3", "1E3", "12e-1", "0.5", "5.", ".5", "+3", "007"])
def test_plain_forms_agree_with_the_kubernetes_client(written: str) -> None:
    quantity = pytest.importorskip("kubernetes.utils.quantity", reason="the Kubernetes client is not installed: its parser is not compared")
    assert parse(written, "cores") == Fraction(quantity.parse_quantity(written))


@pytest.mark.parametrize(
    "written", ["", "Gi", "1 Gi", "1GI", "1gi", "1K", "1mi", "0x10", "1_000", "\u0661", "1e", "1e100", "nan", "inf", "--1", "1.2.3", "1Gi\n"]
)
def test_what_is_no_quantity_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"quantity|suffix"):
        parse(written, "cores")


@given(st.integers(2**53, LIMIT - 1))
def test_byte_counts_keep_every_digit(n_bytes: int) -> None:
    resources = [{"name": "mem", "unit": "B", "compressible": False}]
    state = read_state(json.dumps({"resources": resources, "pools": [{"name": "a", "capacity": {"mem": n_bytes}}]}))
    assert state.ledger.capacity == [(n_bytes,)]
    assert str(n_bytes) in write(state)


@given(st.floats(0, 1e300, allow_nan=False, allow_infinity=False))
def test_equal_numbers_are_equal_amounts(number: float) -> None:
    assert float(exact(number)) == number
    if number.is_integer():
        assert exact(number) == exact(int(number))
    elif number >= 1e-9:
        assert exact(number) == Fraction(Decimal(repr(number)))


def test_a_maximum_beyond_every_limit_is_none() -> None:
    resource = Resource(name="cpu", unit="cores", quantum=0.1)
    assert resource.ceiling(1e30) == resource.ceiling(10**100) == resource.ceiling(2**62) == LIMIT - 1
    for wrong in (float("nan"), -1, "16Ei"):
        with pytest.raises(ValueError, match=r"below|negative"):
            resource.ceiling(wrong)
