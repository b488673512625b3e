"""Waiting for the lease, and what becomes of a service that loses it."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from watchdog.bootstrap import Environment, GivenSecrets, Service, held_store, load_rules
from watchdog.bootstrap.standby import wait_for_lease
from watchdog.errors import LeaseLost, SchemaTooNew, StoreError, UsageError
from watchdog.service.health import Health
from watchdog.settings import Settings
from watchdog.simulated.alayanew import KEY, FakeAlaya
from watchdog.simulated.server import FakeServer
from watchdog.simulated.world import World
from watchdog.store import lease_for

RULES = """
[poll]
interval = "1s"
[[sources]]
name = "alaya"
type = "alayanew"
base_url = "URL"
discover = true
[[receivers]]
name = "here"
type = "console"
[[routes]]
receivers = ["here"]
[[rules]]
alert = "Idle"
expr = "gpu_utilization < 0.05"
"""


class Answers:
    """A lease that answers as told; the last answer for ever."""

    application = "watchdog"
    lost = False

    def __init__(self, *answers: bool | StoreError) -> None:
        self._answers = list(answers)

    def try_acquire(self) -> bool:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, StoreError):
            raise answer
        return answer

    def acquire(self, timeout: float) -> bool:
        time.sleep(0.01)
        return self.try_acquire()

    def check(self) -> None:
        raise NotImplementedError

    def prove(self, connection: object) -> None:
        raise NotImplementedError

    def release(self) -> None:
        raise NotImplementedError


@pytest.fixture
def listen() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def answers(url: str) -> tuple[int, dict[str, Any]] | None:
    try:
        answer = httpx.get(url)
    except httpx.TransportError:
        return None
    return answer.status_code, answer.json()


def test_a_lease_that_is_free_is_had_without_a_word(
    stop: threading.Event, listen: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert wait_for_lease(Answers(True), stop, listen, Health())
    assert caplog.messages == []


def test_a_standby_is_alive_and_not_ready_until_it_is_told_to_stop(stop: threading.Event, listen: str) -> None:
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(wait_for_lease(Answers(False), stop, listen, Health())))
    thread.start()
    wait_for(lambda: answers(f"http://{listen}/healthz") is not None)
    assert answers(f"http://{listen}/healthz") == (200, {"status": "ok"})
    ready = answers(f"http://{listen}/readyz")
    assert ready is not None
    assert ready[0] == 503
    assert "standby" in ready[1]["status"]
    stop.set()
    thread.join(10)
    assert done == [False]
    assert answers(f"http://{listen}/healthz") is None


def test_a_store_that_goes_away_meanwhile_is_waited_for(
    stop: threading.Event, listen: str, caplog: pytest.LogCaptureFixture
) -> None:
    stop.wait = lambda timeout=None: False  # type: ignore[method-assign]
    assert wait_for_lease(Answers(False, StoreError("gone"), False, True), stop, listen, Health())
    assert [record.levelno for record in caplog.records if record.name == "watchdog"] == [logging.WARNING] * 3
    assert "the store cannot be asked who holds it; waiting" in caplog.messages


@pytest.mark.parametrize("lease", [Answers(StoreError("no server")), Answers(False, SchemaTooNew("newer"))])
def test_a_store_that_cannot_be_used_is_an_error(stop: threading.Event, listen: str, lease: Answers) -> None:
    with pytest.raises(StoreError, match=r"no server|newer"):
        wait_for_lease(lease, stop, listen, Health())


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/watchdog.db"
        return
    postgres = request.getfixturevalue("postgres")
    name = postgres.new_database()
    yield postgres.url(name)
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_command_does_not_write_beside_a_running_service(url: str) -> None:
    settings = Settings(store=url)
    lease = lease_for(url, time.sleep)
    assert lease.try_acquire()
    with pytest.raises(UsageError, match="a running watchdog holds the store"), held_store(settings):
        pass
    lease.release()
    with held_store(settings) as store:
        assert store.alerts() == ()


def test_a_service_that_loses_its_lease_stops_with_an_error(tmp_path: Path, postgres: Any, listen: str) -> None:
    name = postgres.new_database()
    rules = tmp_path / "rules.toml"
    with FakeServer(FakeAlaya(World([], time.time)).handle) as cloud:
        rules.write_text(RULES.replace("URL", cloud.url), encoding="utf-8")
        settings = Settings(store=postgres.url(name), listen=listen)
        env = Environment(settings, GivenSecrets({"ALAYANEW_API_KEY": KEY}), write=lambda _: None)
        service, failed = Service(load_rules(rules), env), list[Exception]()

        def run() -> None:
            try:
                service.run()
            except LeaseLost as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        wait_for(lambda: (answers(f"http://{listen}/readyz") or (0, {}))[0] == 200)
        postgres.run("UPDATE watchdog_lease SET holder = 'another', epoch = epoch + 1", name)
        thread.join(20)
    assert [str(error)[:43] for error in failed] == ["another instance has taken over the store 1"]
    assert postgres.run("SELECT holder FROM watchdog_lease", name) == [("another",)]
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")
