"""Things that go wrong with an answer, by path: scripted by tests and by the demo."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from watchdog.simulated.server import Handle, Request, Response

HTML = b"<!DOCTYPE html><html><body>proxy</body></html>"
Fault = Callable[[Request, Handle], Response]
"""Makes an answer, with or without the true one."""


def status(code: int, body: bytes = b'{"message":"simulated"}') -> Fault:
    """Answer with a status."""
    return lambda _request, _handle: Response(code, body)


def body(data: bytes, content_type: str = "application/json") -> Fault:
    """Answer 200 with this body."""
    return lambda _request, _handle: Response(200, data, content_type)


def html(code: int = 200) -> Fault:
    """Answer with a page, as a proxy or a console does."""
    return lambda _request, _handle: Response(code, HTML, "text/html; charset=utf-8")


def limited(seconds: object) -> Fault:
    """429 as Baseten says it: the time to wait is in the body."""
    return status(429, f'{{"error":"rate limited","retry_after":{seconds}}}'.encode())


def changed(change: Callable[[bytes], bytes]) -> Fault:
    """Send the true answer with another body."""

    def apply(request: Request, handle: Handle) -> Response:
        response = handle(request)
        return replace(response, body=change(response.body))

    return apply


def dated(date: str) -> Fault:
    """Send the true answer with another time of the server; without any if it is empty."""

    def apply(request: Request, handle: Handle) -> Response:
        response = handle(request)
        return replace(response, headers={**response.headers, "Date": date})

    return apply


def truncated() -> Fault:
    """Send half of the true body, with a length that fits it."""
    return changed(lambda data: data[: len(data) // 2])


def slow(seconds: float) -> Fault:
    """Send the true answer late (real seconds)."""

    def apply(request: Request, handle: Handle) -> Response:
        time.sleep(seconds)
        return handle(request)

    return apply


def dropped() -> Fault:
    """Hang up without an answer."""
    return lambda _request, _handle: Response(0, drop=True)


@dataclass(slots=True)
class _Planned:
    path: str
    fault: Fault
    left: int | None


class Faults:
    """Faults to come; what a server takes as its interference. Thread-safe."""

    def __init__(self) -> None:
        self._planned: list[_Planned] = []
        self._lock = threading.Lock()

    def plan(self, fault: Fault, path: str = "", times: int | None = None) -> None:
        """Apply ``fault`` to the next ``times`` requests whose path holds ``path`` (None: until cleared)."""
        with self._lock:
            self._planned.append(_Planned(path, fault, times))

    def clear(self) -> None:
        """Let everything be well again."""
        with self._lock:
            self._planned.clear()

    def __call__(self, request: Request, handle: Handle) -> Response:
        """Answer with the first fault that is planned for this path, else truly."""
        fault = self._take(request.path)
        return handle(request) if fault is None else fault(request, handle)

    def _take(self, path: str) -> Fault | None:
        with self._lock:
            for planned in self._planned:
                if planned.path in path and planned.left != 0:
                    if planned.left is not None:
                        planned.left -= 1
                    return planned.fault
        return None
