"""One database: opened and migrated at its first use, one transaction at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from watchdog.store import dialect
from watchdog.store.migrations import migrate


class Database:
    """Hands out transactions; turns every database error into a StoreError with place and remedy.

    Nothing is opened before the first transaction, so that a standby does not migrate the store under the
    instance that holds the lease. Transactions take turns: each is short, and the alternative on SQLite is
    that writers poll for the lock.
    """

    def __init__(self, url: str) -> None:
        self._url = dialect.parse(url)
        self._engine = dialect.open_engine(self._url)
        self._turn = threading.Lock()
        self._ready = False

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Begin a transaction that writes; committed at the end, rolled back if the body raises."""
        with self._turn, self._explained():
            self._prepare()
            with self._engine.begin() as connection:
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a transaction that reads: one consistent picture, no lock on writers of other processes."""
        with self._turn, self._explained():
            self._prepare()
            with self._engine.execution_options(**{dialect.READ_ONLY: True}).begin() as connection:
                yield connection

    def close(self) -> None:
        """Close the connections."""
        with self._turn:
            self._engine.dispose()

    def _prepare(self) -> None:
        if not self._ready:
            migrate(self._engine.begin, dialect.place_of(self._url))
            self._ready = True

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise dialect.explain(error, self._url) from error
