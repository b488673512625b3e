from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from watchdog.errors import StoreError
from watchdog.model import Alert, AlertState, Changes, Incident, JobRecord, Notification, Snapshot
from watchdog.store import SqlStore

WEEK = 7 * 86400.0
Make = Callable[..., Alert]


def test_an_empty_store_has_nothing_to_say(store: SqlStore) -> None:
    assert store.load() == Snapshot()
    assert (store.alerts(), store.jobs(), store.incidents()) == ((), (), ())


def test_what_was_committed_is_there_after_a_restart(
    url: str,
    alert: Make,
    job: Callable[..., JobRecord],
    incident: Callable[..., Incident],
    notification: Callable[..., Notification],
) -> None:
    changes = Changes(
        at=10.0,
        jobs=(job("j1"),),
        alerts=(alert("f1", value=0.03), alert("f2", AlertState.PENDING)),
        incidents=(incident("i"),),
        outbox=(notification("n1"),),
        meta={"rules": "abc"},
    )
    with SqlStore(url) as store:
        store.commit(changes)
    with SqlStore(url) as store:
        assert store.load() == Snapshot(changes.jobs, changes.alerts, changes.incidents, {"rules": "abc"}, at=10.0)
        assert [row.notification for row in store.due("slack", 10.0, 9)] == list(changes.outbox)


def test_a_later_commit_replaces_and_forgets(store: SqlStore, alert: Make) -> None:
    store.commit(Changes(at=1.0, alerts=(alert("f1"), alert("f2"), alert("f3")), meta={"a": "1", "b": "1"}))
    store.commit(
        Changes(at=2.0, alerts=(alert("f1", value=9.0),), forgotten_alerts=("f2", "never seen"), meta={"b": "2"})
    )
    snapshot = store.load()
    assert snapshot.alerts == (alert("f1", value=9.0), alert("f3"))
    assert snapshot.meta == {"a": "1", "b": "2"}


def test_an_alert_that_is_forgotten_and_starts_anew_in_one_tick_is_kept(store: SqlStore, alert: Make) -> None:
    store.commit(Changes(at=1.0, alerts=(alert("f1"),)))
    store.commit(Changes(at=2.0, alerts=(alert("f1", value=2.0),), forgotten_alerts=("f1",)))
    assert store.alerts() == (alert("f1", value=2.0),)


def test_a_commit_may_be_repeated(store: SqlStore, alert: Make, notification: Callable[..., Notification]) -> None:
    changes = Changes(at=1.0, alerts=(alert("f1"),), outbox=(notification("n1"), notification("n2")))
    store.commit(changes)
    store.commit(changes)
    assert store.alerts() == (alert("f1"),)
    assert store.outbox_depth() == {"slack": 2}


def test_repeating_a_commit_does_not_send_again(store: SqlStore, notification: Callable[..., Notification]) -> None:
    changes = Changes(at=1.0, outbox=(notification("n1"), notification("n2"), notification("n3")))
    store.commit(changes)
    store.delivered(["n1"], "slack", "i", {"ts": "1"}, 2.0)
    store.postpone(["n2"], 50.0, error="timeout", plain=True, maybe_sent=True)
    store.commit(changes)
    assert store.outbox_depth() == {"slack": 2}
    (row, _) = store.due("slack", 50.0, 9)
    assert (row.notification.id, row.attempts, row.plain, row.maybe_sent) == ("n2", 1, True, True)


def test_a_commit_that_fails_leaves_nothing_behind(
    store: SqlStore, sql: Callable[..., list[Any]], alert: Make, notification: Callable[..., Notification]
) -> None:
    """The outbox is written last: take its table away, and the alert must not be there either."""
    store.load()
    sql("ALTER TABLE outbox RENAME TO gone")
    with pytest.raises(StoreError, match=r"no such table|does not exist") as caught:
        store.commit(Changes(at=1.0, alerts=(alert("f1"),), outbox=(notification("n1"),)))
    assert store._database.place in str(caught.value)
    assert store.alerts() == ()


