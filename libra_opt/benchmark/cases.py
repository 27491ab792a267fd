"""Which states are measured: families by size and seed, and the recorded instances."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from libra_opt.adapters.files import read_bytes
from libra_opt.adapters.synthetic import generate
from libra_opt.benchmark.results import Case, Settings
from libra_opt.domain import State, read_state
from libra_opt.errors import Fault, InputError

__all__ = ["DRAWN", "RECORDED", "all_cases", "make_state"]

RECORDED: Final = "recorded"

DRAWN: Final[Mapping[str, tuple[str, float]]] = {
    "plain": ("plain", 3.0),
    "full": ("full", 3.0),
    "templates": ("templates", 3.0),
    "rigid": ("rigid", 3.0),
    "30x": ("plain", 30.0),
    "full-30x": ("full", 30.0),
    "five": ("five", 3.0),
    "fits": ("plain", 0.8),
}
"""Families of the benchmark: how the state is drawn, and demand over supply."""


def all_cases(settings: Settings) -> tuple[Case, ...]:
    """Return every case of a run, family by family, small ones first, recorded instances last.

    Raises
    ------
    InputError
        The recorded instances are asked for, and their directory holds none.
    """
    drawn = tuple(
        Case(family=family, label=family, n_jobs=n_jobs, seed=seed)
        for family in settings.families
        if family != RECORDED
        for n_jobs in settings.sizes
        for seed in range(settings.n_seeds)
    )
    return drawn + (_recorded(settings.instances) if RECORDED in settings.families else ())


def _recorded(place: str) -> tuple[Case, ...]:
    files = sorted(path for pattern in ("*.json", "*.json.gz") for path in Path(place).glob(pattern))
    if not files:
        raise InputError("the command line", (Fault("--instances", f"{place!r} holds no states; name a directory of recorded instances"),))
    return tuple(Case(family=RECORDED, label=path.name.removesuffix(".gz").removesuffix(".json"), file=str(path)) for path in files)


def make_state(case: Case, effort: float | None = None, gap: float | None = None) -> State:
    """Return the state of a case, with the options of the benchmark over its own."""
    if case.file is not None:
        state = read_state(read_bytes(case.file), case.file)
    else:
        family, contention = DRAWN[case.family]
        about = f"{case.n_jobs} jobs, family {case.family}, seed {case.seed}"
        state = generate(family, case.n_jobs, np.random.default_rng(case.seed), contention=contention, title=about)
    changes = {name: value for name, value in (("effort", effort), ("gap", gap)) if value is not None}
    return state.replace({"options": state.options.replace(changes)}) if changes else state
