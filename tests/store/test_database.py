"""What one process cannot show of itself: threads at once, and death at the worst moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from watchdog.model import Alert, Changes, Notification
from watchdog.store import SqlStore

COMMIT_FOR_EVER = """
import sys
from watchdog.model import *
from watchdog.store import SqlStore

store = SqlStore(sys.argv[1])
start = len(store.load().alerts)
view = IncidentView("i", "{}:{}", (), "firing", "warning", 1.0, None, (), None)
for number in range(start, 10**9):
    alert = Alert("Rule", f"f{number:06}", (), (), AlertState.FIRING, float(number))
    row = Notification(f"n{number:06}", "i", "slack", number, Reason.FIRST, True, float(number), (), view)
    store.commit(Changes(at=float(number), alerts=(alert,), outbox=(row,)))
    print(number, flush=True)
    if number % 3 == 0:
        store.delivered([row.id], "slack", "i", {"ts": str(number)}, float(number))
        print(-number, flush=True)
"""

FILL_THE_DISK = """
import json, resource, sys
from watchdog.errors import StoreError
from watchdog.model import *
from watchdog.store import SqlStore

store = SqlStore(sys.argv[1])
store.commit(Changes(at=1.0, meta={"before": "1"}))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, hard))
alerts = tuple(Alert("Rule", f"f{number}", (), (), AlertState.FIRING, 1.0) for number in range(2000))
changes = Changes(at=2.0, alerts=alerts, meta={"after": "1"})
try:
    store.commit(changes)
    error = ""
except StoreError as caught:
    error = str(caught)
full = (len(store.alerts()), dict(store.load().meta))
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
store.commit(changes)
print(json.dumps([error, full, len(store.alerts()), dict(store.load().meta)]))
"""


def run_and_kill(url: str, lines: int) -> list[int]:
    """Run the writer, kill it (-9) after so many lines, and return all that it said was committed."""
    command = [sys.executable, "-c", COMMIT_FOR_EVER, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        os.kill(process.pid, signal.SIGKILL)
        said += process.stdout.read().splitlines(keepends=True)
    return [int(line) for line in said if line.endswith("\n")]


def test_kill_9_between_and_within_commits_loses_nothing(url: str) -> None:
    committed: set[int] = set()
    marked: set[int] = set()
    for lines in (1, 7, 40):
        for number in run_and_kill(url, lines):
            (committed if number >= 0 else marked).add(abs(number))
        with SqlStore(url) as store:
            alerts = {int(alert.active_at) for alert in store.load().alerts}
            waiting = {int(row.notification.id[1:]) for row in store.due("slack", 0.0, 10**6)}
            delivered = {int(entry.id[1:]) for entry in store.delivered_log(10**6)}
        assert committed <= alerts
        assert waiting | delivered == alerts, "an alert and its message are one transaction"
        assert not waiting & delivered
        assert marked - {0} <= delivered
        assert max(alerts) - max(committed) <= 1


def test_a_full_disk_is_said_and_the_same_changes_are_written_later(file_url: str, file: Path) -> None:
    """A real limit of the operating system on the size of files, in a process of its own."""
    answer = subprocess.run([sys.executable, "-c", FILL_THE_DISK, file_url], capture_output=True, text=True, check=True)
    error, while_full, count, meta = json.loads(answer.stdout)
    assert str(file) in error
    assert "make room" in error
    assert while_full == [0, {"before": "1"}]
    assert count == 2000
    assert meta == {"before": "1", "after": "1"}


def test_the_scheduler_commits_while_senders_deliver(
    store: SqlStore, alert: Callable[..., Alert], notification: Callable[..., Notification]
) -> None:
    """An error in a thread fails the test by pytest's own warning."""
    rounds, finished = 60, threading.Event()

    def commit() -> None:
        for number in range(rounds):
            rows = (notification(f"a{number}", "a"), notification(f"b{number}", "b", "pager"))
            store.commit(Changes(at=float(number), alerts=(alert(f"f{number}"),), outbox=rows))
        finished.set()

    def deliver(receiver: str, incident: str) -> None:
        while not finished.is_set() or store.outbox_depth().get(receiver):
            for row in store.due(receiver, 0.0, 5):
                store.trying([row.notification.id])
                store.delivered([row.notification.id], receiver, incident, {"ts": row.notification.id}, 1.0)

    threads = [threading.Thread(target=commit)]
    threads += [threading.Thread(target=deliver, args=args) for args in (("slack", "a"), ("pager", "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.alerts()) == rounds
    sent = sorted((entry.receiver, int(entry.id[1:])) for entry in store.delivered_log(999))
    assert sent == [(receiver, number) for receiver in ("pager", "slack") for number in range(rounds)]
    assert store.receipt("a", "slack") == {"ts": f"a{rounds - 1}"}


def test_two_processes_may_use_one_store(url: str, alert: Callable[..., Alert]) -> None:
    """The service and a command beside it."""
    with SqlStore(url) as service, SqlStore(url) as command:
        service.commit(Changes(at=1.0, alerts=(alert("f1"),)))
        assert command.alerts() == (alert("f1"),)
        service.commit(Changes(at=2.0, alerts=(alert("f2"),)))
        assert command.alerts() == (alert("f1"), alert("f2"))


def test_a_transaction_whose_body_fails_is_rolled_back_and_the_next_one_works(
    store: SqlStore, alert: Callable[..., Alert]
) -> None:
    def fail() -> None:
        with store._database.write() as connection:
            connection.exec_driver_sql("INSERT INTO meta VALUES ('half', '1')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    store.commit(Changes(at=1.0, alerts=(alert("f1"),)))
    assert store.load().meta == {}
