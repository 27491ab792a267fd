"""Stages of whole replicas: what was used of each resource becomes how many replicas could be made use of.

Where a stage's unit names several resources, it comes and goes in replicas that hold some of each, and cannot have more of one alone. A replica's memory is
there whatever it does, so it tells nothing of how many are needed; cards and cores do. Usage is written as that many replicas of every resource.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from libra_opt.adapters.prometheus.stages import StageValues
from libra_opt.domain.job import StageFields
from libra_opt.domain.quantity import parse
from libra_opt.domain.resource import Resource

__all__ = ["replica_of", "tied"]

_HAIR: Final = 0.999
"""The resources that follow are written a hair smaller, so that rounding them up never asks for one replica more than the resource that leads."""


def replica_of(stage: StageFields, resources: Mapping[str, Resource]) -> dict[str, float]:
    """Return what one replica holds, in units; empty for a stage that does not come in replicas."""
    unit = (
        {} if stage.unit is None or isinstance(stage.unit, int) else {name: float(parse(amount, resources[name].unit)) for name, amount in stage.unit.items()}
    )
    return unit if len(unit) > 1 else {}


def tied(values: StageValues, replica: Mapping[str, float], paced_by: Sequence[str]) -> StageValues:
    """Return what was measured of a stage with usage and allocation in whole replicas.

    Parameters
    ----------
    values
        What was measured.
    replica
        What one replica holds, in units.
    paced_by
        Resources whose use tells how many replicas are needed, the one that leads first. Of those that were measured at all, the scarcest counts; a period
        in which one of them is not known is not known. Where none was measured there is no usage left.
    """
    pacing = [name for name in paced_by if name in replica]
    kept = {kind: each for kind, each in values.items() if kind[0] not in ("usage", "watermark", "allocation") or kind[1] not in replica}
    used = [values["usage", name] / replica[name] for name in pacing if ("usage", name) in values]
    if not used:
        return {kind: each for kind, each in kept.items() if kind[0] != "usage"}
    needed = np.max(used, axis=0)
    held = next((values["allocation", name] / replica[name] for name in pacing if ("allocation", name) in values), None)
    for name, amount in replica.items():
        hair = 1.0 if name == pacing[0] else _HAIR
        kept["usage", name] = needed * amount * hair
        if held is not None:
            kept["allocation", name] = held * amount
    return kept
