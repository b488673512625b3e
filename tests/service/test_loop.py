"""The loop: ticks, commits that fail, a stop, ticks that are missed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from watchdog.engine.engine import Engine, TickResult
from watchdog.engine.program import program_of
from watchdog.errors import StoreError
from watchdog.jobs.sources import SourceInfo
from watchdog.model import Changes, Job, JobReading, JobStatus, Poll, PollRequest, Snapshot
from watchdog.rules.model import Route, Rule, Ruleset
from watchdog.service.guard import Guard
from watchdog.service.loop import Loop, Maintenance
from watchdog.service.poller import Poller

FAILED = Rule(name="JobFailed", expr='job_status{status="failed"} == 1', place="r:1", event=True, summary="failed")


@dataclass
class Source:
    """One job, whose status the test sets."""

    name: str = "cloud"
    provider: str = "fake"
    step: float = 60.0
    status: JobStatus = JobStatus.RUNNING
    error: str = ""

    def poll(self, request: PollRequest) -> Poll:
        job = Job(source="cloud", provider="fake", job="j1", status=self.status)
        readings = () if self.error else (JobReading(job),)
        return Poll("cloud", request.now, request.now + 0.5, readings, error=self.error)

    def close(self) -> None:
        pass


@dataclass
class Store:
    """Takes changes, or fails as often as told."""

    failures: int = 0
    taken: list[Changes] = field(default_factory=list)

    def commit(self, changes: Changes) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is full; make room")
        self.taken.append(changes)

    def load(self) -> Snapshot:
        return Snapshot()

    def close(self) -> None:
        pass


class Service:
    def __init__(self, period: float = 60.0) -> None:
        self.now = 1000.0
        self.source, self.store, self.woken = Source(), Store(), list[str]()
        ruleset = Ruleset(60.0, (), (), (Route(("slack",)),), (FAILED,), "x")
        made = program_of(ruleset, [SourceInfo("cloud", 60.0, 60.0, 300.0)])
        program = replace(made, terms=replace(made.terms, send_resolved={"slack": True}))
        self.loop = Loop(
            engine=Engine(program, Snapshot(), self.now),
            poller=Poller({"cloud": (self.source, 60.0)}, lambda: self.now),
            store=self.store,
            clock=lambda: self.now,
            guard=Guard(),
            period=period,
            wake=self.woken.extend,
        )

    def tick(self) -> None:
        self.loop.tick()
        self.now += 60.0


@pytest.fixture
def service() -> Service:
    return Service()


def test_a_tick_commits_and_wakes_who_has_something_to_say(service: Service) -> None:
    service.tick()
    assert (len(service.store.taken), service.woken) == (1, [])
    service.source.status = JobStatus.FAILED
    service.tick()
    assert service.woken == ["slack"]
    assert [row.receiver for row in service.store.taken[-1].outbox] == ["slack"]
    assert service.loop.health.jobs == 0
    assert service.loop.health.last_tick is not None


def test_what_cannot_be_written_is_written_later_in_order_and_told_only_then(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.tick()
    service.store.failures = 2
    service.source.status = JobStatus.FAILED
    service.tick()
    assert service.woken == []
    assert "disk is full" in service.loop.health.last_commit_failed
    service.tick()
    assert service.woken == []
    service.tick()
    assert service.woken == ["slack"]
    assert service.loop.health.last_commit_failed == ""
    assert sum(len(changes.outbox) for changes in service.store.taken) == 1
    times = [changes.at for changes in service.store.taken]
    assert times == sorted(times)
    assert "cannot be written" in caplog.text


def test_nothing_is_written_while_nothing_changes(service: Service) -> None:
    service.tick()
    before = len(service.store.taken)
    service.tick()
    assert len(service.store.taken) == before


def test_a_source_that_is_down_is_logged_and_counted(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.source.error = "503"
    with caplog.at_level(logging.INFO, "watchdog"):
        service.tick()
    assert service.loop.health.sources_down == ("cloud",)
    assert "source cannot be read" in caplog.text


def run_until(loop: Loop, condition: Callable[[], bool]) -> None:
    thread = threading.Thread(target=loop.run)
    thread.start()
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        loop.stop.wait(0.005)
    loop.stop.set()
    thread.join(5)
    assert not thread.is_alive()
    assert condition()


def test_it_ticks_until_it_is_told_to_stop_and_stops_at_once() -> None:
    service, results = Service(period=0.02), list[TickResult]()
    service.loop.on_tick = results.append
    run_until(service.loop, lambda: len(results) >= 3)


def test_a_tick_that_fails_does_not_end_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    service, calls = Service(period=0.02), list[int]()

    def fail(_: TickResult) -> None:
        calls.append(1)
        raise ZeroDivisionError

    service.loop.on_tick = fail
    run_until(service.loop, lambda: len(calls) >= 2)
    assert service.loop.guard.failures["tick"] >= 2


def test_ticks_that_come_late_are_counted_not_made_up_for(caplog: pytest.LogCaptureFixture) -> None:
    service, times = Service(period=0.05), list[float]()

    def dawdle(_: TickResult) -> None:
        times.append(time.monotonic())
        if len(times) == 1:
            threading.Event().wait(0.28)

    service.loop.on_tick = dawdle
    run_until(service.loop, lambda: len(times) >= 3)
    assert service.loop.health.missed_ticks >= 4
    assert "ticks were missed" in caplog.text


def test_slow_jobs_run_beside_the_ticks() -> None:
    service, done = Service(period=0.05), list[int]()
    service.loop.maintenance = [Maintenance("compact", 1, lambda: done.append(1))]
    run_until(service.loop, lambda: len(done) >= 1)
