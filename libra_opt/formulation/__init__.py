"""The formulation: from a state to the neutral integer program and back; the rules R1 to R16 by bundles, no solver."""

from libra_opt.formulation.encode import encode
from libra_opt.formulation.program import Choice, Program, Score, Usage

__all__ = ["Choice", "Program", "Score", "Usage", "encode"]
