from __future__ import annotations

import socket
import time

import httpx
import pytest

from watchdog.errors import UsageError
from watchdog.service.health import Health
from watchdog.service.http import HttpServer, make_app, parse_listen


def get(health: Health, path: str, period: float = 60.0) -> httpx.Response:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = HttpServer(make_app(health, lambda: period), f"127.0.0.1:{port}")
    server.start()
    try:
        transport = httpx.HTTPTransport(retries=20)
        with httpx.Client(transport=transport, base_url=f"http://127.0.0.1:{port}") as client:
            return client.get(path)
    finally:
        server.stop()


def test_before_the_first_tick_it_is_alive_but_not_ready() -> None:
    health = Health()
    assert get(health, "/healthz").status_code == 200
    ready = get(health, "/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "no evaluation yet")


def test_after_a_tick_it_is_ready_and_says_how_things_stand() -> None:
    health = Health(last_tick=time.monotonic(), jobs=3, firing=1, sources_down=("b",))
    ready = get(health, "/readyz")
    assert ready.status_code == 200
    assert ready.json() == {"status": "ready", "jobs": 3, "firing": 1, "sources_down": ["b"]}


@pytest.mark.parametrize(("age", "status"), [(295.0, 200), (305.0, 503)])
def test_a_loop_that_is_stuck_is_not_healthy(age: float, status: int) -> None:
    assert get(Health(last_tick=time.monotonic() - age), "/healthz").status_code == status


def test_a_store_that_takes_no_writes_is_not_ready_but_alive() -> None:
    health = Health(last_tick=time.monotonic(), last_commit_failed="disk full")
    assert get(health, "/readyz").json()["status"] == "disk full"
    assert get(health, "/healthz").status_code == 200


@pytest.mark.parametrize(
    ("text", "expected"),
    [("127.0.0.1:9469", ("127.0.0.1", 9469)), ("[::1]:80", ("::1", 80)), ("0.0.0.0:0", ("0.0.0.0", 0))],
)
def test_listen(text: str, expected: tuple[str, int]) -> None:
    assert parse_listen(text) == expected


@pytest.mark.parametrize("text", ["9469", ":9469", "host:", "host:http", "host:65536"])
def test_a_wrong_listen_address_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="is not host:port"):
        parse_listen(text)
