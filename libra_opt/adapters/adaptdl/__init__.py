"""A policy that AdaptDL's allocator and the simulators of its family can call in place of PolluxPolicy; nothing of AdaptDL is needed to use it.

Signature and shapes of values are those of adaptdl-sched (`policy/pollux.py`, `policy/utils.py`): jobs and nodes are read by their attributes.
"""

from libra_opt.adapters.adaptdl.policy import LibraPolicy
from libra_opt.adapters.adaptdl.shapes import JobInfo, NodeInfo

__all__ = ["JobInfo", "LibraPolicy", "NodeInfo"]
