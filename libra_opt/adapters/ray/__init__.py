"""Ray: elastic groups of actors that a program registers, observed and changed from outside of it.

A program calls `ElasticGroup` for each of its groups, says now and then what the group can use, and works with whatever members are there. The loop
(`RayScheduler`) starts and stops members. Actors are detached and all else is kept by Ray's own control store, so neither the loop nor the program has to
live for the group to go on. What anything else on the cluster holds is never touched, and taken off its capacity.
"""

from importlib.util import find_spec

from libra_opt.adapters.ray.groups import ElasticGroup
from libra_opt.adapters.ray.scheduler import RayScheduler
from libra_opt.adapters.ray.settings import Settings
from libra_opt.errors import MissingExtraError

__all__ = ["ElasticGroup", "RayScheduler", "Settings", "connect"]


def connect(settings: Settings) -> RayScheduler:
    """Return the scheduler; nothing is asked of Ray before it is observed.

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    """
    if find_spec("ray") is None:
        raise MissingExtraError("Ray is not installed; install it with: pip install 'libra-opt[ray]'")
    return RayScheduler(settings)
