"""Who may use the HTTP API: writing needs the token, reading can be closed too."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from watchdog.errors import WatchdogError


class RefusedError(WatchdogError):
    """A request that is not allowed; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of access."""

    token: str | None = None
    """WATCHDOG_API_TOKEN; without it nothing can be written."""
    closed: bool = False
    """Whether reading needs the token as well."""

    def check(self, request: Request, *, writing: bool) -> None:
        """Raise RefusedError for a request that is not allowed."""
        if not writing and not self.closed:
            return
        if not self.token:
            raise RefusedError(403, "writing is off; set WATCHDOG_API_TOKEN to allow it")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self.token.encode()):
            raise RefusedError(401, "this needs the header Authorization: Bearer with the value of WATCHDOG_API_TOKEN")


OPEN_TO_ALL = ("/healthz", "/readyz")
"""Paths for whoever keeps the container alive; they say nothing of jobs."""


class Gate:
    """Keeps readers without the token out, where reading is closed."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the request pass."""
        if scope["type"] == "http" and scope["path"] not in OPEN_TO_ALL:
            try:
                self._access.check(Request(scope), writing=False)
            except RefusedError as error:
                await JSONResponse({"status": "error", "error": str(error)}, error.status)(scope, receive, send)
                return
        await self._app(scope, receive, send)
