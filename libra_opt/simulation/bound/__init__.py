"""The clairvoyant bound: finished work that no allocator can beat, whatever it knows."""

from libra_opt.simulation.bound.clairvoyant import Bound, clairvoyant_bound

__all__ = ["Bound", "clairvoyant_bound"]
