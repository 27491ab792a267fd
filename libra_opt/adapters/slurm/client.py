"""Slurm's own commands as processes: argument lists without a shell, each with a time limit."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from libra_opt.scheduler import UnavailableError

__all__ = ["Answer", "Client"]

_GONE: Final = ("unable to contact slurm", "unable to establish controller", "connection refused", "socket timed out", "communication connection failure")
"""What Slurm's commands say, in lower case, when nobody is there; they look no different from a refusal otherwise."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command of Slurm said.

    Attributes
    ----------
    is_done
        It ended well.
    is_gone
        There was no answer, so it may or may not have been done.
    text
        Its output.
    message
        What it said of a fault.
    """

    is_done: bool
    is_gone: bool
    text: str
    message: str


class Client:
    """Runs commands of Slurm.

    Parameters
    ----------
    timeout_seconds
        Of one command.
    """

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds

    def run(self, arguments: Sequence[str]) -> Answer:
        """Run a command and return its answer, whatever it is."""
        try:
            ended = subprocess.run(  # noqa: S603 - an argument list of our own, without a shell
                [*arguments],
                capture_output=True,
                check=False,
                stdin=subprocess.DEVNULL,
                timeout=self._timeout_seconds,
                text=True,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return Answer(is_done=False, is_gone=True, text="", message=f"{arguments[0]} did not answer within {self._timeout_seconds:g} s")
        except OSError as error:
            return Answer(is_done=False, is_gone=True, text="", message=f"{arguments[0]} cannot be run: {error.strerror}; install Slurm's client commands")
        message = " ".join(line.strip() for line in (ended.stderr or ended.stdout).splitlines() if line.strip())
        is_gone = ended.returncode != 0 and any(words in message.lower() for words in _GONE)
        return Answer(is_done=ended.returncode == 0, is_gone=is_gone, text=ended.stdout, message=message)

    def ask(self, arguments: Sequence[str]) -> str:
        """Return the output of a command that only reads.

        Raises
        ------
        UnavailableError
            It failed or did not answer.
        """
        answer = self.run(arguments)
        if not answer.is_done:
            raise UnavailableError(f"{' '.join(arguments)}: {answer.message or 'failed without a message'}")
        return answer.text
