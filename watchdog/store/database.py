"""One database: opened and migrated at its first use, one transaction at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from watchdog.store import dialect
from watchdog.store.lease import Lease
from watchdog.store.migrations import migrate


class Database:
    """Hands out transactions; turns every database error into a StoreError with place and remedy.

    Nothing is opened before the first transaction, so that a standby does not migrate the store under the
    instance that holds the lease. Transactions take turns: each is short, and the alternative on SQLite is
    that writers poll for the lock. Each that writes proves that the lease is still held.
    """

    def __init__(self, url: str, lease: Lease) -> None:
        self._url = dialect.parse(url)
        self.place = dialect.place_of(self._url)
        self._lease = lease
        self._engine = dialect.open_engine(self._url, lease.application)
        self._turn = threading.Lock()
        self._ready = False

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Begin a transaction that writes; committed at the end, rolled back if the body raises."""
        with self._turn, self._explained():
            self._prepare()
            with self._begin() as connection:
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a transaction that reads: one consistent picture, no lock on writers of other processes."""
        with self._turn, self._explained():
            self._lease.check()  # what is not known to be the newest state is not acted upon
            self._prepare()
            with dialect.reading(self._engine).begin() as connection:
                yield connection

    def close(self) -> None:
        """Close the connections."""
        with self._turn:
            self._engine.dispose()

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with self._engine.begin() as connection:
            self._lease.prove(connection)
            yield connection

    def _prepare(self) -> None:
        if not self._ready:
            migrate(self._begin, self.place)
            self._ready = True

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise dialect.explain(error, self._url) from error
