from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

import pytest

from watchdog.model import Poll, PollRequest
from watchdog.service.poller import Poller


@dataclass
class FakeSource:
    """Answers when told to; counts."""

    name: str
    provider: str = "fake"
    step: float = 60.0
    answer: Poll | Exception | None = None
    gate: threading.Event = field(default_factory=threading.Event)
    polls: list[float] = field(default_factory=list)
    closed: bool = False

    def poll(self, request: PollRequest) -> Poll:
        self.polls.append(request.now)
        assert self.gate.wait(10)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or Poll(source=self.name, started_at=request.now, finished_at=request.now + 1)

    def close(self) -> None:
        self.closed = True
        self.gate.set()


def request(_: str, now: float) -> PollRequest:
    return PollRequest(now=now, watched={}, window=60.0)


def quick(name: str = "a", **more: object) -> FakeSource:
    source = FakeSource(name, **more)  # type: ignore[arg-type]
    source.gate.set()
    return source


def make(*sources: FakeSource, interval: float = 60.0) -> Poller:
    return Poller({source.name: (source, interval) for source in sources}, clock=lambda: 7.0)


def never() -> bool:
    return False


def test_a_source_is_polled_when_it_is_due() -> None:
    source = quick()
    poller = make(source)
    for now in (100.0, 153.9, 154.0):
        poller.start(now, request)
        poller.collect(5.0, never)
    poller.close()
    assert source.polls == [100.0, 154.0], "a tick that comes a little early does not skip a poll"
    assert source.closed


def test_a_slow_source_delays_no_other_and_is_not_polled_twice_at_a_time() -> None:
    slow, fast = FakeSource("slow"), quick("fast")
    poller = make(slow, fast)
    poller.start(0.0, request)
    assert [poll.source for poll in poller.collect(0.2, never)] == ["fast"]
    poller.start(60.0, request)
    assert [poll.source for poll in poller.collect(0.2, never)] == ["fast"]
    slow.gate.set()
    assert [poll.source for poll in poller.collect(5.0, never)] == ["slow"]
    assert (slow.polls, fast.polls) == ([0.0], [0.0, 60.0])
    poller.close()


def test_a_source_that_asks_for_time_gets_it() -> None:
    source = quick(answer=Poll(source="a", started_at=0.0, finished_at=1.0, error="429", retry_after=300.0))
    poller = make(source)
    for now in (0.0, 60.0, 300.9, 301.0):
        poller.start(now, request)
        poller.collect(5.0, never)
    poller.close()
    assert source.polls == [0.0, 301.0]


def test_a_bug_in_a_source_is_a_failed_poll(caplog: pytest.LogCaptureFixture) -> None:
    poller = make(quick(answer=KeyError("x")))
    poller.start(3.0, request)
    with caplog.at_level(logging.ERROR):
        (poll,) = poller.collect(5.0, never)
    poller.close()
    assert (poll.error, poll.up, poll.started_at, poll.finished_at) == ("internal error: KeyError", False, 3.0, 7.0)
    assert "poll failed unexpectedly" in caplog.text


def test_waiting_ends_when_the_service_stops() -> None:
    slow = FakeSource("slow")
    poller = make(slow)
    poller.start(0.0, request)
    assert poller.collect(3600.0, lambda: True) == []
    poller.close()


def test_no_sources_is_no_error() -> None:
    poller = make()
    poller.start(0.0, request)
    assert poller.collect(0.0, never) == []
    poller.close()


def test_a_clock_that_is_set_back_delays_a_poll_by_one_interval_at_most() -> None:
    source = quick()
    poller = make(source)
    for now in (10_000.0, 6_400.0, 6_453.9, 6_454.0):
        poller.start(now, request)
        poller.collect(5.0, never)
    poller.close()
    assert source.polls == [10_000.0, 6_454.0]


def test_a_clock_that_is_set_back_makes_no_wait_longer_than_was_asked() -> None:
    source = quick(answer=Poll(source="a", started_at=0.0, finished_at=10_000.0, error="429", retry_after=300.0))
    poller = make(source)
    for now in (10_000.0, 6_400.0, 6_699.9, 6_700.0):
        poller.start(now, request)
        poller.collect(5.0, never)
    poller.close()
    assert source.polls == [10_000.0, 6_700.0]


def test_a_clock_that_is_set_forward_makes_one_poll() -> None:
    source = quick()
    poller = make(source)
    for now in (0.0, 86_400.0, 86_401.0, 86_453.9, 86_454.0):
        poller.start(now, request)
        poller.collect(5.0, never)
    poller.close()
    assert source.polls == [0.0, 86_400.0, 86_454.0]


def test_a_change_keeps_what_stays_and_closes_what_goes() -> None:
    stays, goes, comes = quick("stays"), quick("goes"), quick("comes")
    poller = make(stays, goes)
    poller.start(0.0, request)
    poller.collect(5.0, never)
    poller.change({"comes": (comes, 60.0), "stays": (stays, 30.0)})
    assert (stays.closed, goes.closed) == (False, True)
    poller.start(1.0, request)
    assert [poll.source for poll in poller.collect(5.0, never)] == ["comes"]
    poller.start(30.0, request)
    assert [poll.source for poll in poller.collect(5.0, never)] == ["stays"], "its interval is another one now"
    poller.close()


def test_what_is_being_read_of_a_source_that_was_replaced_is_not_handed_over() -> None:
    old, new = FakeSource("a"), quick("a")
    poller = make(old)
    poller.start(0.0, request)
    poller.change({"a": (new, 60.0)})
    poller.start(1.0, request)
    assert [poll.started_at for poll in poller.collect(5.0, never)] == [1.0]
    poller.close()
