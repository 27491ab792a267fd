"""The application: which place does what. The limits are in `body`, the work in `pool` and `work`, the wire in `server`."""

import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any, Final, cast

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPBearer
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from libra_opt.domain.schema import json_schema
from libra_opt.service.body import Bodies
from libra_opt.service.metrics import Metrics
from libra_opt.service.openapi import KINDS, body_of, components, json_of, refusals
from libra_opt.service.pool import Pool
from libra_opt.service.problems import MEDIA_TYPE, Problem, RefusedError, is_of, problem
from libra_opt.service.settings import Settings
from libra_opt.service.work import Answer, allocate_state, validate_document, verify_plan

__all__ = ["create_app"]

_OF_BODIES: Final = ("not-http", "not-json", "too-slow", "too-large", "wrong-type", "invalid-document", "our-fault", "worker-died", "busy", "too-long")
_ABOUT: Final = """\
Decides, once every rebalancing period, how much of each resource every job on a shared cluster gets.
Every refusal is a problem document (RFC 9457). The schemas say what stands where; that a minimum is not above its maximum, or that a name is
known, only reading finds out, and answers 422.
"""

_log = logging.getLogger("libra_opt.service")


def create_app(settings: Settings) -> FastAPI:
    """Return the application; its worker processes start and end with its lifespan."""
    app = _Described(settings)
    metrics = Metrics(settings, version("libra-opt"))
    pool, bodies = Pool(settings, metrics), Bodies(settings, metrics)
    app.state.stopping = False
    app.state.pool = pool

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await pool.start()
        try:
            yield
        finally:
            await pool.stop()

    app.router.lifespan_context = lifespan
    app.add_middleware(_Measured, metrics=metrics)
    for error, handler in ((RefusedError, _refused), (HTTPException, _other_refusal), (RequestValidationError, _not_found), (Exception, _our_fault)):
        app.add_exception_handler(error, handler)
    guarded = [Depends(_guard(settings.token))]
    _add_work(app, settings, guarded, _Answerer(bodies, pool, metrics))
    for kind in KINDS:
        _add_schema(app, kind, guarded, _refusals(settings))
    _add_watching(app, settings, guarded, metrics)
    return app


class _Answerer:
    """Reads a body, has a worker do something with it, and answers."""

    def __init__(self, bodies: Bodies, pool: Pool, metrics: Metrics) -> None:
        self._bodies, self._pool, self._metrics = bodies, pool, metrics

    async def __call__(self, request: Request, task: Callable[..., Answer], *more: object) -> Response:
        body = await self._bodies.read(request)
        try:
            answer = await self._pool.run(task, body, *more, gone=partial(_gone, request))
        finally:
            self._bodies.release(len(body))
        if answer.gap is not None:
            self._metrics.gap.observe(answer.gap)
        is_fine = answer.status == 200
        return Response(answer.body, answer.status, media_type="application/json" if is_fine else MEDIA_TYPE)


def _add_work(app: FastAPI, settings: Settings, guarded: list[Any], answer: _Answerer) -> None:
    refused = _refusals(settings, *_OF_BODIES)

    @app.post("/v1/allocate", dependencies=guarded, openapi_extra=body_of("State"), responses={**json_of("Plan", "The plan."), **refused})
    async def allocate(request: Request) -> Response:
        """Plan a state."""
        return await answer(request, allocate_state, settings.most_effort)

    valid = json_of("Kind", "It is valid; what it is.")

    @app.post("/v1/validate", dependencies=guarded, openapi_extra=body_of("State", "Plan", "Workload"), responses={**valid, **refused})
    async def validate(request: Request) -> Response:
        """Check a state, a plan or a workload without planning."""
        return await answer(request, validate_document)

    report = json_of("Report", "Whether the plan keeps the rules, and which it breaks.")

    @app.post("/v1/verify", dependencies=guarded, openapi_extra=body_of("StateAndPlan"), responses={**report, **refused})
    async def verify(request: Request) -> Response:
        """Check a plan against its state, rule by rule."""
        return await answer(request, verify_plan)


