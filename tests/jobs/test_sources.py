from __future__ import annotations

import pytest

from watchdog.jobs.sources import SourceInfo, Sources
from watchdog.model import Poll

INFO = SourceInfo("b", interval=60.0, step=60.0, stale_after=300.0)


def poll(error: str = "", source: str = "b") -> Poll:
    return Poll(source=source, started_at=100.0, finished_at=102.5, error=error)


def test_a_source_is_not_known_to_be_up_before_its_first_poll() -> None:
    sources = Sources([INFO], now=0.0)
    assert sources.down("b")
    assert sources.any_down()
    state = sources.get("b")
    assert state is not None
    assert state.up is None


def test_a_poll_tells_whether_the_source_is_up() -> None:
    sources = Sources([INFO], now=0.0)
    sources.apply([poll()], 103.0)
    state = sources.get("b")
    assert state is not None
    assert (state.up, state.seconds, state.last_success, sources.down("b")) == (True, 2.5, 103.0, False)
    sources.apply([poll("503")], 163.0)
    state = sources.get("b")
    assert state is not None
    assert (state.up, state.error, state.last_success, sources.down("b")) == (False, "503", 103.0, True)


@pytest.mark.parametrize(("now", "up"), [(399.0, True), (403.0, True), (403.1, False)])
def test_a_source_whose_polls_never_end_is_down(now: float, up: bool) -> None:
    sources = Sources([INFO], now=0.0)
    sources.apply([poll()], 103.0)
    sources.apply([], now)
    state = sources.get("b")
    assert state is not None
    assert state.up is up


def test_a_source_that_is_not_configured_is_neither_up_nor_down() -> None:
    sources = Sources([INFO], now=0.0)
    sources.apply([poll(source="other")], 1.0)
    assert sources.get("other") is None
    assert not sources.down("other")


def test_stale_after_is_the_sources_own_or_the_slowest() -> None:
    sources = Sources([INFO, SourceInfo("slow", 300.0, 300.0, 900.0)], now=0.0)
    assert (sources.stale_after("b"), sources.stale_after("slow"), sources.stale_after(None)) == (300.0, 900.0, 900.0)
    assert Sources([], now=0.0).stale_after(None) == 300.0
    assert [state.info.name for state in sources] == ["b", "slow"]
