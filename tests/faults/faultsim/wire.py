"""The network: every request of the service ends here instead of at a socket, and may go wrong on the way.

The service's own HTTP clients are used up to their lowest layer: Slack's SDK through an opener of urllib, the
others through a transport of httpx.
"""

from __future__ import annotations

import io
import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.message import Message
from http.client import RemoteDisconnected
from typing import Any, NoReturn
from urllib.error import URLError
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.response import addinfourl

import httpx

from faultsim.clock import Pulse, Timeline
from faultsim.dice import Dice
from watchdog.simulated.server import Request, Response
from watchdog.simulated.slack import FakeSlack
from watchdog.simulated.slack_workspace import FakeMessage

TIMEOUT = 10.0
"""Seconds after which the receivers give a call up."""
_PAGE = Response(200, b"<html>a proxy</html>", "text/html", {})
_WIRE = (
    "crash before send",
    "crash after send",
    "refused",
    "lost before",
    "lost after",
    "timeout before",
    "timeout after",
    "limited",
    "server error",
    "server error after",
    "slow",
)
_WORDS = ("page", "transient word", "transient word after", "content word", "unknown word")
_WORD: dict[str, str] = {
    "transient word": "service_unavailable",
    "transient word after": "internal_error",
    "content word": "invalid_blocks",
    "unknown word": "something_new",
}
_ACCEPTED = ("crash after send", "lost after", "timeout after", "server error after", "transient word after", "slow")
"""Faults at which the other side takes the request all the same."""


@dataclass(slots=True)
class Watch:
    """Whether the service keeps the silence that it was asked for."""

    until: dict[str, float] = field(default_factory=dict)
    unheard: set[str] = field(default_factory=set)
    """Silences that a process may have died on before it could write them down."""
    early: list[str] = field(default_factory=list)

    def asked(self, kind: str, until: float) -> None:
        """Note that silence was asked for."""
        self.until[kind] = max(until, self.until.get(kind, 0.0))
        self.unheard.add(kind)

    def called(self, kind: str, now: float) -> None:
        """Note a call."""
        if now < self.until.get(kind, 0.0):
            self.early.append(f"{kind} called at {now:.1f}, {self.until[kind] - now:.1f} s before its Retry-After")

    def committed(self) -> None:
        """Note that the process has written something since: it had its chance."""
        self.unheard.clear()

    def crashed(self) -> None:
        """Note that the process died: what it could not write down it cannot keep."""
        for kind in self.unheard:
            self.until.pop(kind, None)
        self.unheard.clear()


class Wire:
    """Carries requests to a fake, through faults."""

    def __init__(self, timeline: Timeline, dice: Dice, handle: Callable[[Request], Response], words: bool) -> None:
        self._timeline, self._dice = timeline, dice
        self._handle = handle
        self._faults = (*_WIRE, *_WORDS) if words else _WIRE
        """``words``: the other side is Slack. A page with status 200 is a success for a webhook."""
        self.watch = Watch()
        self.pulse = Pulse()
        self.lied = 0
        """Requests that were taken and whose answer did not say so."""

    def send(self, request: Request, kind: str) -> Response:
        """Return the answer, or raise what a client's own connection would: OSError, or CrashError."""
        self.pulse.check()
        self.watch.called(kind, self._timeline.now)
        fault = self._dice.first(*self._faults)
        if fault in ("content word", "unknown word") and "/chat." not in request.path:
            fault = ""  # only what is posted can be refused for its content
        if fault == "crash before send":
            self.pulse.crash()
        answer = self._handle(request) if not fault or fault in _ACCEPTED else None
        if answer is not None and answer.status == 429:
            self.watch.asked(kind, self._timeline.now + float(answer.headers["Retry-After"]))
        if fault:
            answer = self._went_wrong(fault, kind, answer)
        assert answer is not None
        self.pulse.check()  # it may have died while it waited
        return answer

    def _went_wrong(self, fault: str, kind: str, answer: Response | None) -> Response:
        self.lied += answer is not None and answer.status == 200 and fault != "slow"
        if fault == "crash after send":
            self.pulse.crash()
        if fault == "slow":
            assert answer is not None
            self._timeline.sleep(self._dice.random.uniform(0.5, TIMEOUT - 1))
            return answer
        if fault.startswith("timeout"):
            self._timeline.sleep(TIMEOUT)
            raise TimeoutError("timed out")
        if fault == "refused":
            raise ConnectionRefusedError
        if fault.startswith("lost"):
            raise RemoteDisconnected("hung up")
        return self._limited(kind) if fault == "limited" else self._bad_answer(fault)

    def _bad_answer(self, fault: str) -> Response:
        if fault == "page":
            return _PAGE
        if fault.startswith("server error"):
            # 503 is the one that says that nothing was taken.
            statuses = (500, 502, 504) if fault.endswith("after") else (500, 502, 503, 504)
            return Response(self._dice.random.choice(statuses), b"<html>sorry</html>", "text/html", {})
        return Response(200, f'{{"ok":false,"error":"{_WORD[fault]}"}}'.encode(), "application/json", {})

    def _limited(self, kind: str) -> Response:
        wait = self._dice.random.choice((1, 7, 45, 200))
        self.watch.asked(kind, self._timeline.now + wait)
        return Response(429, b'{"ok":false,"error":"ratelimited"}', "application/json", {"Retry-After": str(wait)})


