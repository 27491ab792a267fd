"""The loop beside a real scheduler: observe, allocate, apply, feed back, once every period.

The loop begins every period from what is really there, never from what it believes it did; what it must remember over a restart is one small document
(`memory`), written before anything is done. It applies verified plans only, does what frees before what takes, and never repeats at once what was refused.
"""

from libra_opt.controller.loop import Controller, Round, Turn
from libra_opt.controller.memory import Memory
from libra_opt.controller.settings import Settings, read_settings

__all__ = ["Controller", "Memory", "Round", "Settings", "Turn", "read_settings"]
