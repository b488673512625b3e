"""The lease of a store on PostgreSQL: a row that names its holder, and runs out unless it is renewed.

Unlike an advisory lock it ends when its holder stands still, and does not end with one connection. Each
takeover counts ``epoch`` up, and every transaction of the holder proves, by a lock on the row, that holder
and epoch are still its own. So one that was paused and goes on after a takeover writes nothing, and sends
nothing: a try is written down before it is made. Times are those of the database's clock.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Integer,
    MetaData,
    String,
    Table,
    and_,
    func,
    insert,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from watchdog.errors import LeaseLost, StoreError
from watchdog.store import dialect, migrations
from watchdog.store.lease import wait

LEASE_SECONDS = 6.0
"""How long a lease holds without being renewed; it is renewed three times as often."""
_POLL_SECONDS = 0.25
_STATEMENT_SECONDS = 2.0
_RETRY_SECONDS = 0.5
_VERDICT_SECONDS = 1.0
"""How long a thread that wakes from a pause waits to hear whether the lease is still held."""

lease = Table(
    migrations.LEASE_TABLE,
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("holder", String, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("expires_at", DateTime(timezone=True), nullable=False),
)
"""One row. It is no part of the migrations: a standby needs it before it may touch the store."""

_CREATE = f"""CREATE TABLE IF NOT EXISTS {lease.name} (
    id INTEGER NOT NULL PRIMARY KEY, holder VARCHAR NOT NULL, epoch BIGINT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL)"""
_NOW = func.clock_timestamp()  # now() is when the transaction began, maybe before it waited for a lock
_EVICT = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name = :name AND datname = current_database() AND usename = current_user"
)

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""On Linux it goes on while the machine is suspended."""


def _clock() -> float:
    return time.clock_gettime(_CLOCK)


class RowLease:
    """A lease by a row that a thread renews."""

    def __init__(
        self,
        url: str,
        sleep: Callable[[float], None],
        on_lost: Callable[[], None],
        *,
        seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = _clock,
    ) -> None:
        """``on_lost`` is called once, from any thread, when another process has taken over."""
        self.lost = False
        self.holder = f"{socket.gethostname()[:30]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.application = _application(self.holder)
        """How the holder's sessions are named: whoever takes over can end those that stand still."""
        self._url = dialect.parse(url)
        self._engine = dialect.open_engine(self._url, self.application, _STATEMENT_SECONDS)
        self._sleep = sleep
        self._on_lost = on_lost
        self._seconds = seconds
        self._clock = clock
        self._until = 0.0
        self._epoch: int | None = None
        self._made = False
        self._stop = threading.Event()
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None

    def try_acquire(self) -> bool:
        """Return whether the lease is held now, without waiting. Raises StoreError."""
        if self._epoch is not None and not self.lost:
            return True
        began = self._clock()
        with self._explained():
            self._make()
            holder = self._expired()
            epoch = None if holder is None else self._take(holder)
        if epoch is None:
            return False
        self._epoch, self.lost, self._until = epoch, False, began + self._seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, args=(self._stop,), name="lease", daemon=True)
        self._thread.start()
        return True

    def acquire(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds; return whether the lease is held. Raises StoreError."""
        return wait(self.try_acquire, timeout, self._sleep, _POLL_SECONDS)

    def check(self) -> None:
        """Raise LeaseLost if another process has taken over; StoreError while the lease waits to be renewed."""
        if self._epoch is not None and not self._known():
            with self._news:
                self._news.wait_for(self._known, _VERDICT_SECONDS)
        if self.lost or self._epoch is None:
            raise LeaseLost(
                f"another instance has taken over the store {dialect.place_of(self._url)}, after this one was paused "
                f"or cut off for more than {self._seconds:g} s; start it again, and it waits as a standby"
            )
        if not self._known():
            raise StoreError(
                f"the lease on the store {dialect.place_of(self._url)} has run out and could not be renewed yet; "
                "it is tried again"
            )

    def prove(self, connection: Connection) -> None:
        """Lock the row against a takeover until the end of this transaction. Raises LeaseLost, StoreError.

        A key-share lock: it stands in the way of a takeover (``FOR UPDATE``), not of a renewal.
        """
        self.check()
        mine = select(lease.c.epoch).where(self._mine()).with_for_update(read=True, key_share=True)
        if connection.scalar(mine) is None:
            self._lose()
            self.check()

    def release(self) -> None:
        """Give the lease back; harmless when it is not held. One that cannot be given back runs out."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None
        if self._epoch is not None:
            with suppress(StoreError):
                self._write(holder="", expires_at=_NOW)
            self._epoch = None
        self._engine.dispose()

    def _keep(self, stop: threading.Event) -> None:
        """Renew until told to stop, or until the lease is lost; a server that is away is asked again."""
        pause = self._seconds / 3
        while not stop.wait(pause):
            began = self._clock()
            try:
                renewed = self._write(expires_at=_NOW + self._span())
            except StoreError:
                pause = _RETRY_SECONDS
                continue
            if not renewed:
                self._lose()
                return
            pause = self._seconds / 3
            with self._news:
                self._until = began + self._seconds
                self._news.notify_all()

    def _known(self) -> bool:
        return self.lost or self._clock() < self._until

    def _lose(self) -> None:
        with self._news:
            known, self.lost = self.lost, True
            self._news.notify_all()
        if not known:
            self._on_lost()

    def _make(self) -> None:
        if not self._made:
            with self._engine.begin() as connection:
                dialect.alone(connection)
                migrations.check(connection, dialect.place_of(self._url))
                connection.execute(text(_CREATE))
                if connection.scalar(select(lease.c.id)) is None:
                    connection.execute(insert(lease).values(id=1, holder="", epoch=0, expires_at=_NOW))
            self._made = True

    def _expired(self) -> str | None:
        """Return the last holder, if its lease has run out; a look without a lock."""
        with self._engine.begin() as connection:
            return connection.scalar(select(lease.c.holder).where(lease.c.expires_at <= _NOW))

    def _take(self, holder: str) -> int | None:
        """Take the lease, unless it was renewed meanwhile; return the new epoch.

        When a session of the old holder stands in the way, in the middle of a transaction, it is ended: the
        next try will work.
        """
        try:
            with self._engine.begin() as connection:
                connection.execute(text("SET LOCAL lock_timeout = '500ms'"))
                free = select(lease.c.epoch).where(lease.c.expires_at <= _NOW).with_for_update()
                epoch: int | None = connection.scalar(free)
                if epoch is None:
                    return None
                values = {"holder": self.holder, "epoch": epoch + 1, "expires_at": _NOW + self._span()}
                connection.execute(update(lease).values(**values))
                return epoch + 1
        except SQLAlchemyError as error:
            if not dialect.is_locked(error):
                raise
        with self._engine.begin() as connection:
            connection.execute(_EVICT, {"name": _application(holder)})
        return None

    def _write(self, **values: object) -> bool:
        """Change the row if it is still this holder's; return whether it is."""
        with self._explained(), self._engine.begin() as connection:
            return connection.execute(update(lease).where(self._mine()).values(**values)).rowcount == 1

    def _mine(self) -> ColumnElement[bool]:
        """The holder is compared too: a server that failed over may have forgotten an epoch and give it again."""
        return and_(lease.c.holder == self.holder, lease.c.epoch == self._epoch)

    def _span(self) -> ColumnElement[Any]:
        return literal_column(f"interval '{self._seconds} seconds'")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise dialect.explain(error, self._url) from error


def _application(holder: str) -> str:
    return f"{dialect.APPLICATION} {holder}"
