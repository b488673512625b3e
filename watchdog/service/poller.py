"""Polls sources side by side in a bounded pool; no source is polled twice at a time, none delays another."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from watchdog.model import Poll, PollRequest
from watchdog.ports import Clock, Source

log = logging.getLogger("watchdog.poll")

_SLICE = 0.1
"""Seconds between looks at whether to stop."""
_EARLY = 0.1
"""Share of an interval by which a poll may be early: a tick that comes a millisecond too soon must not skip it."""


@dataclass(slots=True)
class _Turn:
    source: Source
    interval: float
    due: float = -math.inf
    not_before: float = -math.inf
    """What the source asked for: kept to the second."""
    wait: float = 0.0
    """Seconds from then to ``not_before``."""
    running: Future[Poll] | None = None
    started_at: float = 0.0


class Poller:
    """Starts polls when they are due and hands over those that are done."""

    def __init__(self, sources: Mapping[str, tuple[Source, float]], clock: Clock, workers: int = 8) -> None:
        self._turns: dict[str, _Turn] = {}
        self._clock = clock
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="poll")
        self.change(sources)

    def change(self, sources: Mapping[str, tuple[Source, float]]) -> None:
        """Poll these from now on, with these intervals. What is being read of one that goes is not handed over."""
        before, self._turns = self._turns, {}
        for name, (source, interval) in sources.items():
            turn = before.get(name)
            if turn is not None and turn.source is source:
                turn.interval = interval
                self._turns[name] = before.pop(name)
            else:
                self._turns[name] = _Turn(source, interval)
        for turn in before.values():
            turn.source.close()

    def start(self, now: float, request: Callable[[str, float], PollRequest]) -> None:
        """Begin a poll of every source that is due and not being polled."""
        for name, turn in self._turns.items():
            # No wait grows longer than it was asked to be when the clock is set back.
            turn.due = min(turn.due, now + turn.interval)
            turn.not_before = min(turn.not_before, now + turn.wait)
            due = max(turn.due - _EARLY * turn.interval, turn.not_before)
            if turn.running is None and now >= due:
                turn.started_at = now
                turn.due = now + turn.interval
                turn.running = self._pool.submit(turn.source.poll, request(name, now))

    def collect(self, patience: float, stopped: Callable[[], bool]) -> list[Poll]:
        """Return polls that are done, after waiting at most ``patience`` real seconds for those under way.

        Stops waiting as soon as ``stopped`` says so.
        """
        running = [turn.running for turn in self._turns.values() if turn.running is not None]
        while running and patience > 0 and not stopped():
            running = list(wait(running, timeout=min(_SLICE, patience)).not_done)
            patience -= _SLICE
        return [self._finish(name, turn) for name, turn in self._turns.items() if turn.running and turn.running.done()]

    def close(self) -> None:
        """Stop polling; a poll under way is left to its own deadline."""
        for turn in self._turns.values():
            turn.source.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _finish(self, name: str, turn: _Turn) -> Poll:
        future, turn.running = turn.running, None
        assert future is not None  # noqa: S101  # collect() asks only for turns that run
        error = future.exception()
        if error is not None:
            log.error("poll failed unexpectedly", exc_info=error, extra={"source": name})
            text = f"internal error: {type(error).__name__}"
            return Poll(source=name, started_at=turn.started_at, finished_at=self._clock(), error=text)
        poll = future.result()
        if poll.retry_after is not None:
            turn.wait = poll.retry_after
            turn.not_before = poll.finished_at + turn.wait
        return poll
