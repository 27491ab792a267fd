"""Answers to "why" and "what if": one job explained, a state changed and planned again, two plans compared."""

from libra_opt.explanation.difference import AmountChange, Difference, JobChange, difference
from libra_opt.explanation.explain import MOST_SOLVES, explain
from libra_opt.explanation.paths import apply
from libra_opt.explanation.values import Change, Explanation, Part, WantedBundle

__all__ = ["MOST_SOLVES", "AmountChange", "Change", "Difference", "Explanation", "JobChange", "Part", "WantedBundle", "apply", "difference", "explain"]
