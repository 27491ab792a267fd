"""Problem documents (RFC 9457): every answer that is not what was asked for, whoever gives it.

{"type": "urn:libra-opt:problem:invalid-document", "title": "..", "status": 422, "detail": "..", "errors": [{"path": "jobs[0].min_quota.gpu", "message": ".."}]}
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from libra_opt.errors import Fault

__all__ = ["MEDIA_TYPE", "PROBLEMS", "PROBLEM_SCHEMA", "Problem", "RefusedError", "is_of", "problem"]

MEDIA_TYPE: Final = "application/problem+json"

_URN: Final = "urn:libra-opt:problem:"

PROBLEMS: Final[Mapping[str, tuple[int, str]]] = {
    "not-http": (400, "The request is not HTTP"),
    "not-json": (400, "The body is not JSON"),
    "unauthorised": (401, "A token is needed"),
    "not-found": (404, "Nothing is here"),
    "wrong-method": (405, "This method is not for this place"),
    "too-slow": (408, "The request took too long to arrive"),
    "too-large": (413, "The body is too large"),
    "wrong-type": (415, "The body is not of a type that is read"),
    "invalid-document": (422, "The document is not valid"),
    "head-too-large": (431, "The head of the request is too large"),
    "our-fault": (500, "A fault of ours; please report it"),
    "worker-died": (500, "The process that worked on it died"),
    "busy": (503, "Too much is waiting; come again"),
    "too-long": (504, "It was not done in time"),
}
"""Status and title of every kind of problem."""

PROBLEM_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "errors"],
    "additionalProperties": False,
    "description": "Why a request was refused (RFC 9457).",
    "properties": {
        "type": {"type": "string", "enum": [_URN + kind for kind in PROBLEMS]},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "What was wrong this time, and the remedy."},
        "errors": {
            "type": "array",
            "description": "Everything that is wrong with the document, as the command line names it; empty for other problems.",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string", "description": "As in jobs[3].stages[0].max_quota.gpu; empty for the document itself."},
                    "message": {"type": "string"},
                },
            },
        },
    },
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something was refused: a kind of `PROBLEMS`, this time's reason, and headers that go with it."""

    kind: str
    detail: str
    faults: Sequence[Fault] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return PROBLEMS[self.kind][0]

    def document(self) -> bytes:
        """Return it as JSON."""
        status, title = PROBLEMS[self.kind]
        errors = [{"path": fault.path, "message": fault.message} for fault in self.faults]
        whole = {"type": _URN + self.kind, "title": title, "status": status, "detail": self.detail, "errors": errors}
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


class RefusedError(Exception):
    """A request is answered with a problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.kind, problem.detail)


def problem(kind: str, detail: str, **headers: str) -> RefusedError:
    """Return the error that answers a request so; ``retry_after`` becomes the header ``Retry-After``."""
    return RefusedError(Problem(kind, detail, (), {name.replace("_", "-"): value for name, value in headers.items()}))


def is_of(status: int) -> str:
    """Return the kind of problem that a bare status means."""
    return next((kind for kind, (its, _) in PROBLEMS.items() if its == status), "not-http" if status < 500 else "our-fault")
