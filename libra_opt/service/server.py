"""Start, run, stop: a socket, uvicorn on it, and a stop that loses nothing."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import uvicorn
from fastapi import FastAPI

from libra_opt.errors import Fault, InputError
from libra_opt.service.app import create_app
from libra_opt.service.door import SETTLING_SECONDS, shut_off
from libra_opt.service.settings import Settings, check_settings
from libra_opt.service.wire import Wire

__all__ = ["serve"]

_MOST_OF_A_HEAD = 32 << 10


def serve(settings: Settings, tell: Callable[[str], None]) -> None:
    """Listen until SIGTERM or SIGINT; then take no more in, finish what is in, and return.

    Parameters
    ----------
    tell
        Is told where the service listens once it does, and that it stops.

    Raises
    ------
    InputError
        The settings are not fit, or the address cannot be listened on.
    """
    check_settings(settings)
    listener = _listen(settings)
    _log_to_standard_error()
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(Wire, settings)),
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_MOST_OF_A_HEAD,
    )
    host, port = listener.getsockname()[:2]
    told = f"listening on http://{f'[{host}]' if ':' in host else host}:{port} with {settings.workers} workers, process {os.getpid()}"
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn raises the signal again once it has stopped, which would end in its exit code
    _Server(config, app, told, tell).run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: FastAPI, told: str, tell: Callable[[str], None]) -> None:
        super().__init__(config)
        self._fastapi, self._told, self._tell = app, told, tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell(self._told)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take in who has begun to come, then stop as uvicorn does."""
        self._tell("stopping: nothing more is taken in, what is in is finished")
        self._fastapi.state.stopping = True
        for listener in sockets or ():
            shut_off(listener)
        await asyncio.sleep(SETTLING_SECONDS)
        await super().shutdown(sockets)


def _listen(settings: Settings) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address, family=family)
    except OSError as error:
        message = f"{settings.host} port {settings.port} cannot be listened on: {error.strerror}; choose another --port or --host"
        raise InputError("the command line", (Fault("--port", message),)) from error


def _log_to_standard_error() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("libra-opt: %(message)s"))
    for name in ("libra_opt.service", "uvicorn.error"):
        logger: Any = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
