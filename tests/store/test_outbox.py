from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from watchdog.model import Changes, Notification, Pending
from watchdog.store import LogEntry, SqlStore

Make = Callable[..., Notification]


def ids(rows: Sequence[Pending]) -> list[str]:
    return [row.notification.id for row in rows]


@pytest.fixture
def filled(store: SqlStore, notification: Make) -> SqlStore:
    """a1 b1 a2 of one commit, then a3; and one row of another receiver."""
    store.commit(
        Changes(
            at=1.0,
            outbox=(
                notification("a1", "a"),
                notification("b1", "b"),
                notification("a2", "a"),
                notification("p1", "a", "pager"),
            ),
        )
    )
    store.commit(Changes(at=2.0, outbox=(notification("a3", "a", created_at=2.0),)))
    return store


def fail(store: SqlStore, row: str, not_before: float, *, maybe_sent: bool = False) -> None:
    store.postpone([row], not_before, error="503", plain=False, maybe_sent=maybe_sent)


def test_rows_come_in_the_order_of_their_commits(filled: SqlStore) -> None:
    assert ids(filled.due("slack", 2.0, 9)) == ["a1", "b1", "a2", "a3"]
    assert ids(filled.due("pager", 2.0, 9)) == ["p1"]
    assert filled.due("nobody", 2.0, 9) == ()


def test_a_clock_that_was_set_back_does_not_change_the_order(filled: SqlStore, notification: Make) -> None:
    filled.commit(Changes(at=0.5, outbox=(notification("a4", "a", created_at=0.5),)))
    assert ids(filled.due("slack", 2.0, 9)) == ["a1", "b1", "a2", "a3", "a4"]


def test_the_limit_takes_the_oldest(filled: SqlStore) -> None:
    assert ids(filled.due("slack", 2.0, 2)) == ["a1", "b1"]


@pytest.mark.parametrize(
    ("now", "due"), [(9.9, ["b1"]), (10.0, ["a1", "b1", "a2", "a3"]), (10.1, ["a1", "b1", "a2", "a3"])]
)
def test_rows_behind_one_that_waits_are_not_due_and_other_incidents_are(
    filled: SqlStore, now: float, due: list[str]
) -> None:
    fail(filled, "a1", 10.0)
    assert ids(filled.due("slack", now, 9)) == due
    assert ids(filled.due("pager", now, 9)) == ["p1"]


def test_rows_before_one_that_waits_are_due(filled: SqlStore) -> None:
    fail(filled, "a2", 10.0)
    assert ids(filled.due("slack", 5.0, 9)) == ["a1", "b1"]


@pytest.mark.parametrize("end", ["delivered", "parked"])
def test_a_finished_row_blocks_nothing(filled: SqlStore, end: str) -> None:
    fail(filled, "a1", 10.0)
    if end == "delivered":
        filled.delivered(["a1"], "slack", "a", {}, 5.0)
    else:
        filled.park(["a1"], error="invalid_blocks", now=5.0)
    assert ids(filled.due("slack", 5.0, 9)) == ["b1", "a2", "a3"]


def test_a_failed_try_is_counted_and_remembered(filled: SqlStore) -> None:
    filled.postpone(["a1", "a2"], 3.0, error="timeout", plain=True, maybe_sent=True)
    filled.postpone(["a1"], 4.0, error="503", plain=True, maybe_sent=False)
    row, _, second, third = filled.due("slack", 4.0, 9)
    assert (row.attempts, row.not_before, row.plain, row.maybe_sent) == (2, 4.0, True, False)
    assert (second.attempts, second.not_before, second.plain, second.maybe_sent) == (1, 3.0, True, True)
    assert (third.attempts, third.not_before, third.plain, third.maybe_sent) == (0, 0.0, False, False)


def test_a_try_that_begins_may_have_been_sent(filled: SqlStore) -> None:
    filled.trying(["a1"])
    row, other, *_ = filled.due("slack", 2.0, 9)
    assert (row.maybe_sent, row.attempts, other.maybe_sent) == (True, 0, False)


