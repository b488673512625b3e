"""The lease of a store on a real PostgreSQL: expiry, takeover, and that a holder of old writes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from watchdog.errors import LeaseLost, SchemaTooNew, StoreError
from watchdog.model import Alert, Changes, Notification
from watchdog.store import SqlStore
from watchdog.store.row_lease import RowLease

SHORT = 0.9
"""Seconds of a lease in these tests; renewed every 0.3."""

Sql = Callable[..., list[Any]]

HOLD_IN_A_TRANSACTION = """
import sys, time
from watchdog.store import SqlStore
from watchdog.store.row_lease import RowLease

lease = RowLease(sys.argv[1], time.sleep, lambda: None, seconds=0.9)
assert lease.try_acquire()
with SqlStore(sys.argv[1], lease=lease)._database.write() as connection:
    connection.exec_driver_sql("INSERT INTO meta VALUES ('half', '1')")
    print("writing", flush=True)
    time.sleep(60)
"""


class Rig:
    """Leases on one database; each can be frozen, which is what a paused process is: it does not renew."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.leases: list[RowLease] = []
        self.lost: list[RowLease] = []
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def lease(self, **options: Any) -> RowLease:
        made = RowLease(self.url, time.sleep, lambda: self.lost.append(made), **({"seconds": SHORT} | options))
        self.leases.append(made)
        return made

    def frozen(self) -> RowLease:
        """A lease that is held and not renewed any more, by a process whose clock stands still."""
        lease = self.lease(clock=self.clock)
        assert lease.try_acquire()
        lease._stop.set()
        assert lease._thread is not None
        lease._thread.join()
        return lease


@pytest.fixture
def url(server_url: str) -> str:
    return server_url


@pytest.fixture
def rig(url: str) -> Iterator[Rig]:
    made = Rig(url)
    yield made
    for lease in made.leases:
        lease.release()


