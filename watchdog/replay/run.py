"""The replay itself: the service's tick, without service, store and clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from watchdog.engine.engine import Engine, TickResult
from watchdog.replay.arrivals import Arrival

OnTick = Callable[[float, TickResult], None]
"""Called after each tick with its time and what it did."""


def replay(engine: Engine, arrivals: Iterable[Arrival], on_tick: OnTick) -> None:
    """Give the engine what arrives, tick by tick."""
    for now, polls in arrivals:
        on_tick(now, engine.tick(now, polls))
