"""The verifier: whether a plan obeys every rule of the program, from the prose of `models/allocation.md` alone.

It shares no code with the formulation: only the state in whole quanta. Everything is exact, in integers and fractions; floats appear in
the tiers of the objective and in margins, which are compared with named tolerances or only shown.
"""

from libra_opt.verification.report import Broken, Report, Rule, Tiers
from libra_opt.verification.verify import verify

__all__ = ["Broken", "Report", "Rule", "Tiers", "verify"]
