"""How often Python looks for garbage in cycles.

A tick makes hundreds of thousands of small objects that all go away by reference counting; a collector that
walks through them every 700 allocations costs a third of the tick and finds nothing.
"""

from __future__ import annotations

import gc

YOUNG = 200_000
"""Allocations between two looks at the youngest objects."""
COLLECT_EVERY = 50
"""Ticks between two looks at all objects: HTTP and SQL libraries leave some hundred in cycles at each tick."""


def tune_collector() -> None:
    """Leave what lives as long as the process alone, and look at new objects more rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)


def collect_sometimes(tick: int) -> None:
    """Free what is only held by cycles, after every so many ticks."""
    if tick % COLLECT_EVERY == 0:
        gc.collect()
