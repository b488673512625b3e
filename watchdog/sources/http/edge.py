"""The only place where sources speak HTTP: timeouts, limits, retries, and no secret in any text.

Redirects are not followed: the header with the key must not reach another host.
"""

from __future__ import annotations

import logging
import random
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TypeVar
from urllib.parse import quote, urlencode

import httpx
import orjson

from watchdog import __version__
from watchdog.errors import SourceError, SourceErrorKind
from watchdog.sources.base import BuildContext
from watchdog.sources.http.answer import Answer
from watchdog.sources.http.limiter import RateLimiter

T = TypeVar("T")

CONNECT_TIMEOUT = 10.0
MAX_BODY = 32 * 1024 * 1024
"""Bytes of an answer, unpacked; a larger one is not read on."""
_KEEP_ALIVE = 90.0
"""Seconds for which an idle connection is kept: longer than the usual interval."""
_FIRST_DELAY, _LONGEST_DELAY, _LONGEST_WAIT = 0.5, 8.0, 30.0
"""Seconds: backoff after the first failure, its cap, and the longest Retry-After that is waited for in a poll."""
_RETRIED = frozenset({SourceErrorKind.UNAVAILABLE, SourceErrorKind.RATE_LIMITED})
_LIMITS = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEP_ALIVE)


@dataclass(frozen=True, slots=True)
class Credential:
    """The Authorization header for one request, and what of it must never be quoted."""

    header: str
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A provider's address, and how to speak to it."""

    base_url: str
    """Without a slash at its end."""
    authorize: Callable[[str, str], Credential]
    """Takes method and path; called anew for each try, so that keys rotate. Raises SourceError."""
    timeout: float
    """Seconds without a byte after which a read is given up."""
    rate: float
    """Calls a second to one endpoint."""
    burst: int


@dataclass(frozen=True, slots=True)
class Call:
    """One request that may be repeated without harm."""

    endpoint: str
    """Its kind: for the rate limit, and for messages."""
    path: str
    """Begins with a slash; ids in it went through ``segment``."""
    deadline: float
    """Unix seconds after which it is not begun, and given up."""
    method: str = "GET"
    params: Mapping[str, str | int] = field(default_factory=dict)
    body: object = None
    """Sent as JSON when not None."""
    tries: int = 3


@cache
def _tls() -> ssl.SSLContext:
    """Return the context that all connections share: making one takes longer than a request."""
    return httpx.create_ssl_context()


def segment(text: str) -> str:
    """Return an opaque id as one segment of a path."""
    found = quote(text, safe="", errors="replace")
    return found if found.strip(".") else found.replace(".", "%2E")


