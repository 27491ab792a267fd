"""From what was measured of a stage to the history it brings instead of a demand."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from libra_opt.adapters.prometheus.matching import StageKey
from libra_opt.adapters.prometheus.settings import AMOUNT_FIELDS
from libra_opt.adapters.prometheus.stages import StageValues, rounded
from libra_opt.domain.job import Job, Stage, StageFields
from libra_opt.domain.observation import Observation
from libra_opt.domain.resource import Resource

__all__ = ["Told", "measured_job"]

Told: TypeAlias = dict[str, list[str]]
"""What had to be assumed, and of which stages."""

_FORECAST: Final = frozenset(("demand", "demand_ahead", "need", "history"))


def measured_job(job: Job, values: Mapping[StageKey, StageValues], resources: Mapping[str, Resource], n_missing: int, told: Told) -> Job:
    """Return a job whose stages bring what was measured of them; a stage of whose usage nothing was measured is as it was.

    Parameters
    ----------
    values
        What was measured, by stage.
    resources
        The resources of the state, by name.
    n_missing
        How many periods ended since the newest that was asked for.
    told
        What had to be assumed, and of which stages; added to.
    """
    measured = {name: values[job.id, name] for name in job.stage_names if any(field == "usage" for field, _ in values.get((job.id, name), ()))}
    for name in job.stage_names:
        if name not in measured:
            told.setdefault("no usage was measured, and what is stated stays", []).append(_shown(job.id, name))
    if not measured:
        return job
    changed = {
        stage.name: _measured(job if job.is_shorthand else stage, measured[stage.name], resources, n_missing, told, _shown(job.id, stage.name))
        for stage in job.all_stages
        if stage.name in measured
    }
    if job.is_shorthand:
        return Job.model_validate(changed[job.stage_names[0]])
    return job.replace({"stages": [Stage.model_validate(changed[stage.name]) if stage.name in changed else stage for stage in job.all_stages]})


def _measured(stage: StageFields, values: StageValues, resources: Mapping[str, Resource], n_missing: int, told: Told, name: str) -> dict[str, Any]:
    """Return the fields of a stage with a history instead of a demand; what is stated of a resource that was not measured at all stays stated."""
    measured = {resource for field, resource in values if field in ("usage", "watermark")}
    stated = {resource: amount for resource, amount in (stage.demand or {}).items() if resource not in measured and resource in resources}
    needs = {resource: amount for resource, amount in stated.items() if not resources[resource].compressible} | dict(stage.need or {})
    filled = {resource: amount for resource, amount in stated.items() if resources[resource].compressible}
    if filled:
        told.setdefault(f"{', '.join(filled)} was not measured and is taken as used as it is stated", []).append(name)
    held = {} if stage.allocation is None else stage.allocation.resources
    unknown = [resource for resource in held if resource not in measured and resource not in stated and resource not in needs]
    if unknown:
        told.setdefault(f"{', '.join(unknown)} is held, but neither measured nor stated, so it is taken as not needed", []).append(name)
    history = _history(values, filled, n_missing)
    kept = {field: getattr(stage, field) for field in stage.model_fields_set if field not in _FORECAST}
    return {**kept, "history": history, **({"need": needs} if needs else {})}


def _history(values: StageValues, filled: Mapping[str, Any], n_missing: int) -> list[Observation]:
    known = np.any([~np.isnan(each) for each in values.values()], axis=0)
    entries = []
    for t in range(int(known.argmax()), len(known)):
        amounts: dict[str, dict[str, float]] = {field: {} for field in AMOUNT_FIELDS}
        entry: dict[str, Any] = {}
        for (field, resource), each in values.items():
            value = None if np.isnan(each[t]) else rounded(float(each[t]))
            if value is None:
                continue
            if resource is not None:
                amounts[field][resource] = value
            else:
                entry[field] = int(value) if field == "step" else min(value, 1.0) if field == "progress" else value
        entry |= {field: found for field, found in amounts.items() if found}
        entry["usage"] = {**filled, **amounts["usage"]} if known[t] else {}
        entries.append(Observation.model_validate(entry))
    return entries + [Observation.model_validate({"usage": {}})] * n_missing


def _shown(job: str, stage: str) -> str:
    return f"{job}, stage {stage}" if stage != "main" else job
