"""The workload `recorded`: composed at run time from traces that the user has, with `--traces DIR`."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np

from libra_opt.cli.traces import read_parts
from libra_opt.domain import Workload
from libra_opt.domain.base import Real, Value, WholeNumber
from libra_opt.recordings import Document

__all__ = ["RECORDED_WORKLOAD", "Recorded", "Traces", "read_traces"]

RECORDED_WORKLOAD: Final = "recorded"


class Recorded(Value):
    """Parameters of the recorded workload.

    Attributes
    ----------
    load
        Cards wanted over cards there are.
    cards
        Cards of the cluster.
    horizon_seconds
        When counting stops.
    """

    load: Annotated[float, Real(0.05, 10)] = 1.2
    cards: Annotated[int, WholeNumber(16, 8192)] = 64
    horizon_seconds: Annotated[float, Real(600, 1e6)] = 10_800


@dataclass(frozen=True, slots=True)
class Traces:
    """The documents of a directory, and their digest."""

    documents: Mapping[str, list[Document]]
    digest: str

    def workload(self, seed: int, setting: Mapping[str, object]) -> Workload:
        """Return the workload of a seed; raises `InputError` with everything that is wrong with the documents."""
        parameters = Recorded.model_validate(dict(setting))
        compose: Any = import_module("libra_opt.adapters.recorded_workload").recorded_workload
        made: Workload = compose(self.documents, np.random.default_rng(seed), **parameters.model_dump())
        return made


def read_traces(place: str) -> Traces:
    """Read the documents of a directory; raises `InputError` where one that is needed is missing."""
    parts = import_module("libra_opt.adapters.recorded_workload")
    documents = read_parts(Path(place), parts.PATTERNS, many=parts.MANY, optional=parts.OPTIONAL, remedy="which the recorded workload needs; put it there")
    digest = sha256()
    for part in sorted(documents):
        for document in documents[part]:
            digest.update(document.text.encode())
    return Traces(documents, f"sha256:{digest.hexdigest()}")
