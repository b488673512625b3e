"""Questions of other threads to the scheduler thread, which owns history, alerts and incidents.

The loop serves them while it waits between ticks, one after the other, so nothing needs a lock. A question
should be short: a tick that is due waits for the one under way. Long work is asked in pieces.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from watchdog.errors import TooLate, Unavailable, WatchdogError
from watchdog.service.guard import Guard

T = TypeVar("T")
Subject = TypeVar("Subject")
"""What questions are put to: the engine."""

MOST_WAITING = 256
"""Questions that may wait at a time."""
LISTEN_SECONDS = 0.2
"""How long ``serve`` waits for a question before it looks whether to stop."""


class Desk(Generic[Subject]):
    """Takes questions from any thread; ``serve`` answers them in the thread that calls it."""

    def __init__(self, guard: Guard, most: int = MOST_WAITING) -> None:
        self._guard = guard
        self._waiting: queue.Queue[Callable[[Subject | None], None]] = queue.Queue(most)
        self._lock = threading.Lock()
        self._closed = False

    async def ask(self, question: Callable[[Subject], T], timeout: float) -> T:
        """Return the answer, or raise the WatchdogError that the question raises.

        Raises Unavailable when too many questions wait, when the service stops, and for a mistake in the
        question's code (it is in the log); TooLate after ``timeout`` seconds.
        """
        future = self.put(question)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout)
        except TimeoutError:
            raise TooLate("the answer was not ready in time; ask for less, or give it more time") from None

    def put(self, question: Callable[[Subject], T]) -> Future[T]:
        """Leave a question. Raises Unavailable when too many wait or the service stops."""
        future: Future[T] = Future()

        def answer(subject: Subject | None) -> None:
            if not future.set_running_or_notify_cancel():
                return
            if subject is None:
                future.set_exception(Unavailable("the service is stopping"))
            elif not self._guard("question", lambda: _answer(future, question, subject)):
                future.set_exception(Unavailable("the question failed; the log of the service says how"))

        with self._lock:
            if self._closed:
                raise Unavailable("the service is stopping")
            try:
                self._waiting.put_nowait(answer)
            except queue.Full:
                raise Unavailable("too many questions are waiting; ask again in a moment") from None
        return future

    def serve(self, subject: Subject, until: float, stop: threading.Event) -> None:
        """Answer questions until this time (monotonic seconds) or until ``stop`` is set."""
        while not stop.is_set() and (left := until - time.monotonic()) > 0:
            try:
                answer = self._waiting.get(timeout=min(left, LISTEN_SECONDS))
            except queue.Empty:
                continue
            answer(subject)

    def close(self) -> None:
        """Take no more questions, and tell those who wait that there will be no answer."""
        with self._lock:
            self._closed = True
        while not self._waiting.empty():
            self._waiting.get_nowait()(None)


def _answer(future: Future[T], question: Callable[[Subject], T], subject: Subject) -> None:
    try:
        future.set_result(question(subject))
    except WatchdogError as error:
        future.set_exception(error)
