from __future__ import annotations

import gc

from watchdog.service.memory import YOUNG, tune_collector


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
