"""A store that takes no writes for a while: what is kept, what is said, what is told in the end."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from watchdog.errors import LeaseLost, StoreError
from watchdog.model import Changes, IncidentView, Notification, Reason, Snapshot
from watchdog.service.health import Health
from watchdog.service.saving import REMIND_SECONDS, Saving

FULL = StoreError("store /data/watchdog.db cannot grow, the disk is full; make room")
VIEW = IncidentView("i", "{}:{}", (), "firing", "warning", 1.0, None, (), None)


class Store:
    """Takes changes, or raises what the test says."""

    def __init__(self) -> None:
        self.error: StoreError | None = None
        self.taken: list[Changes] = []

    def commit(self, changes: Changes) -> None:
        if self.error is not None:
            raise self.error
        self.taken.append(changes)

    def load(self) -> Snapshot:
        return Snapshot()

    def close(self) -> None:
        pass


class Rig:
    def __init__(self) -> None:
        self.store, self.health, self.now = Store(), Health(), 0.0
        self.woken: list[Sequence[str]] = []
        self.saving = Saving(self.store, self.woken.append, self.health, lambda: self.now)

    def save(self, at: float, *receivers: str) -> None:
        self.saving.save(changes(at, *receivers))


def changes(at: float, *receivers: str) -> Changes:
    rows = [Notification(f"{r}{at}", "i", r, 1, Reason.FIRST, True, at, (), VIEW) for r in receivers]
    return Changes(at, outbox=tuple(rows), meta={"at": str(at)})


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_an_outage_is_said_at_its_begin_and_its_end_and_what_was_kept_is_written_as_one(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.store.error = FULL
    for at in range(5):
        rig.now = at * 60.0
        rig.save(float(at), *(["slack", "pager"] if at == 1 else ["slack"] if at == 3 else []))
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert vars(caplog.records[0])["error"] == str(FULL)
    assert rig.woken == []
    assert rig.health == Health(last_commit_failed=str(FULL), failed_commits=5, unwritten=3, unwritten_since=1.0)
    rig.store.error, rig.now = None, 301.0
    rig.save(5.0)
    assert rig.woken == [["pager", "slack"]]
    assert [row.id for row in rig.store.taken[0].outbox] == ["slack1.0", "pager1.0", "slack3.0"]
    assert (rig.store.taken[0].meta, len(rig.store.taken)) == ({"at": "5.0"}, 1)
    end = vars(caplog.records[-1])
    assert (end["levelno"], end["after_seconds"], end["messages_written"]) == (logging.WARNING, 301, 3)
    assert rig.health == Health(failed_commits=5)


def test_a_long_outage_is_repeated_every_ten_minutes(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.store.error = FULL
    for minute in range(31):
        rig.now = minute * 60.0
        rig.save(rig.now, "slack")
    repeated = [vars(record) for record in caplog.records[1:]]
    assert REMIND_SECONDS == 600.0
    assert [entry["minutes"] for entry in repeated] == [10, 20, 30]
    assert [entry["messages_kept"] for entry in repeated] == [11, 21, 31]


def test_each_outage_is_said(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    for at, error in enumerate((FULL, None, FULL, None)):
        rig.store.error = error
        rig.save(float(at))
    assert len(caplog.records) == 4
    assert rig.health.failed_commits == 2


def test_nothing_is_written_while_nothing_changes(rig: Rig) -> None:
    rig.saving.save(Changes(1.0))
    assert rig.store.taken == []
    assert rig.woken == []


def test_a_lost_lease_goes_through(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.store.error = LeaseLost("another instance has taken over the store")
    with pytest.raises(LeaseLost):
        rig.save(1.0, "slack")
    assert caplog.records == []


def test_what_is_wanted_at_once_is_written_with_what_was_kept_or_not_at_all(rig: Rig) -> None:
    rig.store.error = FULL
    rig.save(1.0, "slack")
    with pytest.raises(StoreError, match="make room"):
        rig.saving.at_once(changes(2.0, "refused"))
    rig.store.error = None
    rig.saving.at_once(changes(3.0, "pager"))
    assert [row.receiver for row in rig.store.taken[0].outbox] == ["slack", "pager"]
    rig.save(4.0)
    assert [len(taken.outbox) for taken in rig.store.taken] == [2, 0]
    assert rig.health.last_commit_failed == ""