class HttpEdge:
    """Calls one provider. Thread-safe; each call under way has a client and its connection to itself.

    A pool shared by many threads costs more than the request; one client per caller is cheapest
    (reference: performance).
    """

    def __init__(self, site: Site, context: BuildContext) -> None:
        self._site = site
        self._clock = context.clock
        self._sleep = context.sleep
        self._limiters: dict[str, RateLimiter] = {}
        self._idle: list[httpx.Client] = []
        self._lock = threading.Lock()
        timeout = httpx.Timeout(site.timeout, connect=min(CONNECT_TIMEOUT, site.timeout))
        self._timeout = {"timeout": timeout.as_dict()}
        self._headers = {
            "user-agent": f"watchdog/{__version__}",
            "accept": "application/json",
            "accept-encoding": "gzip, deflate",
        }
        self._path = httpx.URL(site.base_url).raw_path.decode().rstrip("/")
        self._dated: tuple[str, float] | None = None
        self.stopped = threading.Event()
        """Set by ``close``: calls under way end soon, new ones fail."""
        for name in ("httpx", "httpcore"):  # below warning they log addresses and headers
            logger = logging.getLogger(name)
            logger.setLevel(max(logger.level, logging.WARNING))

    def call(self, call: Call, check: Callable[[Answer], T]) -> T:
        """Return ``check(answer)``; ``check`` raises SourceError for an answer that is none.

        What may pass (5xx, timeouts, 429 with a short wait) is tried again with growing, jittered delays,
        up to ``call.tries`` times and not beyond ``call.deadline``. Raises SourceError.
        """
        tries = 1
        while True:
            self._wait_for_place(call)
            try:
                return check(self._send(call))
            except SourceError as error:
                delay = self._delay(error, tries)
                if error.kind is SourceErrorKind.RATE_LIMITED:
                    self._limiter(call).hold(delay)
                if error.kind not in _RETRIED or tries >= call.tries or delay > _LONGEST_WAIT:
                    raise
                if self._clock() + delay >= call.deadline:
                    raise
            self._pause(delay)
            tries += 1

    def clock_difference(self) -> float | None:
        """Return by how many seconds our clock is ahead of the server's, by its newest answer; None if that says none.

        A second or two are rounding and the way.
        """
        if self._dated is None:
            return None
        stated, at = self._dated
        try:
            moment = parsedate_to_datetime(stated)
        except ValueError:
            return None
        return at - (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

    def close(self) -> None:
        """Close idle connections; those in use are closed when their call ends."""
        self.stopped.set()
        with self._lock:
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    def _wait_for_place(self, call: Call) -> None:
        if self.stopped.is_set():
            raise SourceError(SourceErrorKind.UNAVAILABLE, f"{call.endpoint}: watchdog is stopping")
        now = self._clock()
        if now >= call.deadline:
            raise SourceError(SourceErrorKind.UNAVAILABLE, f"{call.endpoint}: not read within the time of a poll")
        wait = self._limiter(call).reserve(call.deadline)
        if wait is None:
            text = f"{call.endpoint}: the rate limit leaves no place within the time of a poll"
            raise SourceError(SourceErrorKind.RATE_LIMITED, text)
        if wait > 0:
            self._pause(wait)

    def _limiter(self, call: Call) -> RateLimiter:
        with self._lock:
            found = self._limiters.get(call.endpoint)
            if found is None:
                found = self._limiters[call.endpoint] = RateLimiter(self._site.rate, self._site.burst, self._clock)
            return found

    @staticmethod
    def _delay(error: SourceError, tries: int) -> float:
        if error.retry_after is not None:
            return error.retry_after
        return min(_LONGEST_DELAY, _FIRST_DELAY * 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)  # noqa: S311  # jitter

    def _pause(self, seconds: float) -> None:
        """Sleep in slices, so that ``close`` is heard."""
        while seconds > 0 and not self.stopped.is_set():
            self._sleep(min(seconds, 1.0))
            seconds -= 1.0

    def _send(self, call: Call) -> Answer:
        path = self._path + call.path
        credential = self._site.authorize(call.method, path)
        headers = {**self._headers, "authorization": credential.header}
        content = None
        if call.body is not None:
            headers["content-type"] = "application/json"
            content = orjson.dumps(call.body)
        address = self._site.base_url + call.path
        if call.params:
            address = f"{address}?{urlencode(call.params)}"
        client = self._take()
        try:
            # Built here and not by the client: a tenth of a millisecond less for each job at each poll.
            request = httpx.Request(call.method, address, headers=headers, content=content, extensions=self._timeout)
            response = client.send(request, stream=True)
            try:
                body = self._read(response, call)
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise self._unanswered(call, error) from None  # its request holds the header
        except httpx.InvalidURL:  # an id as long as no address can be
            text = f"{call.endpoint}: an id that no address can hold"
            raise SourceError(SourceErrorKind.MALFORMED, text) from None
        finally:
            self._give(client)
        answer = Answer(response.status_code, response.headers, body, call.endpoint, self._clock(), credential.secrets)
        if (stated := answer.headers.get("date")) is not None:
            self._dated = stated, answer.at
        return answer

    def _read(self, response: httpx.Response, call: Call) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > MAX_BODY:
                text = f"{call.endpoint}: an answer larger than {MAX_BODY // 1024**2} MiB"
                raise SourceError(SourceErrorKind.MALFORMED, text)
            if self._clock() > call.deadline:
                text = f"{call.endpoint}: the answer took longer than the time of a poll"
                raise SourceError(SourceErrorKind.UNAVAILABLE, text)
            parts.append(part)
        return b"".join(parts)

    def _unanswered(self, call: Call, error: httpx.HTTPError) -> SourceError:
        if isinstance(error, httpx.DecodingError):
            return SourceError(SourceErrorKind.MALFORMED, f"{call.endpoint}: an answer that cannot be unpacked")
        if isinstance(error, httpx.TimeoutException):
            what = f"no answer within {self._site.timeout:g} s ({type(error).__name__})"
        elif isinstance(error, httpx.ConnectError):
            what = f"no connection to {httpx.URL(self._site.base_url).host} ({error})"
        else:
            what = f"the connection broke ({type(error).__name__})"
        return SourceError(SourceErrorKind.UNAVAILABLE, f"{call.endpoint}: {what}")

    def _take(self) -> httpx.Client:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return httpx.Client(verify=_tls(), limits=_LIMITS, follow_redirects=False)

    def _give(self, client: httpx.Client) -> None:
        with self._lock:
            if not self.stopped.is_set():
                self._idle.append(client)
                return
        client.close()
