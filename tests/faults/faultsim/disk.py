"""The store under faults: a real SQLite file whose disk fills, whose lock is held, and whose power fails.

SQLite's documentation: in WAL mode a commit is on the disk when it returns only with ``synchronous=FULL``; with less,
a power failure takes every commit since the last checkpoint. That is what ``lose_power`` does to the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from faultsim.clock import Pulse
from faultsim.dice import Dice
from watchdog.errors import StoreError
from watchdog.store import SqlStore
from watchdog.store.database import Database
from watchdog.store.lease import FreeLease

_FULL = 2
"""SQLite's number for ``synchronous=FULL``."""


class Disk:
    """What survives the process: the file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "watchdog.db"
        self.wal = folder / "watchdog.db-wal"
        self._durable: int | None = None
        """Bytes of the log that were synced before the first commit that was not; None: all of it."""

    @property
    def url(self) -> str:
        """The store's URL."""
        return f"sqlite:///{self.file}"

    def before_commit(self, synchronous: int) -> None:
        """Note whether what is about to be committed will be synced."""
        if synchronous < _FULL and self._durable is None:
            self._durable = self.wal.stat().st_size if self.wal.exists() else 0

    def die(self, close: Callable[[], None]) -> None:
        """Leave the files as a process that dies with the power of its machine leaves them.

        ``close`` gives the connections back; the tidying up that SQLite does then is undone.
        """
        data, log = (file.read_bytes() if file.exists() else b"" for file in (self.file, self.wal))
        close()
        self.file.write_bytes(data)
        self.wal.write_bytes(log if self._durable is None else log[: self._durable])
        self._durable = None


class SimDatabase(Database):
    """Transactions that may fail as those on a real disk do."""

    def __init__(self, disk: Disk, dice: Dice, pulse: Pulse, on_commit: Callable[[], None]) -> None:
        super().__init__(disk.url, FreeLease())
        self._disk, self._dice = disk, dice
        self._pulse = pulse
        self._on_commit = on_commit

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Begin a transaction that writes."""
        self._pulse.check()
        fault = self._dice.first("locked", "full", "crash before commit", "commit unsure", "crash after commit")
        if fault == "locked":
            raise StoreError("store is locked by another program; close that program")
        with super().write() as connection:
            yield connection
            self._pulse.check()
            if fault == "crash before commit":
                self._pulse.crash()
            if fault == "full":
                raise StoreError("store cannot grow, the disk is full; make room")
            (synchronous,) = connection.exec_driver_sql("PRAGMA synchronous").one()
            self._disk.before_commit(synchronous)
        self._on_commit()
        if fault == "crash after commit":
            self._pulse.crash()
        if fault == "commit unsure":
            raise StoreError("store failed: the connection was lost while it committed")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a transaction that reads."""
        self._pulse.check()
        with super().read() as connection:
            yield connection


def open_store(disk: Disk, dice: Dice, pulse: Pulse, on_commit: Callable[[], None]) -> SqlStore:
    """Return the store of one life of the process."""
    store = SqlStore(disk.url)
    store.close()
    store._database = SimDatabase(disk, dice, pulse, on_commit)
    return store
