"""A Slack workspace on loopback that is as strict as the real one, for the demo and the tests."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from watchdog.ports import Clock
from watchdog.simulated.server import Request, Response, json_response
from watchdog.simulated.slack_rules import ALL_SCOPES, LISTED, SCOPE_OF, Bucket, refusal
from watchdog.simulated.slack_workspace import Answer, Body, FakeChannel, FakeMessage, Refused, Workspace, types_of

TOKEN = "xoxb-simulated"  # noqa: S105  # opens nothing but this fake
HOOK = "/services/T0SIM/B0SIM/simulated"
_RATES = {
    "chat.postMessage": (1.0, 4.0),
    "webhook": (1.0, 4.0),
    "chat.update": (50 / 60, 50.0),
    "conversations.list": (20 / 60, 20.0),
}
"""Calls a second and the burst that is let through; Slack documents the rates, not the bursts."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong with the next call (of ``method``, if set)."""

    status: int = 200
    code: str = ""
    """Slack's error code; a body that is no JSON if empty."""
    retry_after: int | None = None
    accept: bool = False
    """The call is carried out all the same: what the client sees is a lie."""
    hold: float = 0.0
    """Real seconds before the answer; longer than the client's timeout looks like a lost answer."""
    method: str = ""


class FakeSlack:
    """Speaks the part of Slack's HTTP that watchdog uses. Thread-safe; time is the given clock's."""

    def __init__(
        self,
        clock: Clock,
        *,
        channels: Iterable[FakeChannel] = (),
        on_message: Callable[[FakeMessage], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self.workspace = Workspace(clock, tuple(channels) or (FakeChannel("C0GPUALERTS", "gpu-alerts"),))
        self.workspace.on_message = on_message
        self.token = TOKEN
        self.scopes = set(ALL_SCOPES)
        self.calls: list[tuple[float, str]] = []
        """Every call with its time, those that were refused among them."""
        self.too_early: list[str] = []
        """Calls that did not wait for their Retry-After: Slack disables apps for it."""
        self._sleep = sleep
        self._faults: list[Fault] = []
        self._buckets: dict[str, Bucket] = {}
        self._blocked_until: dict[str, float] = {}
        self._lock = threading.RLock()

    def fail(self, fault: Fault, times: int = 1) -> None:
        """Let the next ``times`` calls go wrong."""
        self._faults += [fault] * times

    def handle(self, request: Request) -> Response:
        """Answer one HTTP request: ``/api/METHOD``, the incoming webhook ``HOOK``, or a file upload."""
        name = "webhook" if request.path == HOOK else request.path.rpartition("/")[2]
        with self._lock:
            self.calls.append((self.clock(), name))
            fault = self._next_fault(name)
            if fault is None:
                return self._answer(name, request)
            if fault.accept:
                self._answer(name, request)
        if fault.hold:
            self._sleep(fault.hold)
        return _faulty(fault)

    def _answer(self, name: str, request: Request) -> Response:
        if request.path.startswith("/upload/"):
            self.workspace.uploads[name] = f"{len(request.body)} bytes"
            return Response(200, b"OK", "text/plain", {})
        if request.path.startswith("/services/"):
            return self._incoming(request)
        body = _body_of(request)
        wait = self._wait_for(name, str(body.get("channel", "")))
        if wait:
            return _limited(wait)
        try:
            self._authorize(name, _header(request, "authorization"), body)
            answer = {"ok": True, **self._dispatch(name, body, request)}
            return json_response(answer, headers={"X-OAuth-Scopes": ",".join(sorted(self.scopes))})
        except Refused as refused:
            return json_response({"ok": False, "error": str(refused)})

    def _dispatch(self, name: str, body: Body, request: Request) -> Answer:
        method = self.workspace.methods.get(name)
        if method is None:
            raise Refused("unknown_method")
        answer = method(body)
        if "upload_url" in answer:
            answer["upload_url"] = f"http://{_header(request, 'host')}{answer['upload_url']}"
        return answer

    def _incoming(self, request: Request) -> Response:
        """An incoming webhook answers with a word, and with HTTP statuses."""
        body = _body_of(request)
        channel = next(iter(self.workspace.channels.values()))
        wait = self._wait_for("webhook", "")
        if wait:
            return _limited(wait)
        if request.path != HOOK:
            return _word(404, "no_service")
        if channel.archived:
            return _word(410, "channel_is_archived")
        problem = refusal(body)
        if problem:
            return _word(400, problem if problem in ("no_text", "too_many_attachments") else "invalid_payload")
        self.workspace.hook(body)
        return _word(200, "ok")

    def _authorize(self, name: str, header: str, body: Body) -> None:
        if not header:
            raise Refused("not_authed")
        if header != f"Bearer {self.token}":
            raise Refused("invalid_auth")
        needed = SCOPE_OF.get(name)
        if needed is not None and not needed & self.scopes:
            raise Refused("missing_scope")
        if not {LISTED[kind] for kind in self._kinds(name, body) if kind in LISTED} <= self.scopes:
            raise Refused("missing_scope")

    def _kinds(self, name: str, body: Body) -> list[str]:
        """Return the kinds of channels that a call asks for: each needs a scope of its own."""
        if name == "conversations.list":
            return types_of(body)
        channel = self.workspace.channels.get(str(body.get("channel", ""))) if name == "conversations.info" else None
        return [] if channel is None else ["private_channel" if channel.private else "public_channel"]

    def _wait_for(self, name: str, channel: str) -> float:
        """Return the seconds of Retry-After if this call comes too fast, else 0."""
        if name not in _RATES:
            return 0.0
        key, now = (f"{name} {channel}" if name == "chat.postMessage" else name), self.clock()
        if now < self._blocked_until.get(key, 0.0):
            self.too_early.append(key)
        wait = self._buckets.setdefault(key, Bucket(*_RATES[name])).take(now)
        if wait:
            self._blocked_until[key] = now + wait
        return wait

    def _next_fault(self, name: str) -> Fault | None:
        for position, fault in enumerate(self._faults):
            if fault.method in ("", name):
                return self._faults.pop(position)
        return None


def _header(request: Request, name: str) -> str:
    return next((value for key, value in request.headers.items() if key.lower() == name), "")


def _body_of(request: Request) -> dict[str, Any]:
    if "json" in _header(request, "content-type"):
        data = json.loads(request.body)
        return data if isinstance(data, dict) else {}
    return dict(parse_qsl(request.body.decode()))


def _faulty(fault: Fault) -> Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    if fault.code:
        return Response(
            fault.status, json.dumps({"ok": False, "error": fault.code}).encode(), "application/json", headers
        )
    return Response(fault.status, b"<html>upstream error</html>", "text/html", headers)


def _limited(wait: float) -> Response:
    body = json.dumps({"ok": False, "error": "ratelimited"}).encode()
    return Response(429, body, "application/json", {"Retry-After": str(math.ceil(wait))})


def _word(status: int, word: str) -> Response:
    return Response(status, word.encode(), "text/plain", {})
