"""The HTTP server: is the service alive, is it ready, what does it know. The alert path does not need it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from watchdog.errors import UsageError
from watchdog.service.api.access import Access, Gate
from watchdog.service.health import Health

LATE_TICKS = 5
"""The service is not healthy when no tick has come to its end for this many periods (and a minute)."""


def make_app(
    health: Health, period: Callable[[], float], more: Sequence[BaseRoute] = (), access: Access | None = None
) -> Starlette:
    """Return the application: ``more`` routes, which ``access`` may close, and two on its health.

    ``/healthz``: the loop turns. ``/readyz``: it has judged, and the store takes writes. ``period``: seconds
    between ticks.
    """

    def alive() -> bool:
        limit = max(LATE_TICKS * period(), 60.0)
        return health.last_tick is not None and time.monotonic() - health.last_tick <= limit

    async def healthz(_: Request) -> JSONResponse:
        ok = alive() or health.last_tick is None
        body = {"status": "ok" if ok else "the loop is stuck", **_rules(health)}
        return JSONResponse(body, status_code=200 if ok else 503)

    async def readyz(_: Request) -> JSONResponse:
        problem = "" if alive() else "no evaluation yet"
        problem = health.last_commit_failed or problem
        body = {
            "status": problem or "ready",
            "jobs": health.jobs,
            "firing": health.firing,
            "sources_down": list(health.sources_down),
        }
        return JSONResponse(body, status_code=503 if problem else 200)

    return Starlette(
        routes=[Route("/healthz", healthz), Route("/readyz", readyz), *more],
        middleware=[Middleware(Gate, access=access or Access())],
    )


def _rules(health: Health) -> dict[str, dict[str, str]]:
    if not health.rules_checksum:
        return {}
    loaded_at = datetime.fromtimestamp(health.rules_loaded_at, UTC).isoformat(timespec="seconds")
    rules = {"checksum": health.rules_checksum, "loaded_at": loaded_at, "refused": health.rules_refused}
    return {"rules": rules}


def parse_listen(text: str) -> tuple[str, int]:
    """Return host and port of ``host:port`` (an IPv6 host in brackets). Raises UsageError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f'WATCHDOG_LISTEN="{text}" is not host:port; write for example 127.0.0.1:9469')
    return host.strip("[]"), int(port)


class HttpServer:
    """Runs uvicorn in a thread of its own."""

    def __init__(self, app: Starlette, listen: str) -> None:
        host, port = parse_listen(listen)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_keep_alive=5,
            h11_max_incomplete_event_size=16 * 1024,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, name="http", daemon=True)

    def start(self) -> None:
        """Begin to listen. A port that is taken is logged by uvicorn; alerts go on without it."""
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and wait for open answers."""
        self._server.should_exit = True
        self._thread.join(timeout=5)
