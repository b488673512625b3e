"""Keeps calls below a provider's rate limit, over all threads."""

from __future__ import annotations

import threading

from watchdog.ports import Clock


class RateLimiter:
    """A token bucket of ``burst`` tokens that fills by ``rate`` a second. Thread-safe.

    In any second at most ``rate + burst`` calls are let through. Kept as one number, the time at which
    the bucket is full again, so that waiting callers get places one after the other.
    """

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        self._gap = 1.0 / rate
        self._slack = (burst - 1) / rate
        self._clock = clock
        self._lock = threading.Lock()
        self._full_at = 0.0
        self._seen = 0.0

    def reserve(self, latest: float) -> float | None:
        """Take a place and return the seconds to wait for it; None (and no place) if it is after ``latest``."""
        with self._lock:
            now = self._now()
            wait = max(0.0, self._full_at - now - self._slack)
            if now + wait > latest:
                return None
            self._full_at = max(self._full_at, now) + self._gap
            return wait

    def hold(self, seconds: float) -> None:
        """Let nobody through for this long: the provider said so."""
        with self._lock:
            self._full_at = max(self._full_at, self._now() + seconds + self._slack)

    def _now(self) -> float:
        now = self._clock()
        if now < self._seen:  # the clock was set back: do not wait for it to catch up
            self._full_at -= self._seen - now
        self._seen = now
        return now
