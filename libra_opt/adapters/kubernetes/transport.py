"""How the cluster is reached: objects are read at their API paths, and patches are command lines of kubectl."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol
from urllib.parse import urlencode

from libra_opt.adapters.kubernetes.manifest import Manifest, listed, text
from libra_opt.scheduler import UnavailableError

__all__ = ["Kubectl", "Result", "Transport", "objects"]

Result = tuple[Literal["done", "already", "refused", "failed"], str]
"""What became of a command line, and the server's own words where it was not done."""

_PAGE: Final = 500
_SHOWN: Final = 1000
_REFUSALS: Final = ("Invalid", "NotFound", "Forbidden", "Conflict", "BadRequest", "AlreadyExists", "MethodNotAllowed", "UnsupportedMediaType", "NotAcceptable")


class Transport(Protocol):
    """Reads from an API server, and changes what is there."""

    def get(self, path: str) -> Manifest | None:
        """Return what is at a path of the API; None where there is nothing, as for a kind that is not installed.

        Raises
        ------
        UnavailableError
            The server does not answer in time, or does not let us read.
        """
        ...

    def run(self, arguments: Sequence[str]) -> Result:
        """Run one command line of kubectl, without the command itself, and say what became of it."""
        ...


class Kubectl:
    """Reaches the cluster through kubectl, and so by whatever its kubeconfig says.

    Parameters
    ----------
    command
        Kubectl and what it is always told, such as a context.
    timeout_seconds
        How long one call may take.
    """

    def __init__(self, command: Sequence[str], timeout_seconds: float) -> None:
        self._command = tuple(command)
        self._seconds = timeout_seconds

    def get(self, path: str) -> Manifest | None:
        """Return what is at a path of the API; see `Transport`."""
        code, out, complaint = self._call(("get", "--raw", path))
        if code != 0:
            if "(NotFound)" in complaint:
                return None
            raise UnavailableError(f"{path} cannot be read: {complaint}")
        try:
            manifest = json.loads(out)
        except (ValueError, RecursionError) as error:
            raise UnavailableError(f"{path} is not JSON: {error}") from error
        if not isinstance(manifest, Mapping):
            raise UnavailableError(f"{path} is no object of Kubernetes")
        return manifest

    def run(self, arguments: Sequence[str]) -> Result:
        """Run one command line; see `Transport`."""
        try:
            code, out, complaint = self._call(arguments)
        except UnavailableError as error:
            return "failed", str(error)
        if code == 0:
            return ("already" if "(no change)" in out else "done"), ""
        return ("refused" if any(f"({reason})" in complaint for reason in _REFUSALS) or _is_refused_patch(complaint) else "failed"), complaint

    def _call(self, arguments: Sequence[str]) -> tuple[int, str, str]:
        limit = f"--request-timeout={max(1, int(self._seconds))}s"
        try:
            ended = subprocess.run(  # noqa: S603 - the user's own kubectl, without a shell
                [*self._command, *arguments, limit], capture_output=True, text=True, check=False, timeout=self._seconds + 1, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            raise UnavailableError(f"{self._command[0]} did not answer within {self._seconds:g} seconds") from error
        except (OSError, ValueError) as error:
            raise UnavailableError(f"{self._command[0]} cannot be run: {error}; install it, or say in scheduler.kubectl where it is") from error
        return ended.returncode, ended.stdout, ended.stderr.strip()[-_SHOWN:]


def _is_refused_patch(complaint: str) -> bool:
    # A JSON patch whose test does not hold, or which does not fit the object, has no reason in brackets in every version.
    return "the server rejected our request" in complaint or "is invalid" in complaint or "denied the request" in complaint


def objects(transport: Transport, path: str, selector: str = "") -> tuple[Manifest, ...]:
    """Return all objects at a path, page by page; none where the kind is not installed."""
    found: list[Manifest] = []
    token = ""
    while True:
        query = {"limit": str(_PAGE), **({"labelSelector": selector} if selector else {}), **({"continue": token} if token else {})}
        page = transport.get(f"{path}?{urlencode(query)}")
        if page is None:
            return tuple(found)
        found.extend(listed(page, "items"))
        token = text(page, "metadata", "continue")
        if not token:
            return tuple(found)
