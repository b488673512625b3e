"""How far long work has come: one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

_EVERY = 0.2
"""Seconds between two lines."""
_WIDTH = 30


class Progress:
    """Draws a bar while there is something to wait for. Nothing is printed unless ``stream`` is a terminal."""

    def __init__(self, stream: TextIO, label: str, seconds: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._label = label
        self._seconds = seconds
        self._shows = stream.isatty()
        self._began = self._last = seconds()
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Draw, if it is time to."""
        if not self._shows or (now := self._seconds()) - self._last < _EVERY:
            return
        self._last = now
        full = _WIDTH * done // total
        left = (now - self._began) / done * (total - done)
        bar = "#" * full + "." * (_WIDTH - full)
        self._stream.write(f"\r{self._label} [{bar}] {done:,} of {total:,} ticks, {left:.0f} s left\x1b[K")
        self._stream.flush()
        self._drawn = True

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