def _add_watching(app: FastAPI, settings: Settings, guarded: list[Any], metrics: Metrics) -> None:
    @app.get("/healthz", responses=json_of("Health", "It runs."))
    async def health() -> Response:
        """Tell whether the service runs; needs no token."""
        return _json({"status": "stopping" if app.state.stopping else "ok", "version": version("libra-opt")})

    numbers: dict[int | str, dict[str, Any]] = {200: {"description": "For Prometheus.", "content": {"text/plain": {"schema": {"type": "string"}}}}}

    @app.get("/metrics", dependencies=guarded, responses={**numbers, **_refusals(settings)}, response_class=PlainTextResponse)
    async def measured() -> Response:
        """Tell what Prometheus reads."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


class _Described(FastAPI):
    """An application whose description is completed by the shared schemas."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(title="libra-opt", version=version("libra-opt"), description=_ABOUT, docs_url=None, redoc_url=None, redirect_slashes=False)
        self._needs_token = settings.token is not None

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            described = get_openapi(title=self.title, version=self.version, description=self.description, routes=self.routes)
            described.setdefault("components", {})["schemas"] = components()
            self.openapi_schema = described
        return self.openapi_schema


def _add_schema(app: FastAPI, kind: Any, guarded: list[Any], refusals: dict[int | str, dict[str, Any]]) -> None:
    @app.get(
        f"/v1/schema/{kind}",
        dependencies=guarded,
        operation_id=f"schema_{kind}",
        summary=f"JSON schema of a {kind}",
        responses={200: {"description": "The schema.", "content": {"application/json": {"schema": {"type": "object"}}}}, **refusals},
    )
    async def schema() -> Response:
        return _json(json_schema(kind))


def _refusals(settings: Settings, *kinds: str) -> dict[int | str, dict[str, Any]]:
    return refusals((*kinds, *(() if settings.token is None else ("unauthorised",))))


def _guard(token: str | None) -> Callable[..., object]:
    async def nobody() -> None: ...

    if token is None:
        return nobody
    bearer = HTTPBearer(auto_error=False)
    expected = token.encode()

    async def holder(request: Request, _: Any = Depends(bearer)) -> None:  # noqa: B008 - FastAPI's way; it is there for the description
        scheme, _space, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), expected):
            message = "Send the header Authorization: Bearer TOKEN, with the token this service was started with."
            raise problem("unauthorised", message, WWW_Authenticate="Bearer")

    return holder


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(document: Any) -> Response:
    return Response(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), media_type="application/json")


def _answer(told: Problem) -> Response:
    return Response(told.document(), told.status, headers=dict(told.headers), media_type=MEDIA_TYPE)


async def _refused(_: Request, error: Exception) -> Response:
    return _answer(cast("RefusedError", error).problem)


async def _other_refusal(request: Request, raised: Exception) -> Response:
    error = cast("HTTPException", raised)
    details = {
        404: "There is nothing at this path; /openapi.json says what there is.",
        405: f"{request.method} is not for this path; the header Allow says what is.",
    }
    return _answer(Problem(is_of(error.status_code), details.get(error.status_code, str(error.detail)), (), dict(error.headers or {})))


async def _not_found(_: Request, error: Exception) -> Response:
    del error
    return _answer(Problem("not-found", "There is nothing at this path; /openapi.json says what there is."))


async def _our_fault(_: Request, error: Exception) -> Response:
    _log.error("a request failed", exc_info=error)
    return _answer(Problem("our-fault", "Something unforeseen happened; the service's log says what. Please report it, with what was sent."))


class _Measured:
    """Counts and times every request."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if scope["app"].state.stopping:  # who keeps connections must not send the next request on this one
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.requests.labels(route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - began)
