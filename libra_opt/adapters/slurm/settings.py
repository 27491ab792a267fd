"""The section ``[scheduler]`` of a loop beside Slurm."""

from typing import Annotated, Literal

from pydantic import Field

from libra_opt.domain.base import Flag, Name, Real, Value

__all__ = ["Settings"]

_Names = Annotated[tuple[Name, ...], Field(max_length=10_000, fail_fast=True)]


class Settings(Value):
    """What is planned, and how Slurm is asked.

    Attributes
    ----------
    users
        Whose jobs are planned; nobody else's are ever touched.
    jobs
        Which of their jobs: patterns of Slurm job names, as in ``rollout-*``.
    partitions
        Whose nodes are shared out; none: all nodes.
    default_pool
        What the pool of nodes without cards is called.
    group_quotas
        ``read``: an account's GrpTRES is the ceiling of its queue. ``write``: it is set to what the plan gives the account, and what its other jobs hold.
        ``ignore``: neither. Both need slurmdbd.
    hold_waiting
        Hold pending jobs that the plan lets wait, and release them when it admits them; otherwise Slurm starts them as it sees fit.
    timeout_seconds
        How long one command of Slurm may take.
    """

    users: _Names
    jobs: _Names
    partitions: _Names = ()
    default_pool: Name = "cpu"
    group_quotas: Literal["read", "write", "ignore"] = "read"
    hold_waiting: Flag = True
    timeout_seconds: Annotated[float, Real(0.1, 600)] = 10
