"""Recorded traces as a workload: arrivals, rollouts, phases, pods and services that somebody measured, composed by stated rules.

No public trace records the five resources of agentic-RL jobs over time; so jobs are composed from several, and what had to be assumed is listed in the
workload. What is made of traces that may be used but not passed on is made at run time, from files that the user has.
"""

from libra_opt.adapters.recorded_workload.compose import MANY, OPTIONAL, PATTERNS, recorded_workload

__all__ = ["MANY", "OPTIONAL", "PATTERNS", "recorded_workload"]
