"""A scripted provider on loopback, a clock that only sleeping moves, and secrets that can change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from watchdog.model import Job, JobStatus, Poll, PollRequest, Watched
from watchdog.sources import SOURCE_TYPES, BuildContext

NINE = 1_772_442_000.0
"""2026-03-02 09:00 UTC, the first time of the references' samples."""


@dataclass
class Clock:
    """A clock that only sleeping moves. Thread-safe enough: sleeps are added up."""

    now: float = NINE + 120
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Secrets:
    """Secrets by name, which a test may change at any time."""

    def __init__(self, **values: str) -> None:
        self.values = values

    def find(self, name: str) -> str | None:
        return self.values.get(name)


@dataclass(frozen=True)
class Asked:
    """One request as the provider saw it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Say:
    """One answer. ``content`` other than bytes is sent as JSON."""

    content: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str | None = "application/json"
    wait: threading.Event | None = None
    """Answer only when this is set (or after 5 s)."""
    cut: int = 0
    """Bytes that are promised but never sent."""

    @property
    def body(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()


Script = Callable[[Asked], Say]


class Cloud:
    """Answers as told, by method and path; writes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._scripts: dict[tuple[str, str], Script] = {}
        self._lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def on(self, method: str, path: str, *says: Say | Script | Any) -> None:
        """Answer ``method path`` with these, one after the other; the last one stays."""
        waiting = [say if isinstance(say, Say) or callable(say) else Say(say) for say in says]

        def script(asked: Asked) -> Say:
            say = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            return say if isinstance(say, Say) else say(asked)

        self._scripts[method, path] = script

    def answer(self, asked: Asked) -> Say:
        with self._lock:
            self.asked.append(asked)
            script = self._scripts.get((asked.method, asked.path))
            return script(asked) if script else Say({"message": "no such path"}, 404)

    def of(self, path: str) -> list[Asked]:
        """Return the requests whose path ends like this."""
        return [asked for asked in self.asked if asked.path.endswith(path)]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


def _handler(cloud: Cloud) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one segment for headers and body: no waiting for delayed acknowledgements

        def log_message(self, *args: object) -> None:
            pass

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)
            say = cloud.answer(asked)
            if say.wait is not None:
                say.wait.wait(5)
            try:
                self.send_response(say.status)
                if say.kind is not None:
                    self.send_header("content-type", say.kind)
                for name, value in say.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(say.body) + say.cut))
                self.end_headers()
                self.wfile.write(say.body)
            except OSError:
                self.close_connection = True
            if say.cut:
                self.close_connection = True

        do_GET = do_POST = _serve  # noqa: N815  # the names that the server looks for

    return Handler


@dataclass
class Bench:
    """What tests build sources with, and the words that they often need."""

    cloud: Cloud
    clock: Clock
    secrets: Secrets
    built: list[Any] = field(default_factory=list)
    nine = NINE

    say = Say

    def context(self, interval: float = 60.0) -> BuildContext:
        return BuildContext(interval, self.secrets, self.clock, self.clock.sleep)

    def source(self, kind: str, interval: float = 60.0, **options: Any) -> Any:
        """Return a source of this type that speaks to the cloud."""
        found = SOURCE_TYPES[kind]
        table = {"name": "s", "type": kind, "base_url": self.cloud.url, **options}
        source = found.build(found.config.model_validate(table), self.context(interval))
        self.built.append(source)
        return source

    def request(self, *watched: Watched, window: float = 1800.0) -> PollRequest:
        return PollRequest(self.clock.now, {item.job.job: item for item in watched}, window)

    def watched(self, job: str, newest: float | None = None, **options: Any) -> Watched:
        known = {"source": "s", "provider": "p", "status": JobStatus.RUNNING, "project": "pr1", **options}
        return Watched(Job(job=job, **known), newest)

    def series(self, reading: Any) -> dict[tuple[str, ...], dict[float, float]]:
        """Return the points of a reading: minutes after nine and values, by metric, node and GPU."""
        found = {}
        for points in (*reading.points, *reading.project_points):
            labels = dict(points.labels)
            key = tuple(part for part in (points.metric, labels.get("node"), labels.get("gpu")) if part)
            times = [(at - NINE) / 60 for at in points.times]
            assert times == sorted(set(times))
            assert len(times) == len(points.values)
            assert all(isinstance(value, float) for value in points.values)
            found[key] = dict(zip(times, points.values, strict=True))
        return found

    def only(self, poll: Poll) -> Any:
        """Return the one reading of a good poll."""
        assert poll.error == ""
        (reading,) = poll.readings
        return reading


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    found = Cloud()
    yield found
    found.close()


@pytest.fixture
def bench(cloud: Cloud) -> Iterator[Bench]:
    keys = Secrets(BASETEN_API_KEY="bt-secret-1", ALAYANEW_API_KEY="an-secret-1")
    found = Bench(cloud, Clock(), keys)
    yield found
    for source in found.built:
        source.close()
