"""Tells when the wall clock was set, and when nothing was judged for a while, by comparing three clocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from watchdog.ports import Clock

JUMP = 5.0
"""Seconds by which the wall clock must be off the others to have been set. What a time service does slowly is less."""
SLEW = 0.001
"""Share of the time between two looks that is allowed beside it: twice the pace at which clocks are slewed."""
MISSED_INTERVALS = 3
"""Intervals without a look after which nothing was judged for too long."""
SHORTEST_GAP = 5.0
"""Seconds; below it a gap is none, however short the interval."""

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""On Linux it goes on while the machine is suspended; elsewhere a suspended machine looks like a clock set forward."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Three clocks read at the same moment; seconds."""

    wall: float
    """Unix seconds; somebody may set it."""
    monotonic: float
    """Stands still while the machine is suspended."""
    boottime: float
    """Goes on while the machine is suspended."""


@dataclass(frozen=True, slots=True)
class Interruption:
    """What happened between two looks; seconds, 0 for what did not happen."""

    set_by: float = 0.0
    """By how much the wall clock was set; negative: back."""
    unwatched: float = 0.0
    """How long nothing was judged."""
    suspended: float = 0.0
    """How much of that the machine was suspended."""


class ClockWatch:
    """Looks at the clocks once before each poll and each evaluation."""

    def __init__(self) -> None:
        self._last: Reading | None = None

    def look(self, now: Reading, interval: float) -> Interruption | None:
        """Return what happened since the last look; None if nothing did. ``interval``: seconds between ticks."""
        before, self._last = self._last, now
        return None if before is None else compare(before, now, interval)


def compare(before: Reading, now: Reading, interval: float) -> Interruption | None:
    """Return what happened between two readings; None if nothing did."""
    passed = now.boottime - before.boottime
    moved = now.wall - before.wall - passed
    was_set = abs(moved) > JUMP + SLEW * passed
    missed = passed > max(MISSED_INTERVALS * interval, SHORTEST_GAP)
    if not was_set and not missed:
        return None
    suspended = passed - (now.monotonic - before.monotonic)
    return Interruption(
        set_by=moved if was_set else 0.0,
        unwatched=passed if missed else 0.0,
        suspended=max(0.0, suspended) if missed else 0.0,
    )


def reader(wall: Clock) -> Callable[[], Reading]:
    """Return what reads the clocks of this machine; ``wall`` is its wall clock."""
    return lambda: Reading(wall(), time.monotonic(), time.clock_gettime(_BOOTTIME))
