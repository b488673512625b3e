import logging

import pytest

from watchdog.bootstrap.running import park_orphans
from watchdog.model import Changes, IncidentView, Notification, Reason
from watchdog.store import SqlStore


def row(number: int, receiver: str) -> Notification:
    view = IncidentView(f"i{number}", "g", (), "firing", "warning", 0.0, None, (), None)
    return Notification(f"{receiver}{number}", f"i{number}", receiver, 1, Reason.FIRST, True, 0.0, (), view)


def test_what_waits_for_a_receiver_that_was_removed_is_given_up_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "watchdog")
    with SqlStore("sqlite://") as store:
        rows = [row(number, "old") for number in range(501)]
        store.commit(Changes(at=1.0, outbox=(*rows, row(1, "here"))))
        store.hold("old", 3000.0)
        store.postpone(["old3"], 1e12, error="503", plain=False, maybe_sent=True)
        park_orphans(store, {"here": object()}, 5.0)
        assert store.outbox_depth() == {"here": 1}
        log = store.delivered_log(999)
        assert {(entry.parked, entry.error, entry.finished_at) for entry in log} == {(True, "receiver removed", 5.0)}
        assert len(log) == 501
        park_orphans(store, {"here": object()}, 6.0)
    [line] = caplog.records
    assert (line.message, line.receiver, line.rows) == ("given up: receiver removed", "old", 501)  # type: ignore[attr-defined]
