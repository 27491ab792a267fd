"""The one door to the server: a range query over HTTP, in bounded time and memory."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from libra_opt.adapters.prometheus.settings import Settings
from libra_opt.adapters.prometheus.window import Window
from libra_opt.errors import Fault, InputError, LibraError, MissingExtraError
from libra_opt.scheduler import UnavailableError

if TYPE_CHECKING:
    import httpx

__all__ = ["Answer", "Client", "QueryError", "Series"]

_SHOWN: Final = 300
_QUERY_REFUSED: Final = frozenset((400, 422))


class QueryError(LibraError):
    """The server refused this one query; its own words."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its labels, and its value in each period, shape ``(n_periods,)``, NaN where there is none, or none that is 0 or more."""

    labels: Mapping[str, str]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answer:
    """All series of one query, and what the server warned of."""

    series: tuple[Series, ...]
    warnings: tuple[str, ...] = ()


class Client:
    """Asks one server; all that is asked together takes at most the time that is configured.

    Raises
    ------
    MissingExtraError
        httpx is not installed.
    InputError
        A file that the settings name cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        try:
            import httpx  # noqa: PLC0415 - a third of a second, and only where a server is asked
        except ImportError as error:
            raise MissingExtraError("Prometheus is asked through httpx; install it with: pip install 'libra-opt[prometheus]'") from error
        self._httpx = httpx
        self._url = f"{settings.url.rstrip('/')}/api/v1/query_range"
        self._limit = settings.most_megabytes << 20
        self._deadline = monotonic() + settings.timeout_seconds
        headers = dict(settings.headers)
        if settings.bearer_token_file is not None:
            headers["Authorization"] = f"Bearer {_read('bearer_token_file', settings.bearer_token_file).strip()}"
        authorities = None if settings.ca_file is None else _read("ca_file", settings.ca_file)
        self._client = httpx.Client(headers=headers, verify=_trust(authorities))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()

    def ask(self, expression: str, window: Window) -> Answer:
        """Return what an expression is at the end of each period.

        Raises
        ------
        QueryError
            The server does not take this query; others may do.
        UnavailableError
            It did not answer in time, or what answers is no Prometheus.
        """
        form = {"query": expression, "start": f"{window.start:.3f}", "end": f"{window.end:.3f}", "step": f"{window.period_seconds:.3f}"}
        form["timeout"] = f"{max(1, round(1000 * self._left()))}ms"
        try:
            status, body = self._post(form)
        except self._httpx.HTTPError as error:
            raise UnavailableError(f"{self._url} does not answer: {str(error) or type(error).__name__}") from error
        if status not in _QUERY_REFUSED and status != 200:
            raise UnavailableError(f"{self._url} answers with status {status}: {body[:_SHOWN].decode(errors='replace')}")
        try:
            content = from_json(body)
            if content["status"] != "success":
                raise QueryError(str(content["error"])[:_SHOWN])
            series = tuple(_series(found, window) for found in content["data"]["result"])
            return Answer(series, tuple(str(text)[:_SHOWN] for text in content.get("warnings") or ()))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UnavailableError(f"what answers at {self._url} is no Prometheus: {body[:_SHOWN].decode(errors='replace')}") from error

    def _left(self) -> float:
        left = self._deadline - monotonic()
        if left <= 0:
            raise UnavailableError(f"{self._url} is too slow: timeout_seconds passed before all was answered; ask for fewer periods or allow more time")
        return left

    def _post(self, form: Mapping[str, str]) -> "tuple[int, bytes]":
        with self._client.stream("POST", self._url, data=form, timeout=self._left()) as response:
            return response.status_code, self._body(response)

    def _body(self, response: "httpx.Response") -> bytes:
        parts, size = [], 0
        for part in response.iter_bytes():
            size += len(part)
            self._left()
            if size > self._limit:
                raise UnavailableError(
                    f"{self._url} answers with more than most_megabytes ({self._limit >> 20}); narrow it with matchers or ask for fewer periods"
                )
            parts.append(part)
        return b"".join(parts)


@lru_cache(maxsize=4)
def _trust(authorities: str | None) -> ssl.SSLContext:
    # Reading all the usual authorities takes longer than all queries of a period.
    import httpx  # noqa: PLC0415 - as above

    return httpx.create_ssl_context() if authorities is None else ssl.create_default_context(cadata=authorities)


def _series(found: Mapping[str, Any], window: Window) -> Series:
    values = np.full(window.n_periods, np.nan)
    if found["values"]:
        moments, written = zip(*found["values"], strict=True)
        places = np.rint((np.array(moments, dtype=np.float64) - window.start) / window.period_seconds)
        numbers = np.fromiter(map(float, written), np.float64, len(written))
        inside = (places >= 0) & (places < window.n_periods) & np.isfinite(numbers) & (numbers >= 0)
        values[places[inside].astype(np.int64)] = numbers[inside]
    return Series({str(name): str(value) for name, value in found["metric"].items()}, values)


def _read(name: str, path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, ValueError) as error:
        raise InputError("configuration", (Fault(f"prometheus.{name}", f"{path!r} cannot be read: {error}; correct the path or its permissions"),)) from error
