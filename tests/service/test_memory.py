from __future__ import annotations

import gc
import weakref

import pytest

from watchdog.service.memory import COLLECT_EVERY, YOUNG, collect_sometimes, tune_collector


def test_cycles_are_still_collected_but_more_rarely() -> None:
    before = gc.get_threshold()
    try:
        tune_collector()
        assert gc.isenabled()
        assert gc.get_threshold() == (YOUNG, 20, 20)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


class Knot:
    def __init__(self) -> None:
        self.me = self


@pytest.mark.parametrize(
    ("tick", "freed"), [(COLLECT_EVERY - 1, False), (COLLECT_EVERY, True), (COLLECT_EVERY + 1, False)]
)
def test_cycles_are_freed_after_every_so_many_ticks(tick: int, freed: bool) -> None:
    gc.collect()
    gc.disable()
    try:
        gone = weakref.ref(Knot())
        collect_sometimes(tick)
        assert (gone() is None) is freed
    finally:
        gc.enable()
