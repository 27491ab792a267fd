"""The verifier accepts whatever a second, slow reading of the write-up composes, and rejects it once it is damaged in one place."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from libra_opt.domain import Plan, read_plan, write
from libra_opt.verification import verify


@pytest.mark.parametrize("seed", range(150))
def test_composed_plan_holds(compose: Any, seed: int) -> None:
    state, plan = compose(seed)
    assert [str(fault) for fault in verify(state, plan).broken] == []
