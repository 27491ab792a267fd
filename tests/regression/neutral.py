"""Neutral cases, as people reported faults of other allocators, turned into states of ours and their assertions evaluated on our plans.

The mapping: `min`, `max`, `demand`, `history`, `weight` and `queue` are the fields of ours that mean the same; `current` is an allocation in the one pool.
A neutral preemption cost is in units of the objective, ours are seconds of lost service, so that cost ``c`` becomes the seconds with
``worth * seconds / (period * hold) = c``. A queue's `guaranteed` is its nominal quota, its `max` nominal quota and borrowing limit together; a queue that jobs name
and nobody describes has no quota. Ageing is the caller's business with us: it enters as the weight ``weight * (1 + aging * waited)``. Memory is in GiB, or in bytes
where numbers of a case reach 2^30 or it says so; shared cards have a quantum of a thousandth. A limit on seconds becomes one on effort.
"""

import ast
import json
import math
import operator
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from libra_opt import InputError, Plan, State, allocate, digest_of, read_state, verify, write

__all__ = ["Answer", "ask", "failures", "state_document"]