def wait_for(condition: Callable[[], object], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_a_lease_that_is_renewed_is_kept(rig: Rig) -> None:
    first, second = rig.lease(), rig.lease()
    assert first.try_acquire()
    assert not second.acquire(3 * SHORT)
    first.check()
    assert not first.lost


def test_a_lease_that_is_not_renewed_is_taken_after_its_time_and_not_before(rig: Rig) -> None:
    rig.frozen()
    second, began = rig.lease(), time.monotonic()
    assert second.acquire(10.0)
    assert SHORT - 0.2 < time.monotonic() - began < SHORT + 1.0


def test_a_lease_that_is_given_back_is_taken_at_once(rig: Rig) -> None:
    first, second = rig.lease(seconds=60.0), rig.lease(seconds=60.0)
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    assert second.try_acquire()


def test_a_holder_of_old_writes_nothing_whatever_it_tries(
    rig: Rig, alert: Callable[..., Alert], notification: Callable[..., Notification]
) -> None:
    """It was paused: its own clock has not moved, so only the database can tell."""
    old, new = rig.frozen(), rig.lease()
    with SqlStore(rig.url, lease=old) as store:
        store.commit(Changes(at=1.0, alerts=(alert("f1"),), outbox=(notification("n1"),)))
        assert new.acquire(10.0)
        tries: list[Callable[[], object]] = [
            lambda: store.commit(Changes(at=2.0, alerts=(alert("f2"),), outbox=(notification("n2"),))),
            lambda: store.trying(["n1"]),
            lambda: store.keep_receipt("i", "slack", {"ts": "1"}),
            lambda: store.delivered(["n1"], "slack", "i", {"ts": "1"}, 2.0),
            lambda: store.postpone(["n1"], 9.0, error="x", plain=True, maybe_sent=True),
            lambda: store.park(["n1"], error="x", now=2.0),
            lambda: store.hold("slack", 9.0),
            lambda: store.compact(1e9, 0.0),
            lambda: store.due("slack", 2.0, 9),  # the loss is known by now
        ]
        for attempt in tries:
            with pytest.raises(LeaseLost, match="another instance has taken over"):
                attempt()
    assert rig.lost == [old]
    with SqlStore(rig.url, lease=new) as store:
        assert store.alerts() == (alert("f1"),)
        (row,) = store.due("slack", 2.0, 9)
        assert (row.notification.id, row.attempts, row.maybe_sent, row.not_before) == ("n1", 0, False, 0.0)
        assert store.receipt("i", "slack") is None
        store.commit(Changes(at=3.0, alerts=(alert("f3"),)))


def test_a_holder_of_old_learns_it_by_renewing(rig: Rig, sql: Sql) -> None:
    first = rig.lease()
    assert first.try_acquire()
    sql("UPDATE watchdog_lease SET holder = 'another', epoch = epoch + 1")
    wait_for(lambda: rig.lost == [first])
    with pytest.raises(LeaseLost):
        first.check()


@pytest.mark.parametrize(
    "change",
    ["UPDATE watchdog_lease SET holder = 'another'", "UPDATE watchdog_lease SET epoch = epoch + 1"],
    ids=["holder", "epoch"],
)
def test_holder_and_epoch_both_count(rig: Rig, sql: Sql, change: str) -> None:
    """A server that failed over may have forgotten an epoch, and then gives it to another holder."""
    first = rig.frozen()
    sql(change)
    with SqlStore(rig.url, lease=first) as store, pytest.raises(LeaseLost):
        store.commit(Changes(at=1.0))


@pytest.mark.parametrize(("passed", "fine"), [(SHORT - 0.01, True), (SHORT, False), (SHORT + 0.01, False)])
def test_nothing_is_read_or_written_once_the_own_clock_says_that_it_ran_out(
    rig: Rig, alert: Callable[..., Alert], passed: float, fine: bool
) -> None:
    """Nobody has taken over yet: it is not lost, and holds again once it is renewed."""
    lease = rig.frozen()
    with SqlStore(rig.url, lease=lease) as store:
        store.load()
        rig.now += passed
        for use in (store.alerts, lambda: store.commit(Changes(at=1.0))):
            if fine:
                use()
            else:
                with pytest.raises(StoreError, match="could not be renewed yet") as caught:
                    use()
                assert not isinstance(caught.value, LeaseLost)
    assert rig.lost == []


def test_a_holder_that_was_away_goes_on_if_nobody_took_over(rig: Rig, alert: Callable[..., Alert], sql: Sql) -> None:
    lease = rig.lease()
    assert lease.try_acquire()
    sql("UPDATE watchdog_lease SET expires_at = clock_timestamp() - interval '1 hour'")
    wait_for(lambda: sql("SELECT expires_at > clock_timestamp() FROM watchdog_lease") == [(True,)])
    with SqlStore(rig.url, lease=lease) as store:
        store.commit(Changes(at=1.0, alerts=(alert("f1"),)))
        assert store.alerts() == (alert("f1"),)
    assert rig.lost == []


def test_a_thread_that_wakes_from_a_pause_waits_for_the_verdict(rig: Rig) -> None:
    """Renewed or lost: either comes at once, and neither is an error of the store."""
    for lost in (False, True):
        lease = rig.frozen()
        rig.now += 2 * SHORT

        def answer(lease: RowLease = lease, lost: bool = lost) -> None:
            time.sleep(0.1)
            if lost:
                lease._lose()
            else:
                with lease._news:
                    lease._until = rig.now + SHORT
                    lease._news.notify_all()

        thread = threading.Thread(target=answer)
        thread.start()
        if lost:
            with pytest.raises(LeaseLost):
                lease.check()
        else:
            lease.check()
        thread.join()
        lease.release()


def test_cut_connections_are_opened_again_and_the_lease_is_kept(
    rig: Rig, alert: Callable[..., Alert], sql: Sql
) -> None:
    lease = rig.lease()
    assert lease.try_acquire()
    with SqlStore(rig.url, lease=lease) as store:
        for number in range(5):
            sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name",
                name=lease.application,
            )
            store.commit(Changes(at=1.0, alerts=(alert(f"f{number}"),)))
            time.sleep(SHORT / 3)
        assert len(store.alerts()) == 5
    assert rig.lost == []
    assert sql("SELECT epoch FROM watchdog_lease") == [(1,)]


def test_a_takeover_waits_for_a_commit_under_way_and_the_next_one_is_refused(
    rig: Rig, sql: Sql, alert: Callable[..., Alert]
) -> None:
    """The holder passed its check, then the lease ran out: the commit is whole or not there, never half."""
    old = rig.frozen()
    with SqlStore(rig.url, lease=old) as store:
        store.load()
        with store._database.write() as connection:
            connection.exec_driver_sql("INSERT INTO meta VALUES ('late', '1')")
            sql("UPDATE watchdog_lease SET expires_at = clock_timestamp() - interval '1 s'")
            seen: list[bool] = []
            waiter = threading.Thread(target=lambda: seen.append(rig.lease()._take("nobody") is not None))
            waiter.start()
            time.sleep(0.2)
            assert seen == []
        waiter.join()
        assert seen == [True]
        with pytest.raises(LeaseLost):
            store.commit(Changes(at=1.0, alerts=(alert("f1"),)))
    assert sql("SELECT value FROM meta WHERE key = 'late'") == [("1",)]


