"""HTTP/1.1 on the wire: uvicorn's protocol, with the patience, the refusals and the farewell that a service needs.

uvicorn itself waits for ever for a head that does not end, for a client that does not read, and answers what is not HTTP in plain text.
"""

import asyncio
import sys
from typing import Any, Final

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from libra_opt.service.problems import MEDIA_TYPE, Problem
from libra_opt.service.settings import Settings

__all__ = ["Wire"]

_FAREWELL_SECONDS: Final = 2
"""A connection without a request stays open so long after the service is told to stop: a request may be on its way."""


class Wire(H11Protocol):
    """One connection."""

    def __init__(self, settings: Settings, **given: Any) -> None:
        super().__init__(**given)
        self._seconds = settings.read_seconds
        self._most_connections = settings.most_connections
        self._patience: asyncio.TimerHandle | None = None
        self._reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        if len(self.connections) > self._most_connections:
            self.app = _too_many
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what came; between requests it is a head, or what is left of a body that nobody reads, and neither may take for ever."""
        super().data_received(data)
        if self._is_between():
            self._wait_for_head()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Let the client read the answer, but not for ever."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._end_soon()
        if self._is_between() and self.conn.their_state is not h11.IDLE:
            self._wait_for_head()

    def pause_writing(self) -> None:
        """Wait for a client that does not read, but not for ever."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Go on: it reads."""
        self._stop_watching()
        super().resume_writing()

    def shutdown(self) -> None:
        """End, but not under a request that is on its way, nor behind an answer whose head is out and promised another."""
        if self._is_between() or self.cycle.response_started:
            self.loop.call_later(_FAREWELL_SECONDS, self._farewell)
        else:
            super().shutdown()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that is kept for nothing."""
        super().timeout_keep_alive_handler()
        self._end_soon()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with a problem."""
        error = sys.exc_info()[1]
        status = getattr(error, "error_status_hint", 400)
        kind = "head-too-large" if status == 431 else "not-http"
        self._refuse(Problem(kind, f"{msg} {error or ''}".strip()))

    def _is_between(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(self._seconds, self._lose_patience)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._patience = None
        if self._is_between():
            self._refuse(Problem("too-slow", f"The head of a request did not arrive within {self._seconds:g} seconds."))

    def _refuse(self, told: Problem) -> None:
        """Say so and close, where nothing has been said yet on this request."""
        if not self.transport.is_closing():
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                body = told.document()
                headers = [("content-type", MEDIA_TYPE), ("content-length", str(len(body))), ("connection", "close")]
                for event in (h11.Response(status_code=told.status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()
            self._end_soon()

    def _watch_reader(self) -> None:
        if self._reader is None:
            self._reader = self.loop.call_later(self._seconds, self.transport.abort)

    def _stop_watching(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def _end_soon(self) -> None:
        """Cut a closing connection off whose client does not read what is left."""
        self.loop.call_later(self._seconds, self.transport.abort)

    def _farewell(self) -> None:
        if self.transport.is_closing():
            return
        if not self._is_between() and self.cycle.response_started:
            self.shutdown()
            return
        super().shutdown()
        self._end_soon()


async def _too_many(scope: Scope, _: Receive, send: Send) -> None:
    del scope
    told = Problem("busy", "Too many connections are open; use one for many requests.")
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"retry-after", b"1"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": told.status, "headers": headers})
    await send({"type": "http.response.body", "body": told.document()})
