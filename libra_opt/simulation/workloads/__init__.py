"""Generated workloads, one file per kind: pure functions of parameters and a generator, labelled synthetic, with what was assumed in them."""

from libra_opt.simulation.workloads.kind import Kind
from libra_opt.simulation.workloads.registry import WORKLOADS, make

__all__ = ["WORKLOADS", "Kind", "make"]
