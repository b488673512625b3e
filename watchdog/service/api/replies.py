"""Prometheus's envelope around every answer, its status codes and its words for errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from watchdog.errors import EvaluationError, PromQLError, TooLate, Unavailable, WatchdogError
from watchdog.service.api.forms import Form, ParameterError, form_of

TRUNCATED = "results truncated due to limit"
_KINDS: tuple[tuple[type[WatchdogError], str, int], ...] = (
    (ParameterError, "bad_data", 400),
    (PromQLError, "bad_data", 400),
    (EvaluationError, "execution", 422),
    (TooLate, "timeout", 503),
    (Unavailable, "unavailable", 503),
)

Handler = Callable[[Form], Awaitable[Response]]


def success(data: Any, warnings: Sequence[str] = ()) -> Response:
    """Return an answer."""
    body = {"status": "success", "data": data}
    return _response({**body, "warnings": list(warnings)} if warnings else body, 200)


def failure(error: WatchdogError) -> Response:
    """Return what went wrong."""
    word, status = next((word, status) for kind, word, status in _KINDS if isinstance(error, kind))
    return _response({"status": "error", "errorType": word, "error": str(error)}, status)


def endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint of a handler, which may raise any of the errors above."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(await form_of(request))
        except (ParameterError, PromQLError, EvaluationError, Unavailable) as error:
            return failure(error)

    return answer


def _response(body: dict[str, Any], status: int) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")
