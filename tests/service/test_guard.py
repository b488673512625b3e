from __future__ import annotations

import logging

import pytest

from watchdog.errors import LeaseLost, StoreError
from watchdog.service.guard import Guard


def test_a_job_that_raises_is_logged_counted_and_survived(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard()

    def fail() -> None:
        raise ZeroDivisionError("boom")

    with caplog.at_level(logging.ERROR):
        assert not guard("tick", fail)
        assert not guard("tick", fail)
    assert guard.failures == {"tick": 2}
    assert caplog.records[0].exc_info is not None
    assert "job failed" in caplog.text


def test_a_job_that_ends_well_is_not_counted() -> None:
    guard, done = Guard(), []
    assert guard("tick", lambda: done.append(1))
    assert (done, guard.failures) == ([1], {})


def test_a_stop_goes_through() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        Guard()("tick", leave)


def test_a_lost_lease_is_no_bug(caplog: pytest.LogCaptureFixture) -> None:
    """The service is about to stop, and says why."""
    guard = Guard()

    def lost() -> None:
        raise LeaseLost("another instance has taken over")

    assert not guard("deliver to slack", lost)
    assert guard.count() == 0
    assert [record.exc_info for record in caplog.records] == [None]


def test_a_store_that_fails_is_said_once_for_each_job_and_is_no_bug(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard()
    full = True

    def write() -> None:
        if full:
            raise StoreError("the disk is full; make room")

    with caplog.at_level(logging.INFO):
        assert [guard(name, write) for name in ("a", "a", "b", "a")] == [False] * 4
        full = False
        assert [guard(name, write) for name in ("a", "a")] == [True, True]
    said = [(vars(record)["job_name"], record.levelname, record.exc_info) for record in caplog.records]
    assert said == [("a", "ERROR", None), ("b", "ERROR", None), ("a", "INFO", None)]
    assert vars(caplog.records[0])["error"] == "the disk is full; make room"
    assert guard.count() == 0
