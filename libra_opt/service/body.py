"""Bodies in, within limits that are counted while reading: no header is believed."""

import asyncio
from typing import Final

from starlette.requests import ClientDisconnect, Request

from libra_opt.service.metrics import Metrics
from libra_opt.service.problems import problem
from libra_opt.service.settings import Settings

__all__ = ["Bodies"]

_LINGER_SECONDS: Final = 2
_LINGER_BODIES: Final = 4


class Bodies:
    """Reads bodies, and knows how many bytes of them are held together."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._n_held = 0

    def release(self, n: int) -> None:
        """Say that a body of `n` bytes is no longer held."""
        self._hold(-n)

    async def read(self, request: Request) -> bytes:
        """Return the body, which counts as held until it is released.

        Raises
        ------
        RefusedError
            It is of another type, packed, too large, too slow, or there is no room for it now.
        """
        _check_type(request)
        try:
            async with asyncio.timeout(self._settings.read_seconds):
                return await self._read(request)
        except TimeoutError:
            message = f"The body did not arrive within {self._settings.read_seconds:g} seconds."
            raise problem("too-slow", message, connection="close") from None
        except ClientDisconnect:
            raise problem("not-http", "The connection ended before the body did.") from None

    async def _read(self, request: Request) -> bytes:
        most = self._settings.most_bytes
        expected = request.headers.get("content-length", "")
        too_large = problem("too-large", f"The body is above {most:,} bytes, the most this service reads; start it with --most-bytes to change that.")
        if expected.isdecimal() and int(expected) > most:
            if request.headers.get("expect") is None:
                await self._let_pass(request)
            raise too_large
        body = bytearray()
        n_before = 0
        try:
            async for chunk in request.stream():
                body += chunk
                self._hold(len(body) - n_before)
                n_before = len(body)
                if len(body) > most:
                    break
                self._check_room()
            else:
                return bytes(body)
        except BaseException:
            self.release(n_before)
            raise
        body.clear()
        self.release(n_before)
        await self._let_pass(request)
        raise too_large

    async def _let_pass(self, request: Request) -> None:
        """Read on for a little, and keep nothing: a client that writes before it reads would not see the answer otherwise."""
        n = 0
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while n < _LINGER_BODIES * self._settings.most_bytes:
                    message = await request.receive()
                    n += len(message.get("body", b""))
                    if message["type"] != "http.request" or not message.get("more_body", False):
                        return
        except TimeoutError:
            return

    def _check_room(self) -> None:
        if self._n_held > self._settings.most_bytes_together:
            raise problem("busy", "Too many large bodies are held already.", retry_after="1")

    def _hold(self, n: int) -> None:
        self._n_held += n
        self._metrics.body_bytes.set(self._n_held)


def _check_type(request: Request) -> None:
    kinds = request.headers.getlist("content-type")
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != "application/json":
        told = f"{kinds[0][:100]!r} is not read here" if kinds else "No type is given"
        raise problem("wrong-type", f"{told}; send JSON with the header Content-Type: application/json.", accept_post="application/json")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise problem("wrong-type", f"The body is packed ({coding[:100]!r}), and only plain ones are read.", accept_encoding="identity")
