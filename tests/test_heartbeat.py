"""The dead man's switch, over real HTTP."""

from __future__ import annotations

import logging
import queue
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from watchdog.errors import UsageError
from watchdog.heartbeat import Heartbeat, checked
from watchdog.simulated.server import FakeServer, Request, Response

LIMIT = 20.0


@dataclass
class Switch:
    """A service that wants to be called."""

    status: int = 200
    calls: list[str] = field(default_factory=list)

    def handle(self, request: Request) -> Response:
        self.calls.append(f"{request.method} {request.raw_path}")
        return Response(self.status)


@dataclass
class Rig:
    switch: Switch
    url: str | None
    results: queue.Queue[bool] = field(default_factory=queue.Queue)

    def beat(self) -> bool:
        self.heartbeat.beat()
        return self.results.get(timeout=LIMIT)

    def __post_init__(self) -> None:
        self.heartbeat = Heartbeat(lambda: self.url, self.results.put)
        self.heartbeat.start()


@pytest.fixture
def rig() -> Iterator[Rig]:
    switch = Switch()
    with FakeServer(switch.handle) as server:
        made = Rig(switch, f"{server.url}/ping/geheim-77")
        yield made
        made.heartbeat.stop()


def test_each_beat_is_a_call(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    assert [rig.beat(), rig.beat()] == [True, True]
    assert rig.switch.calls == ["GET /ping/geheim-77"] * 2
    assert caplog.messages == []


def test_an_outage_is_said_once_and_so_is_its_end(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    good = rig.url
    rig.switch.status = 503
    assert [rig.beat(), rig.beat()] == [False, False]
    rig.url = "http://127.0.0.1:1/geheim-77"
    assert not rig.beat()
    rig.url = None
    assert not rig.beat()
    rig.url = "ftp://geheim-77"
    assert not rig.beat()
    rig.url, rig.switch.status = good, 200
    assert rig.beat()
    own = [record for record in caplog.records if record.name == "watchdog.heartbeat"]
    assert [record.message for record in own] == [
        "the heartbeat URL cannot be called; trying again after each tick",
        "the heartbeat URL is called again",
    ]
    assert vars(own[0])["reason"] == "it answers 503"
    assert not any("geheim" in str(vars(record)) for record in own)


@pytest.mark.parametrize("url", ["", "hc-ping.com/x", "ftp://host/x", "https://", "http://[", "https://host/a b\n"])
def test_what_is_no_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError, match=r"^WATCHDOG_HEARTBEAT_URL is not a URL that begins with http"):
        checked(url)
