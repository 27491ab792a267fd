"""A process of its own that is connected to Ray.

A driver is ended by Ray when its node or the control store is gone, and some of Ray's calls wait without limit. The loop must survive both: so it asks a
child, gives it so much time, ends it when it does not answer, and starts another one for the next request.
"""

import atexit
import contextlib
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeVar

from libra_opt.adapters.ray.members import RefusedError
from libra_opt.adapters.ray.store import NAMESPACE
from libra_opt.scheduler import UnavailableError

__all__ = ["Child"]

_Answer = TypeVar("_Answer")

_START_SECONDS: Final = 60.0
"""How much longer the first request may take: Ray is imported and connected to."""


class Child:
    """Runs functions in a process that is connected to Ray.

    Parameters
    ----------
    address
        Of the cluster.
    timeout_seconds
        How long one request may take.
    """

    def __init__(self, address: str, timeout_seconds: float) -> None:
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def ask(self, function: Callable[..., _Answer], *arguments: Any) -> _Answer:
        """Return what a function of a module returns there.

        Raises
        ------
        RefusedError
            Ray will not do it.
        UnavailableError
            There was no answer in time, or nobody to answer; it may or may not have been done.
        """
        try:
            connection = self._connected()
            connection.send((function, arguments))
            status, answer = self._received(connection, self._timeout_seconds)
        except (EOFError, OSError) as error:
            self.close()
            raise UnavailableError(f"the connection to Ray at {self._address!r} was lost") from error
        if status == "refused":
            raise RefusedError(answer)
        if status == "failed":
            self.close()
            raise UnavailableError(f"Ray at {self._address!r}: {answer}")
        returned: _Answer = answer
        return returned

    def close(self) -> None:
        """End the process."""
        atexit.unregister(self.close)
        process, connection, self._process, self._connection = self._process, self._connection, None, None
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.join()
            process.close()

    def _connected(self) -> Connection:
        if self._process is not None and self._connection is not None and self._process.is_alive():
            return self._connection
        self.close()
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._address), name="libra-opt-ray", daemon=True)
        self._process.start()
        atexit.register(self.close)  # before the end that multiprocessing has for it, at which Ray prints a page
        theirs.close()
        status, answer = self._received(self._connection, _START_SECONDS + self._timeout_seconds)
        if status == "failed":
            self.close()
            raise UnavailableError(f"Ray at {self._address!r}: {answer}")
        return self._connection

    def _received(self, connection: Connection, seconds: float) -> tuple[str, Any]:
        if not connection.poll(seconds):
            self.close()
            raise UnavailableError(f"Ray at {self._address!r} did not answer in {seconds:g} s")
        status, answer = connection.recv()
        return str(status), answer


def _serve(connection: Connection, address: str) -> None:
    """Connect, say so, and answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the loop, which ends after the period at work
    os.dup2(2, 1)  # what Ray prints is for people
    with contextlib.suppress(EOFError, OSError):
        try:
            import ray  # noqa: PLC0415 - a second, and an extra

            ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except Exception as error:  # noqa: BLE001 - whatever it is, the loop is told
            connection.send(("failed", _words(error)))
            return
        connection.send(("done", None))
        while True:
            function, arguments = connection.recv()
            try:
                answer = ("done", function(*arguments))
            except RefusedError as error:
                answer = ("refused", str(error))
            except Exception as error:  # noqa: BLE001 - as above
                answer = ("failed", _words(error))
            connection.send(answer)


def _words(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__