@pytest.mark.parametrize(("now", "due"), [(29.9, 0), (30.0, 4), (30.1, 4)])
def test_a_receiver_that_asked_for_silence_has_nothing_due(filled: SqlStore, now: float, due: int) -> None:
    filled.hold("slack", 60.0)
    filled.hold("slack", 30.0)
    assert len(filled.due("slack", now, 9)) == due
    assert ids(filled.due("pager", now, 9)) == ["p1"]


def test_a_receipt_is_kept_at_once_and_replaced_at_the_next_delivery(filled: SqlStore) -> None:
    assert filled.receipt("a", "slack") is None
    filled.keep_receipt("a", "slack", {"ts": "1"})
    assert filled.receipt("a", "slack") == {"ts": "1"}
    filled.delivered(["a1", "a2"], "slack", "a", {"ts": "1", "told": "2"}, 5.0)
    filled.keep_receipt("a", "pager", {})
    assert filled.receipt("a", "slack") == {"ts": "1", "told": "2"}
    assert filled.receipt("a", "pager") == {}
    assert filled.receipt("b", "slack") is None
    assert ids(filled.due("slack", 5.0, 9)) == ["b1", "a3"]


def test_what_is_finished_stays_finished(filled: SqlStore) -> None:
    """A late answer of a thread that was given up must not wake or rewrite a row."""
    filled.delivered(["a1"], "slack", "a", {}, 5.0)
    filled.park(["a1"], error="late", now=6.0)
    fail(filled, "a1", 7.0)
    filled.delivered(["a1"], "slack", "a", {}, 8.0)
    filled.trying(["a1"])
    assert filled.delivered_log(9) == (LogEntry("a1", "slack", "a", 1.0, 5.0, 1, parked=False, error=""),)


def test_the_log_tells_what_became_of_each_newest_first(filled: SqlStore) -> None:
    fail(filled, "a1", 3.0)
    filled.delivered(["a1", "a2"], "slack", "a", {}, 5.0)
    filled.park(["b1"], error="invalid_blocks", now=6.0)
    parked, second, first = filled.delivered_log(9)
    assert parked == LogEntry("b1", "slack", "b", 1.0, 6.0, 1, parked=True, error="invalid_blocks")
    assert (second.id, second.attempts) == ("a2", 1)
    assert first == LogEntry("a1", "slack", "a", 1.0, 5.0, 2, parked=False, error="")
    assert filled.delivered_log(1) == (parked,)


def test_depth_and_age_of_what_waits(filled: SqlStore) -> None:
    assert filled.outbox_depth() == {"slack": 4, "pager": 1}
    assert [row for row in filled.waiting() if row[0] == "slack"] == [("slack", 4, 1.0)]
    filled.delivered(["a1", "b1", "a2"], "slack", "a", {}, 5.0)
    filled.park(["p1"], error="x", now=5.0)
    assert filled.outbox_depth() == {"slack": 1}
    assert filled.waiting() == [("slack", 1, 2.0)]
    filled.delivered(["a3"], "slack", "a", {}, 5.0)
    assert filled.outbox_depth() == {}
    assert filled.waiting() == []


def test_the_newest_receipt_of_a_receiver(filled: SqlStore) -> None:
    assert filled.recent_receipt("slack") is None
    filled.keep_receipt("b", "slack", {"ts": "b"})
    assert filled.recent_receipt("slack") == {"ts": "b"}, "better than none, though its delivery is not complete"
    filled.delivered(["a1"], "slack", "a", {"ts": "a"}, 5.0)
    filled.keep_receipt("c", "slack", {"ts": "c"})
    assert filled.recent_receipt("slack") == {"ts": "a"}
    filled.delivered(["b1"], "slack", "b", {"ts": "b2"}, 6.0)
    filled.delivered(["p1"], "pager", "a", {"ts": "p"}, 7.0)
    assert filled.recent_receipt("slack") == {"ts": "b2"}


@pytest.mark.parametrize(("until", "free_at"), [(3599.0, 3599.0), (3600.0, 3600.0), (3601.0, 3600.0), (1e12, 3600.0)])
def test_no_silence_is_longer_than_an_hour_from_when_it_is_seen(filled: SqlStore, until: float, free_at: float) -> None:
    filled.hold("slack", until)
    assert filled.due("slack", 0.0, 9) == ()
    assert filled.due("slack", free_at - 0.1, 9) == ()
    assert len(filled.due("slack", free_at, 9)) == 4
