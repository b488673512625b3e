"""Three clocks compared: what was set, what stood still, and what is neither."""

from __future__ import annotations

import logging
import time

import pytest

from watchdog.service import report
from watchdog.service.clockwatch import ClockWatch, Interruption, Reading, compare, reader
from watchdog.service.metrics import Metrics

START = Reading(1_700_000_000.0, 5000.0, 9000.0)


def later(seconds: float, *, set_by: float = 0.0, suspended: float = 0.0) -> Reading:
    """The clocks after so many seconds."""
    return Reading(START.wall + seconds + set_by, START.monotonic + seconds - suspended, START.boottime + seconds)


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (later(60.0), None),
        (later(60.0, set_by=4.0), None),
        (later(60.0, set_by=10.0), Interruption(set_by=10.0)),
        (later(60.0, set_by=-10.0), Interruption(set_by=-10.0)),
        (later(60.0, set_by=3600.0), Interruption(set_by=3600.0)),
        (later(60.0, set_by=-3600.0), Interruption(set_by=-3600.0)),
        (later(180.0), None),
        (later(181.0), Interruption(unwatched=181.0)),
        (later(7200.0, suspended=7100.0), Interruption(unwatched=7200.0, suspended=7100.0)),
        (later(7200.0, suspended=7100.0, set_by=3600.0), Interruption(3600.0, 7200.0, 7100.0)),
        (later(7200.0, set_by=7.0), Interruption(unwatched=7200.0)),
    ],
)
def test_what_happened_between_two_looks(now: Reading, found: Interruption | None) -> None:
    assert compare(START, now, 60.0) == found


def test_a_slow_correction_is_never_said() -> None:
    """A time service slews by 500 ppm at most: an hour off is corrected in weeks, tick by tick."""
    watch = ClockWatch()
    for minute in range(10_000):
        assert watch.look(later(minute * 60.0, set_by=minute * 0.03), 60.0) is None


def test_the_first_look_has_nothing_to_compare_with() -> None:
    watch = ClockWatch()
    assert watch.look(START, 1.0) is None
    assert watch.look(later(4.9), 1.0) is None
    found = watch.look(later(10.0), 1.0)
    assert found is not None
    assert round(found.unwatched, 6) == 5.1


def test_a_jump_is_said_once() -> None:
    watch = ClockWatch()
    found = [watch.look(later(60.0 * n, set_by=3600.0 * (n >= 2)), 60.0) for n in range(5)]
    assert found == [None, None, Interruption(set_by=3600.0), None, None]


def test_the_real_clocks_agree() -> None:
    read = reader(time.time)
    assert compare(read(), read(), 1.0) is None


def test_what_the_log_and_the_metrics_say(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    for found in (Interruption(3600.0), Interruption(-90.0, 300.0), Interruption(0.0, 7200.0, 7100.0)):
        report.interruption(found)
        metrics.interruption(found)
    assert [record.getMessage() for record in caplog.records] == [
        "the clock was set forward by 1h: data that does not fit it is not judged",
        "the clock was set back by 1m30s: data that does not fit it is not judged",
        "nothing was judged for 5m: watchdog stood still",
        "nothing was judged for 2h: the machine was suspended for 1h58m20s",
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    text = metrics.text().decode()
    assert 'watchdog_clock_jumps_total{direction="forward"} 1.0' in text
    assert 'watchdog_clock_jumps_total{direction="back"} 1.0' in text
    assert "watchdog_unwatched_seconds_total 7500.0" in text
