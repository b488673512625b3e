"""The routes of Alertmanager's API version 2; ``alertmanager`` says what they answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from watchdog.engine.engine import Engine
from watchdog.errors import StoreError, Unavailable
from watchdog.ports import Clock
from watchdog.promql.storage import Matcher
from watchdog.rules.matchers import parse_bare_matcher
from watchdog.service.api import alertmanager
from watchdog.service.api.access import Access, RefusedError
from watchdog.service.api.alertmanager import AlertQuery, UnknownSilenceError, WrongRequestError
from watchdog.service.desk import Desk

T = TypeVar("T")
PATIENCE = 30.0
"""Seconds to wait for the scheduler thread."""
LARGEST_BODY = 64 * 1024
Handler = Callable[[Request], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class _Api:
    """One method per endpoint; each returns what becomes JSON."""

    desk: Desk[Engine]
    clock: Clock
    commit: alertmanager.Commit
    started: float

    async def _ask(self, question: Callable[[Engine], T]) -> T:
        return await self.desk.ask(question, PATIENCE)

    async def status(self, _: Request) -> Any:
        return await self._ask(lambda engine: alertmanager.status(engine, self.started))

    async def receivers(self, _: Request) -> Any:
        return await self._ask(alertmanager.receivers)

    async def alerts(self, request: Request) -> Any:
        wanted = _wanted(request)
        return await self._ask(lambda engine: alertmanager.alerts(engine, wanted, self.clock()))

    async def groups(self, request: Request) -> Any:
        wanted = _wanted(request)
        return await self._ask(lambda engine: alertmanager.groups(engine, wanted, self.clock()))

    async def silences(self, request: Request) -> Any:
        matchers = _matchers(request)
        return await self._ask(lambda engine: alertmanager.silences(engine, matchers, self.clock()))

    async def silence(self, request: Request) -> Any:
        id_ = request.path_params["id"]
        return await self._ask(lambda engine: alertmanager.silence(engine, id_, self.clock()))

    async def put_silence(self, request: Request) -> Any:
        body = await _json(request)
        return await self._ask(lambda engine: alertmanager.put_silence(engine, body, self.commit, self.clock()))

    async def expire_silence(self, request: Request) -> Any:
        id_ = request.path_params["id"]
        await self._ask(lambda engine: alertmanager.expire_silence(engine, id_, self.commit, self.clock()))

    async def no_alerts(self, _: Request) -> Any:
        raise RefusedError(405, "alerts come from watchdog's rules; they cannot be posted")


def routes(
    desk: Desk[Engine], clock: Clock, commit: alertmanager.Commit, access: Access, started: float
) -> list[BaseRoute]:
    """Return the routes below ``/api/v2``."""
    api = _Api(desk, clock, commit, started)
    reading: dict[str, Handler] = {
        "status": api.status,
        "receivers": api.receivers,
        "alerts": api.alerts,
        "alerts/groups": api.groups,
        "silences": api.silences,
        "silence/{id}": api.silence,
    }
    writing: Sequence[tuple[str, str, Handler]] = (
        ("silences", "POST", api.put_silence),
        ("silence/{id}", "DELETE", api.expire_silence),
        ("alerts", "POST", api.no_alerts),
    )
    found: list[BaseRoute] = [
        Route(f"/api/v2/{path}", partial(_answer, handler, access, writing=False), methods=["GET"])
        for path, handler in reading.items()
    ]
    found += [
        Route(f"/api/v2/{path}", partial(_answer, handler, access, writing=True), methods=[method])
        for path, method, handler in writing
    ]
    return found


async def _answer(handler: Handler, access: Access, request: Request, *, writing: bool) -> Response:
    try:
        if writing:
            access.check(request, writing=True)
        found = await handler(request)
    except RefusedError as error:
        return JSONResponse(str(error), error.status)
    except UnknownSilenceError as error:
        return JSONResponse(str(error), 404)
    except WrongRequestError as error:
        return JSONResponse(str(error), 400)
    except (Unavailable, StoreError) as error:
        return JSONResponse(str(error), 503)
    return Response(status_code=200) if found is None else JSONResponse(found)


def _wanted(request: Request) -> AlertQuery:
    def flag(name: str) -> bool:
        return request.query_params.get(name, "true").lower() != "false"

    return AlertQuery(
        matchers=_matchers(request),
        active=flag("active"),
        silenced=flag("silenced"),
        inhibited=flag("inhibited"),
        receiver=request.query_params.get("receiver", ""),
    )


def _matchers(request: Request) -> list[Matcher]:
    """Read ``filter``, which may stand there many times."""
    try:
        return [parse_bare_matcher(text) for text in request.query_params.getlist("filter")]
    except ValueError as error:
        raise WrongRequestError(f"filter: {error}") from None


async def _json(request: Request) -> Any:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise WrongRequestError(f"the body has more than {LARGEST_BODY} bytes")
    try:
        return json.loads(bytes(body))
    except ValueError:
        raise WrongRequestError("the body is not JSON") from None
