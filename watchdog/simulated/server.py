"""A small HTTP server on loopback that every fake is served by: real sockets, keep-alive, a request log."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http.client import responses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import parse_qs, unquote, urlsplit

_IDLE = 30.0
"""Real seconds after which a kept-alive connection without a request is closed."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request: ``path`` is decoded and has no query, header names are lower case."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    raw_path: str = ""
    """The path as it came, still percent-encoded: what signatures are made of."""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer; an empty header is left out. ``drop`` closes the connection instead of answering."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False


Handle = Callable[[Request], Response]


class Interference(Protocol):
    """What may come between a request and its handler; see ``faults.py``."""

    def __call__(self, request: Request, handle: Handle) -> Response:
        """Answer the request, by ``handle`` or otherwise."""
        ...


@dataclass(frozen=True, slots=True)
class Logged:
    """A request that was answered; ``at`` is real unix seconds, status 0 a dropped connection."""

    at: float
    method: str
    path: str
    status: int


def json_response(obj: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return ``obj`` as a JSON answer. NaN and infinities are written as Python writes them."""
    body = json.dumps(obj, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(status, body, "application/json", headers or {})


class FakeServer:
    """Serves ``handle`` on 127.0.0.1 at a free port (or ``port``), each connection on a daemon thread.

    An exception in the handler is a bug of the fake: its traceback goes to stderr, the client is hung up on.
    """

    def __init__(self, handle: Handle, faults: Interference | None = None, *, port: int = 0) -> None:
        self._handle = handle
        self._faults = faults
        self._log: list[Logged] = []
        self._http = _Listener(("127.0.0.1", port), _handler_of(self))
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, without a slash at its end."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def log(self) -> tuple[Logged, ...]:
        """Every request answered so far, in the order of the answers."""
        return tuple(self._log)

    def start(self) -> None:
        """Serve, until ``stop``."""
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, name="fake-server", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop serving, close the port and every open connection; does nothing twice."""
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._thread = None
        self._http.server_close()
        self._http.close_connections()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def answer(self, request: Request) -> Response:
        """Answer one request and log it, as if it had come over the network."""
        faults, handle = self._faults, self._handle
        response = handle(request) if faults is None else faults(request, handle)
        status = 0 if response.drop else response.status
        self._log.append(Logged(time.time(), request.method, request.path, status))
        return response


class _Listener(ThreadingHTTPServer):
    """Knows its open connections, so that a stopped server answers nobody who kept one alive."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[Any] = set()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, unless it is only a client that hung up."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def close_connections(self) -> None:
        for request in list(self._open):
            with contextlib.suppress(OSError):  # its client was faster
                request.shutdown(socket.SHUT_RDWR)


def _handler_of(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    """Return the request handler class that answers from ``server``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _IDLE
        disable_nagle_algorithm = True

        def answer(self) -> None:
            response = server.answer(self.request_read())
            if response.drop:
                self.close_connection = True
                return
            head = [f"HTTP/1.1 {response.status} {responses.get(response.status, '')}"]
            fixed = {
                "Date": formatdate(usegmt=True),
                "Content-Type": response.content_type,
                "Content-Length": str(len(response.body)),
            }
            head += [f"{name}: {value}" for name, value in {**fixed, **response.headers}.items() if value]
            text = "\r\n".join(head).encode("latin-1") + b"\r\n\r\n"
            # One write: a client that waits for the body does not meet the delayed acknowledgement.
            self.wfile.write(text if self.command == "HEAD" else text + response.body)

        def request_read(self) -> Request:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            return Request(
                method=self.command,
                path=unquote(parts.path),
                query=parse_qs(parts.query, keep_blank_values=True),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=self.rfile.read(length) if length else b"",
                raw_path=parts.path,
            )

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
            """Stay quiet: ``FakeServer.log`` has it."""

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer  # noqa: N815  # the base class's names

    return Handler
