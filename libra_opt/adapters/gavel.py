"""Gavel's throughput tables as profiles: the throughput of a job type on one accelerator of each type, at a fixed scale factor.

Form of the tables: Narayanan et al., *Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads* (OSDI 2020), and the JSON files of
its public code: worker type -> "('job type', scale factor)" -> "null" (alone) -> steps per second; what is measured in pairs is not read. Gavel's
policies divide time: a job is on a worker type for a fraction of a round. Here one round is planned, so a job is on one worker type or on none, which
is the whole-number form of the same program: at most one type per job, and on each type scale factors add up to at most the workers.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from libra_opt.domain import State
from libra_opt.errors import Fault, InputError

__all__ = ["JobType", "Throughputs", "gavel_state", "read_job_type"]

JobType = tuple[str, int]
"""A job type and its scale factor."""

Throughputs = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Worker type -> written job type -> "null" -> steps per second."""

_WRITTEN: Final = re.compile(r"\('(.*)', (\d+)\)")


def read_job_type(written: str) -> JobType:
    """Read a job type as the tables write it.

    Examples
    --------
    >>> read_job_type("('LM (batch size 5)', 2)")
    ('LM (batch size 5)', 2)
    """
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise InputError("throughputs", (Fault(written, "is no job type; write (\"('name', scale factor)\")"),))
    return found.group(1), int(found.group(2))


def gavel_state(throughputs: Throughputs, cluster_spec: Mapping[str, int], jobs: Mapping[str, JobType], weights: Mapping[str, float] | None = None) -> State:
    """Return the state in which the best plan has the most weighted steps per second (Gavel's maximum of total throughput) in one round.

    Parameters
    ----------
    throughputs
        The table as its JSON file has it.
    cluster_spec
        Workers per worker type.
    jobs
        Job type and scale factor of every job.
    weights
        What a step of a job counts for, 1 unless given; one over a job's mean throughput makes it Gavel's normalised throughput.

    Raises
    ------
    InputError
        A job runs on no worker type of the cluster, or a job type cannot be read.
    """
    rates = {
        (worker, read_job_type(written)): float(alone["null"])
        for worker, table in throughputs.items()
        if worker in cluster_spec
        for written, alone in table.items()
        if alone.get("null", 0) > 0
    }
    posed = []
    for job, (kind, scale_factor) in jobs.items():
        entries: list[dict[str, Any]] = [
            {"pool": worker, "resources": {"gpu": scale_factor}, "rate": rates[worker, (kind, scale_factor)]}
            for worker in cluster_spec
            if (worker, (kind, scale_factor)) in rates
        ]
        if not entries:
            raise InputError(
                "jobs", (Fault(job, f"{(kind, scale_factor)} has no throughput on any worker type of the cluster; add it to the table or leave it out"),)
            )
        full = max(entry["rate"] for entry in entries)
        posed.append({"id": job, "weight": (weights or {}).get(job, 1), "profile": entries, "rates": {"steps": full}})
    return State.model_validate(
        {
            "resources": [{"name": "gpu", "unit": "cards", "costly": True}],
            "pools": [{"name": worker, "capacity": {"gpu": workers}} for worker, workers in cluster_spec.items()],
            "jobs": posed,
            "options": {"throughput": "steps", "gap": 0},
        }
    )
