"""The clairvoyant bound: finished work that no allocator can beat, whatever it knows."""

from libra_opt.simulation.bound.clairvoyant import Bound, clairvoyant_bound
from libra_opt.simulation.bound.relaxation import Limits

__all__ = ["Bound", "Limits", "clairvoyant_bound"]
