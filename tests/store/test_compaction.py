from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from watchdog.model import Alert, AlertState, Changes, Incident, JobRecord, Notification
from watchdog.store import SqlStore

NOW, KEEP = 1000.0, 100.0
BOUNDARY = pytest.mark.parametrize(("ended", "kept"), [(899.0, False), (900.0, True), (901.0, True)])


@BOUNDARY
def test_what_is_over_goes_after_the_retention(
    store: SqlStore,
    ended: float,
    kept: bool,
    alert: Callable[..., Alert],
    job: Callable[..., JobRecord],
    incident: Callable[..., Incident],
    notification: Callable[..., Notification],
) -> None:
    store.commit(
        Changes(
            at=1.0,
            jobs=(job("j", ended),),
            alerts=(alert("f", AlertState.INACTIVE, resolved_at=ended),),
            incidents=(incident("i", ended),),
            outbox=(notification("n"), notification("m")),
        )
    )
    store.delivered(["n"], "slack", "i", {"ts": "1"}, ended)
    store.park(["m"], error="x", now=ended)
    store.compact(NOW, KEEP)
    left = (store.jobs(), store.alerts(), store.incidents(), store.delivered_log(9))
    assert [len(rows) for rows in left] == ([1, 1, 1, 2] if kept else [0, 0, 0, 0])
    assert store.receipt("i", "slack") == ({"ts": "1"} if kept else None)


def test_what_goes_on_stays_however_old(
    store: SqlStore,
    alert: Callable[..., Alert],
    job: Callable[..., JobRecord],
    incident: Callable[..., Incident],
    notification: Callable[..., Notification],
) -> None:
    store.commit(
        Changes(
            at=1.0,
            jobs=(job("j"),),
            alerts=(alert("f"), alert("p", AlertState.PENDING)),
            incidents=(incident("i"),),
            outbox=(notification("n"),),
        )
    )
    store.delivered(["n"], "slack", "i", {"ts": "1"}, 2.0)
    store.compact(NOW, KEEP)
    assert len(store.jobs()) == 1
    assert len(store.alerts()) == 2
    assert len(store.incidents()) == 1
    assert store.receipt("i", "slack") == {"ts": "1"}


def test_nothing_undelivered_goes_nor_what_its_delivery_needs(
    store: SqlStore, incident: Callable[..., Incident], notification: Callable[..., Notification]
) -> None:
    store.commit(Changes(at=1.0, incidents=(incident("i", 2.0),), outbox=(notification("n1"), notification("n2"))))
    store.delivered(["n1"], "slack", "i", {"ts": "1"}, 2.0)
    store.postpone(["n2"], 3.0, error="503", plain=False, maybe_sent=False)
    store.compact(NOW, KEEP)
    assert store.outbox_depth() == {"slack": 1}
    assert store.receipt("i", "slack") == {"ts": "1"}
    assert store.incidents() == (incident("i", 2.0),)


def test_receipts_of_each_receiver_are_judged_alone(store: SqlStore, notification: Callable[..., Notification]) -> None:
    """Without their incident: of an old store, or of an incident that was collected."""
    store.commit(Changes(at=1.0, outbox=(notification("n", receiver="pager"),)))
    store.delivered([], "slack", "i", {"of": "slack"}, 899.0)
    store.delivered([], "pager", "i", {"of": "pager"}, 899.0)
    store.delivered([], "new", "i", {"of": "new"}, 900.0)
    store.keep_receipt("i", "half", {"of": "half"})
    store.compact(NOW, KEEP)
    found = {name: store.receipt("i", name) for name in ("slack", "pager", "new", "half")}
    assert found == {"slack": None, "pager": {"of": "pager"}, "new": {"of": "new"}, "half": None}


@BOUNDARY
def test_silences_and_holds_go_too(store: SqlStore, sql: Callable[..., list[Any]], ended: float, kept: bool) -> None:
    store.hold("slack", ended)
    sql("INSERT INTO silences VALUES ('s', '[]', 1.0, :ended, NULL, 'me', '', 1.0)", ended=ended)
    store.compact(NOW, KEEP)
    silences, holds = sql("SELECT count(*) FROM silences"), sql("SELECT count(*) FROM receivers")
    assert silences == holds == [(int(kept),)]
