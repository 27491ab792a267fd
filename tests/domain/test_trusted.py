"""Values that were never looked at again are those that validation would have made."""

import copy
import pickle

import numpy as np
import pytest
from pydantic import ValidationError

from libra_opt import allocate
from libra_opt.adapters.synthetic import FAMILIES, generate
from libra_opt.domain import Amounts, Plan, PlannedJob, PlannedStage, Reason, read_plan, write
from libra_opt.domain.trusted import trusted

REASON = {"code": "fully_served", "message": "admitted: served in full", "kueue_reason": None, "binding": None}
REASON |= {"wanted_service": None, "wanted_value": None, "wanted_price": None}
STAGE = {"name": "main", "pool": "a100", "resources": Amounts({"gpu": 2, "gpu_mem": "160Gi", "cpu": 0.5})}
VALIDATED = PlannedJob(id="a", action="admit", service=1.0, stages=(PlannedStage(**STAGE),), reason=Reason(**REASON))


def made() -> PlannedJob:
    stages = (trusted(PlannedStage, dict(STAGE)),)
    return trusted(PlannedJob, {"id": "a", "action": "admit", "service": 1.0, "stages": stages, "reason": trusted(Reason, dict(REASON))})


def test_trusted_value_is_the_validated_one() -> None:
    assert made() == VALIDATED
    assert hash(made()) == hash(VALIDATED)
    assert repr(made()) == repr(VALIDATED)
    assert made().model_fields_set == VALIDATED.model_fields_set
    assert made().stages[0].model_fields_set == VALIDATED.stages[0].model_fields_set


def test_trusted_value_is_written_as_the_validated_one() -> None:
    assert made().model_dump_json() == VALIDATED.model_dump_json()
    assert made().model_dump_json(exclude_unset=True) == VALIDATED.model_dump_json(exclude_unset=True)


def test_trusted_value_survives_copies() -> None:
    assert pickle.loads(pickle.dumps(made())) == copy.deepcopy(made()) == copy.copy(made()) == VALIDATED  # noqa: S301


def test_trusted_value_cannot_be_changed_but_by_a_validating_replace() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        made().service = 0.5  # type: ignore[misc]
    with pytest.raises(ValidationError):
        made().replace({"service": -1.0})
    assert made().replace({"service": 0.5}).service == 0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_plan_as_made_is_the_plan_as_read(family: str) -> None:
    state = generate(family, 30, np.random.default_rng(5))
    plan = allocate(state.replace({"options": state.options.replace({"backend": "greedy"})}))
    assert read_plan(write(plan)) == plan
    assert Plan.model_validate(plan.model_dump()) == plan