def test_a_renewal_does_not_wait_for_a_long_commit(rig: Rig) -> None:
    lease, second = rig.lease(), rig.lease()
    assert lease.try_acquire()
    with SqlStore(rig.url, lease=lease) as store, store._database.write() as connection:
        connection.exec_driver_sql("INSERT INTO meta VALUES ('long', '1')")
        assert not second.acquire(3 * SHORT)
    assert rig.lost == []


def test_a_process_that_stands_still_within_a_transaction_does_not_hold_up_the_takeover(rig: Rig, sql: Sql) -> None:
    """SIGSTOP while it holds the lock on the row; its session is ended, and its transaction rolled back."""
    command = [sys.executable, "-c", HOLD_IN_A_TRANSACTION, rig.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        try:
            os.kill(process.pid, signal.SIGSTOP)
            began = time.monotonic()
            assert rig.lease().acquire(10.0)
            assert time.monotonic() - began < SHORT + 3.0
        finally:
            process.kill()
    assert sql("SELECT count(*) FROM meta WHERE key = 'half'") == [(0,)]


def test_many_that_ask_at_once_for_a_new_or_an_expired_lease_are_one_holder(rig: Rig, sql: Sql) -> None:
    for _ in range(3):
        leases = [rig.lease(seconds=60.0) for _ in range(5)]
        threads = [threading.Thread(target=lease.try_acquire) for lease in leases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(lease._epoch is not None for lease in leases) == 1
        for lease in leases:
            lease.release()
    assert sql("SELECT epoch, holder FROM watchdog_lease") == [(3, "")]


def test_a_lease_that_was_renewed_after_the_look_is_not_taken(rig: Rig) -> None:
    assert rig.lease(seconds=60.0).try_acquire()
    assert rig.lease()._take("nobody") is None


def test_a_loss_is_told_once(rig: Rig) -> None:
    """The thread that renews and one that writes may find out at the same time."""
    lease = rig.frozen()
    lease._lose()
    lease._lose()
    assert rig.lost == [lease]


def test_a_standby_makes_no_table_of_the_store(rig: Rig, sql: Sql) -> None:
    """It may be of another version than the instance that writes."""
    assert not rig.lease().lost
    assert rig.lease().try_acquire()
    assert sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("watchdog_lease",)]


def test_a_standby_of_an_older_version_is_refused_at_its_start(rig: Rig, sql: Sql) -> None:
    with SqlStore(rig.url) as store:
        store.load()
    sql("UPDATE meta SET value = '99' WHERE key = 'store.schema'")
    with pytest.raises(SchemaTooNew, match="version 99"):
        rig.lease().try_acquire()


def test_the_database_of_another_program_is_left_alone(rig: Rig, sql: Sql) -> None:
    sql("CREATE TABLE songs (id TEXT)")
    with pytest.raises(StoreError, match="another program"):
        rig.lease().try_acquire()
    assert sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(1,)]


def test_a_migration_is_a_write_too(rig: Rig) -> None:
    old = rig.frozen()
    assert rig.lease().acquire(10.0)
    with SqlStore(rig.url, lease=old) as store, pytest.raises(LeaseLost):
        store.load()


def test_a_server_that_is_away_is_asked_again(make_postgres: Callable[[], Any]) -> None:
    """Shorter than the lease: nothing happens. Longer: nothing is written; and the lease is had again."""
    server = make_postgres()
    lost: list[int] = []
    lease = RowLease(server.url(), time.sleep, lambda: lost.append(1), seconds=3.0)
    assert lease.try_acquire()
    with SqlStore(server.url(), lease=lease) as store:
        store.commit(Changes(at=1.0, meta={"a": "1"}))
        server.stop()
        with pytest.raises(StoreError, match=r"cannot be reached|is stopping"):
            store.commit(Changes(at=2.0, meta={"a": "2"}))
        wait_for(lambda: lease._clock() >= lease._until)
        with pytest.raises(StoreError, match="could not be renewed yet"):
            store.load()
        server.start()
        wait_for(lambda: lease._clock() < lease._until)
        store.commit(Changes(at=2.0, meta={"a": "3"}))
        assert store.load().meta == {"a": "3"}
        server.stop()
    lease.release()
    assert lost == []
