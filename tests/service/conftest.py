"""A service with samples that a test chose: the real loop, desk and HTTP server on loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import httpx
import pytest

from watchdog.engine.engine import Engine
from watchdog.engine.program import program_of
from watchdog.history import History
from watchdog.model import Changes, Snapshot
from watchdog.rules.model import Route, Ruleset
from watchdog.service import api
from watchdog.service.guard import Guard
from watchdog.service.http import HttpServer, make_app
from watchdog.service.loop import Loop
from watchdog.service.poller import Poller

Rows = Sequence[tuple[Mapping[str, str], Sequence[float], Sequence[float]]]
EMPTY = Ruleset(60.0, (), (), (Route(("nobody",)),), (), "x")


class NoStore:
    def commit(self, _: Changes) -> None:
        pass

    def load(self) -> Snapshot:
        return Snapshot()

    def close(self) -> None:
        pass


@dataclass
class Live:
    """A running service; ``now`` is its clock."""

    loop: Loop
    client: httpx.Client
    url: str
    thread: threading.Thread
    server: HttpServer

    def close(self) -> None:
        self.loop.stop.set()
        self.thread.join(10)
        self.client.close()
        self.server.stop()
        assert not self.thread.is_alive()


def start(rows: Rows, now: float, period: float) -> Live:
    engine = Engine(program_of(EMPTY, ()), Snapshot(), now)
    engine.history = History.from_series(rows, 60.0)
    loop = Loop(
        engine=engine,
        poller=Poller({}, lambda: now),
        store=NoStore(),
        clock=lambda: now,
        guard=Guard(),
        period=period,
        wake=lambda _: None,
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{probe.getsockname()[1]}"
    server = HttpServer(make_app(loop.health, lambda: period, api.routes(loop.desk, loop.clock)), listen)
    server.start()
    thread = threading.Thread(target=loop.run)
    thread.start()
    client = httpx.Client(
        transport=httpx.HTTPTransport(retries=20), base_url=f"http://{listen}/api/v1/", timeout=30, trust_env=False
    )
    return Live(loop, client, f"http://{listen}", thread, server)


@pytest.fixture(scope="module")
def live() -> Iterator[Callable[[Rows, float, float], Live]]:
    """Start services on ``(rows, now, period)``; stop them after the last test of the module."""
    started: list[Live] = []

    def go(rows: Rows, now: float, period: float) -> Live:
        started.append(start(rows, now, period))
        return started[-1]

    yield go
    for one in started:
        one.close()
