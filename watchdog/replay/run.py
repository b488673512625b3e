"""The replay itself: the service's tick, without service, store and clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from watchdog.engine.engine import Engine, TickResult
from watchdog.replay.arrivals import Arrival


def replay(engine: Engine, arrivals: Iterable[Arrival]) -> Iterator[tuple[float, TickResult]]:
    """Give the engine what arrives, tick by tick; yield each tick's time and what it did."""
    for now, polls in arrivals:
        yield now, engine.tick(now, polls)
