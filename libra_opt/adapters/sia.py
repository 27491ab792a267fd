"""Sia's configurations as profiles: a job's goodput with so many GPUs of a type, for every configuration it may be given.

Form of the program: Jayaram Subramanya et al., *Sia: Heterogeneity-aware, goodput-optimized ML-cluster scheduling* (SOSP 2023), and the code of its public
artifact: a job gets one configuration or none; with goodputs G (normalised per job, restart factors included), power p and penalty l for a job that gets
none, the sum of G^p over what is given plus l for each job without is maximised for p > 0 and minimised for p < 0, and the GPUs of every type suffice.
"""

from collections.abc import Mapping

from libra_opt.domain import State
from libra_opt.errors import Fault, InputError

__all__ = ["Configuration", "sia_objective", "sia_state"]

Configuration = tuple[str, int]
"""GPU type and number of GPUs."""


def sia_state(
    goodputs: Mapping[str, Mapping[Configuration, float]],
    cluster: Mapping[str, int],
    *,
    power: float = -0.5,
    no_allocation: float = 1.1,
    weights: Mapping[str, float] | None = None,
) -> State:
    """Return the state whose best plan is that of Sia's integer program.

    An entry's rate is what giving the configuration gains over giving none, ``no_allocation - G^power`` for a negative power and
    ``G^power - no_allocation`` for a positive one; a configuration that gains nothing is left out, as no best plan needs it.

    Parameters
    ----------
    goodputs
        G of every job and configuration, positive.
    cluster
        GPUs per type.
    power, no_allocation
        p and l; those of the paper unless given.
    weights
        What a job counts for, 1 unless given.

    Raises
    ------
    InputError
        A goodput is not positive, the power is 0, or a type is not in the cluster.
    """
    faults = [
        Fault(f"{job}.{kind} x {count}", f"{goodput} is no positive goodput of a type of the cluster; leave the configuration out")
        for job, table in goodputs.items()
        for (kind, count), goodput in table.items()
        if not goodput > 0 or kind not in cluster
    ]
    if not power:
        faults.append(Fault("power", "0 makes all configurations alike; give another"))
    if faults:
        raise InputError("goodputs", tuple(faults))
    jobs = []
    for job, table in goodputs.items():
        gains = {configuration: _gain(goodput, power, no_allocation) for configuration, goodput in table.items()}
        entries = [{"pool": kind, "resources": {"gpu": count}, "rate": gain} for (kind, count), gain in gains.items() if gain > 0]
        if entries:
            full = max(gain for gain in gains.values())
            jobs.append({"id": job, "weight": (weights or {}).get(job, 1), "profile": entries, "rates": {"steps": full}})
    return State.model_validate(
        {
            "resources": [{"name": "gpu", "unit": "cards", "costly": True}],
            "pools": [{"name": kind, "capacity": {"gpu": count}} for kind, count in cluster.items()],
            "jobs": jobs,
            "options": {"throughput": "steps", "gap": 0},
        }
    )


def sia_objective(value: float, n_jobs: int, state: State, *, power: float = -0.5, no_allocation: float = 1.1) -> float:
    """Return the objective of Sia's program for a plan of that value, all jobs weighing 1."""
    gained = value / state.period.seconds
    return n_jobs * no_allocation + (gained if power > 0 else -gained)


def _gain(goodput: float, power: float, no_allocation: float) -> float:
    gain: float = goodput**power - no_allocation
    return gain if power > 0 else -gain
