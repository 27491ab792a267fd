"""Slurm: elastic arrays and whole jobs observed from its own JSON, and changed by its own commands.

An *elastic job* is a job array whose tasks are equal one-node replicas: it grows and shrinks by its throttle, and what runs beyond a lower throttle is
requeued. Any other job runs as it was asked for, waits (held), or starts smaller where the configuration lets it. Only jobs of the users and names that
the configuration lists are ever touched; what all others hold is taken off the cluster.
"""

from libra_opt.adapters.slurm.client import Client
from libra_opt.adapters.slurm.scheduler import SlurmScheduler
from libra_opt.adapters.slurm.settings import Settings

__all__ = ["Settings", "SlurmScheduler", "connect"]


def connect(settings: Settings) -> SlurmScheduler:
    """Return the scheduler; nothing is asked of Slurm before it is observed."""
    return SlurmScheduler(settings, Client(settings.timeout_seconds))
