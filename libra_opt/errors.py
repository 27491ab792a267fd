"""The whole error tree, sorted by what the caller can do about it.

LibraError
|-- InputError            fix the input: every fault is listed with its path
|-- MissingExtraError     install the optional package that is named
|-- EffortError           allow more effort and call again
`-- BrokenPlanError       our fault: a plan did not pass the verifier; please report it
"""

from dataclasses import dataclass

__all__ = ["BrokenPlanError", "EffortError", "Fault", "InputError", "LibraError", "MissingExtraError"]


class LibraError(Exception):
    """Base of every error that `libra_opt` raises on purpose."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document.

    Attributes
    ----------
    path
        Where it is, as in ``jobs[3].stages[0].max_quota.gpu``; empty for the document itself.
    message
        What is wrong, with the value and the limit, and how to put it right.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InputError(LibraError):
    """A document is not a valid state or plan; `faults` lists every reason."""

    def __init__(self, source: str, faults: tuple[Fault, ...]) -> None:
        self.source = source
        self.faults = faults
        lines = "\n".join(f"  {fault}" for fault in faults)
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__(f"{source} has {count}:\n{lines}")

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, tuple[Fault, ...]]]:
        return type(self), (self.source, self.faults)


class MissingExtraError(LibraError):
    """An optional package is needed; the message names the extra to install."""


class EffortError(LibraError):
    """A limit on effort was hit before anything could be said; allow more and call again."""


class BrokenPlanError(LibraError):
    """A plan broke a rule of the program and was withheld; this is our fault, not the caller's."""