class CloudWire(Wire):
    """Carries requests to a cloud: single ones fail, and now and then all of them for a while."""

    def __init__(self, timeline: Timeline, dice: Dice, handle: Callable[[Request], Response]) -> None:
        super().__init__(timeline, dice, handle, words=False)
        self._down_until = 0.0
        self.outages: list[tuple[float, float]] = []

    def send(self, request: Request, kind: str) -> Response:
        """Return the answer, or raise OSError."""
        self.pulse.check()
        if self._dice.happens("outage"):
            self._down_until = self._timeline.now + self._dice.random.choice((30.0, 150.0))
            self.outages.append((self._timeline.now, self._down_until))
        down = self._timeline.now < self._down_until and not self._dice.calm
        if not down and not self._dice.happens("cloud"):
            return self._handle(request)
        return self._failure(request)

    def _failure(self, request: Request) -> Response:
        kind = self._dice.random.choice(("refused", "lost", "timeout", "500", "429", "page", "half"))
        if kind == "refused":
            raise ConnectionRefusedError
        if kind == "lost":
            raise RemoteDisconnected("hung up")
        if kind == "timeout":
            self._timeline.sleep(5.0)
            raise TimeoutError("timed out")
        if kind == "half":
            true = self._handle(request)
            return replace(true, body=true.body[: len(true.body) // 2])
        body = b'{"error":"rate limited","retry_after":3}'
        return _PAGE if kind == "page" else Response(int(kind), body)


class SlackHandler(urllib.request.BaseHandler):
    """Opens ``http://slack.sim`` for urllib."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def http_open(self, asked: urllib.request.Request) -> addinfourl:
        """Answer as ``HTTPHandler`` does; the processors behind it make errors of bad statuses."""
        request = _request_of(asked.get_method(), asked.full_url, dict(asked.header_items()), asked.data)
        kind = f"{request.path} {_channel_of(request)}"
        try:
            answer = self._wire.send(request, kind)
        except ConnectionRefusedError as error:
            raise URLError(error) from None
        headers = Message()
        headers["Content-Type"] = answer.content_type
        for name, value in answer.headers.items():
            headers[name] = value
        found = addinfourl(io.BytesIO(answer.body), headers, asked.full_url, answer.status)
        found.msg = "simulated"  # type: ignore[attr-defined]  # urllib's own answers have it
        return found


@contextmanager
def opened(slack: Wire) -> Iterator[None]:
    """Let every call of urllib go over this wire."""
    opener = urllib.request.OpenerDirector()
    handlers = (SlackHandler(slack), urllib.request.HTTPErrorProcessor(), urllib.request.HTTPDefaultErrorHandler())
    for handler in handlers:
        opener.add_handler(handler)
    urllib.request.install_opener(opener)
    try:
        yield
    finally:
        urllib.request.install_opener(None)  # the default one is made anew


def transport(send: Callable[[Request], Response]) -> httpx.MockTransport:
    """Return a transport of httpx that sends over ``send``."""

    def handle(asked: httpx.Request) -> httpx.Response:
        request = _request_of(asked.method, str(asked.url), dict(asked.headers), asked.content)
        try:
            answer = send(request)
        except OSError as error:
            _raise_as_httpx(error)
        headers = {"content-type": answer.content_type, **answer.headers}
        return httpx.Response(answer.status, headers=headers, stream=httpx.ByteStream(answer.body))

    return httpx.MockTransport(handle)


def _raise_as_httpx(error: OSError) -> NoReturn:
    if isinstance(error, TimeoutError):
        raise httpx.ReadTimeout(str(error)) from None
    if isinstance(error, ConnectionRefusedError):
        raise httpx.ConnectError(str(error)) from None
    raise httpx.RemoteProtocolError(str(error)) from None


def _request_of(method: str, url: str, headers: dict[str, str], data: Any) -> Request:
    parts = urlsplit(url)
    return Request(
        method=method,
        path=unquote(parts.path),
        query=parse_qs(parts.query, keep_blank_values=True),
        headers={name.lower(): value for name, value in headers.items()},
        body=data or b"",
        raw_path=parts.path,
    )


def _channel_of(request: Request) -> str:
    """Return what tells apart the channels that a call may be about."""
    return next((name for name in ("C0ALERTS", "C0PAGER") if name.encode() in request.body), "")


class SimSlack(FakeSlack):
    """A workspace that also remembers which parents were lost, and why nobody is to blame."""

    def __init__(self, timeline: Timeline, **more: Any) -> None:
        super().__init__(timeline.clock, sleep=timeline.sleep, **more)
        self._timeline = timeline
        self.revoked = False
        self.lost: set[str] = set()
        """Messages that may not be edited any more, as the service was told."""
        self.deleted: list[tuple[float, FakeMessage]] = []
        """What people deleted, and when."""

    def handle(self, request: Request) -> Response:
        """Answer, unless the token was revoked."""
        if self.revoked:
            return Response(200, b'{"ok":false,"error":"token_revoked"}', "application/json", {})
        answer = super().handle(request)
        if request.path.endswith("chat.update") and (b"edit_window" in answer.body or b"not_found" in answer.body):
            self.lost.add(json.loads(request.body)["ts"])
        return answer

    def delete(self, message: FakeMessage) -> None:
        """Let somebody delete a message."""
        self.workspace.delete(message.ts)
        self.deleted.append((self._timeline.now, message))
