from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from watchdog.errors import LeaseLost, StoreError
from watchdog.model import Alert, Changes
from watchdog.store import SqlStore, lease_for
from watchdog.store.lease import FileLease

HOLD = """
import sys, time
from watchdog.store import lease_for
assert lease_for(sys.argv[1], time.sleep).try_acquire()
print("held", flush=True)
time.sleep(60)
"""


def never(_: float) -> None:
    raise AssertionError("it waited")


def test_one_holds_it_and_the_other_does_not(url: str) -> None:
    first, second = lease_for(url, time.sleep), lease_for(url, time.sleep)
    assert first.try_acquire()
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    assert second.try_acquire()
    assert not first.try_acquire()
    for lease in (first, second, second):
        lease.release()


def test_the_store_and_its_lock_are_apart(file_url: str, file: Path) -> None:
    lease = lease_for(file_url, time.sleep)
    lease.try_acquire()
    lease.release()
    assert [found.name for found in file.parent.iterdir()] == ["watchdog.db.lock"]


def test_two_names_of_one_file_are_one_lease(file_url: str, file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(file)
    first, second = lease_for(file_url, time.sleep), lease_for(f"sqlite:///{link}", time.sleep)
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()


def test_a_free_lease_is_had_without_waiting(file: Path) -> None:
    lease = FileLease(file, never)
    assert lease.acquire(5.0)
    lease.release()


@pytest.mark.parametrize("patience", [0.0, 0.05, 1.0])
def test_waiting_ends_in_time(file: Path, patience: float) -> None:
    holder, slept = FileLease(file, time.sleep), list[float]()
    holder.try_acquire()
    assert not FileLease(file, slept.append).acquire(patience)
    assert patience - 0.001 < sum(slept) < patience + 0.1
    holder.release()


def test_a_lease_that_becomes_free_is_taken_while_waiting(file: Path) -> None:
    holder, slept = FileLease(file, time.sleep), list[float]()
    holder.try_acquire()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            holder.release()

    lease = FileLease(file, sleep)
    assert lease.acquire(60.0)
    assert len(slept) == 2
    lease.release()


def test_the_lease_ends_with_a_process_that_is_killed(url: str) -> None:
    lease = lease_for(url, time.sleep)
    with subprocess.Popen([sys.executable, "-c", HOLD, url], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert not lease.try_acquire()
        os.kill(process.pid, signal.SIGKILL)
    assert lease.acquire(10.0)
    lease.release()


def test_a_thread_that_comes_late_writes_nothing(url: str, alert: Callable[..., Alert]) -> None:
    """The service has given the lease back; another may hold it by now."""
    lease = lease_for(url, time.sleep)
    lease.try_acquire()
    with SqlStore(url, lease=lease) as store:
        store.commit(Changes(at=1.0, alerts=(alert("f1"),)))
        lease.release()
        with pytest.raises(LeaseLost):
            store.commit(Changes(at=2.0, alerts=(alert("f2"),)))
    with SqlStore(url) as store:
        assert store.alerts() == (alert("f1"),)


def test_a_store_in_memory_needs_no_lease() -> None:
    lease = lease_for("sqlite://", time.sleep)
    assert lease.try_acquire()
    assert lease.acquire(0.0)
    lease.release()


@pytest.mark.parametrize("make", [lambda folder: None, lambda folder: folder.write_text("")])
def test_a_lock_that_cannot_be_made_is_said_with_its_place(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "folder")
    lease = lease_for(f"sqlite:///{tmp_path}/folder/watchdog.db", time.sleep)
    with pytest.raises(StoreError, match="writable") as caught:
        lease.try_acquire()
    assert f"{tmp_path}/folder/watchdog.db.lock" in str(caught.value)


def test_a_url_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(StoreError, match="mysql"):
        lease_for("mysql://host/watchdog", time.sleep)
