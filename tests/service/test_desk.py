"""Questions to the scheduler thread: order, pace, too many, too late, a stop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from watchdog.errors import EvaluationError, TooLate, Unavailable
from watchdog.service import desk as module
from watchdog.service.desk import Desk
from watchdog.service.guard import Guard

NEVER = threading.Event()


class Clock:
    """Monotonic time that passes when a question says so, and when nobody asks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))

    def work(self, seconds: float) -> float:
        self.now += seconds
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_questions_are_answered_in_order_by_the_thread_that_serves(clock: Clock) -> None:
    desk, order = Desk[list[int]](Guard()), list[int]()
    futures = [desk.put(lambda subject, n=n: (subject.append(n), clock.work(0.1), n)[-1]) for n in range(3)]  # type: ignore[misc]
    desk.serve(order, 100.25, NEVER)
    assert (order, [future.result(0) for future in futures]) == ([0, 1, 2], [0, 1, 2])


def test_a_tick_waits_for_one_question_and_not_for_those_behind_it(clock: Clock) -> None:
    """Fifty questions of a tenth of a second, and a tick that is due in one second, then every second."""
    desk = Desk[object](Guard())
    futures = [desk.put(lambda _: clock.work(0.1)) for _ in range(50)]
    for tick in range(1, 5):
        desk.serve(object(), 100.0 + tick, NEVER)
        assert 100.0 + tick <= clock.now < 100.1001 + tick
        assert sum(future.done() for future in futures) == round((clock.now - 100.0) * 10)
    desk.close()
    answers = [future.exception(0) for future in futures]
    assert sum(isinstance(error, Unavailable) for error in answers) == 50 - round((clock.now - 100.0) * 10)


def test_it_stops_at_once_when_told(clock: Clock) -> None:
    desk, stop = Desk[object](Guard()), threading.Event()
    first: Future[None] = desk.put(lambda _: stop.set())
    second = desk.put(lambda _: None)
    desk.serve(object(), 999.0, stop)
    assert (first.done(), second.done()) == (True, False)
    desk.close()
    with pytest.raises(Unavailable, match="stopping"):
        second.result(0)
    with pytest.raises(Unavailable, match="stopping"):
        desk.put(lambda _: None)


def test_too_many_questions_are_turned_away(clock: Clock) -> None:
    desk = Desk[object](Guard(), most=2)
    desk.put(lambda _: None)
    last = desk.put(lambda _: clock.work(1.0))
    with pytest.raises(Unavailable, match="too many"):
        desk.put(lambda _: None)
    desk.serve(object(), 100.5, NEVER)
    assert last.result(0) == 101.0
    desk.put(lambda _: None)


def test_errors_meant_for_users_reach_who_asked(clock: Clock) -> None:
    desk, guard = Desk[object](Guard()), Guard()

    def fail(_: object) -> None:
        clock.work(1.0)
        raise EvaluationError("many-to-many")

    future = desk.put(fail)
    desk.serve(object(), 100.5, NEVER)
    with pytest.raises(EvaluationError, match="many-to-many"):
        future.result(0)
    assert guard.failures == {}


def test_a_mistake_in_a_question_is_logged_and_hurts_no_other(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard()
    desk = Desk[object](guard)
    wrong, right = desk.put(lambda _: 1 / 0), desk.put(lambda _: clock.work(1.0))
    with caplog.at_level(logging.ERROR):
        desk.serve(object(), 100.5, NEVER)
    with pytest.raises(Unavailable, match="the log"):
        wrong.result(0)
    assert right.result(0) == 101.0
    assert guard.failures == {"question": 1}
    assert "ZeroDivisionError" in caplog.text


def test_who_waits_too_long_is_told_and_the_question_is_dropped(clock: Clock) -> None:
    desk, asked = Desk[object](Guard()), list[int]()
    with pytest.raises(TooLate, match="not ready in time"):
        asyncio.run(desk.ask(lambda _: asked.append(1), 0.01))
    desk.put(lambda _: clock.work(1.0))
    desk.serve(object(), 100.5, NEVER)
    assert asked == []


def test_an_answer_crosses_threads() -> None:
    desk, stop = Desk[int](Guard()), threading.Event()
    thread = threading.Thread(target=desk.serve, args=(41, time.monotonic() + 30, stop))
    thread.start()
    try:
        assert asyncio.run(desk.ask(lambda subject: subject + 1, 10)) == 42
    finally:
        stop.set()
        thread.join(5)
    assert not thread.is_alive()


def test_it_waits_no_longer_than_until_the_next_tick(clock: Clock) -> None:
    desk = Desk[object](Guard())
    desk.serve(object(), 100.0, NEVER)
    desk.serve(object(), 99.0, NEVER)
    assert clock.now == 100.0