def test_more_than_a_database_takes_as_parameters_at_once(store: SqlStore, alert: Make) -> None:
    names = tuple(f"f{number}" for number in range(40_000))
    store.commit(Changes(at=1.0, alerts=(alert("f1"),), forgotten_alerts=names))
    store.commit(Changes(at=1.0, forgotten_alerts=names))
    assert store.alerts() == ()


def test_what_no_database_takes_does_not_stop_the_store(
    store: SqlStore, job: Callable[..., JobRecord], notification: Callable[..., Notification]
) -> None:
    store.commit(
        Changes(
            at=1.0, jobs=(job("\ud83d"),), outbox=(notification("n", incident="\ud83d"),), meta={"\udc00": "\udc00"}
        )
    )
    store.commit(Changes(at=1.0, jobs=(job("a\0b"),), outbox=(notification("m", incident="a\0b"),), meta={"\0": "\0"}))
    store.keep_receipt("\ud83d", "slack", {"ts": "\ud83d"})
    assert [record.job.job for record in store.jobs()] == ["?", "a\0b"]
    assert store.load().meta == {"?": "?"}
    assert store.receipt("\ud83d", "slack") == {"ts": "?"}


@pytest.mark.parametrize(("age", "loaded"), [(WEEK - 1, True), (WEEK, True), (WEEK + 1, False)])
def test_what_ended_is_loaded_for_a_week(
    store: SqlStore,
    age: float,
    loaded: bool,
    alert: Make,
    job: Callable[..., JobRecord],
    incident: Callable[..., Incident],
) -> None:
    ended = 2 * WEEK - age
    changes = Changes(
        at=2 * WEEK,
        jobs=(job("j", ended),),
        alerts=(alert("f", AlertState.INACTIVE, resolved_at=ended),),
        incidents=(incident("i", ended),),
    )
    store.commit(changes)
    expected = Snapshot(at=2 * WEEK)
    if loaded:
        expected = Snapshot(changes.jobs, changes.alerts, changes.incidents, at=2 * WEEK)
    assert store.load() == expected
    assert len(store.jobs()) == len(store.alerts()) == len(store.incidents()) == 1


def test_what_goes_on_and_events_are_loaded_however_old(
    store: SqlStore, alert: Make, job: Callable[..., JobRecord], incident: Callable[..., Incident]
) -> None:
    event = alert("f2", AlertState.INACTIVE, resolved_at=1.0, event=True)
    changes = Changes(at=9 * WEEK, jobs=(job("j"),), alerts=(alert("f1"), event), incidents=(incident("i"),))
    store.commit(changes)
    assert store.load() == Snapshot(changes.jobs, changes.alerts, changes.incidents, at=9 * WEEK)


def test_an_alert_that_closed_without_a_time_counts_from_its_commit(store: SqlStore, alert: Make) -> None:
    closed = alert("f", AlertState.INACTIVE)
    store.commit(Changes(at=100.0, alerts=(closed,)))
    store.compact(100.0 + WEEK, WEEK)
    assert store.alerts() == (closed,)
    store.compact(100.5 + WEEK, WEEK)
    assert store.alerts() == ()


def test_the_retention_can_be_chosen(url: str, job: Callable[..., JobRecord]) -> None:
    with SqlStore(url, retention=10.0) as store:
        store.commit(Changes(at=100.0, jobs=(job("old", 89.0), job("new", 90.0))))
        assert store.load().jobs == (job("new", 90.0),)


def test_a_job_is_known_by_its_source_and_id(store: SqlStore, job: Callable[..., JobRecord]) -> None:
    other = replace(job("j"), job=replace(job("j").job, source="alaya"))
    store.commit(Changes(at=1.0, jobs=(job("j"), other)))
    assert store.jobs() == (other, job("j"))


def test_a_store_in_memory_is_one_store_for_all_threads(alert: Make) -> None:
    with SqlStore("sqlite://") as store:
        store.commit(Changes(at=1.0, alerts=(alert("f1"),)))
        assert store.alerts() == (alert("f1"),)
    with SqlStore("sqlite://") as store:
        assert store.alerts() == ()
