"""What the URL of a store stands for: its lease, its name in messages, and whether there is one."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from watchdog.store import dialect, migrations
from watchdog.store.lease import FileLease, FreeLease, Lease
from watchdog.store.row_lease import RowLease


def lease_for(url: str, sleep: Callable[[float], None], on_lost: Callable[[], None] = lambda: None) -> Lease:
    """Return the lease of the store at ``url``. Raises StoreError for a URL that cannot be used.

    ``on_lost`` is called once, from any thread, when another process has taken over.
    """
    parsed = dialect.parse(url)
    if dialect.on_server(parsed):
        return RowLease(url, sleep, on_lost)
    file = dialect.file_of(parsed)
    if file is None:
        return FreeLease()
    real = file.resolve()  # two names of one file are one lease
    return FileLease(real.with_name(real.name + ".lock"), sleep)


def store_place(url: str) -> str:
    """Return how messages name a store, never with its password. Raises StoreError for an unusable URL."""
    return dialect.place_of(dialect.parse(url))


def store_exists(url: str) -> bool:
    """Whether there is a store to read; False for one in memory. Makes nothing. Raises StoreError."""
    parsed = dialect.parse(url)
    if not dialect.on_server(parsed):
        file = dialect.file_of(parsed)
        return file is not None and file.exists()
    engine = dialect.open_engine(parsed)
    try:
        with dialect.reading(engine).begin() as connection:
            return migrations.version_of(connection, dialect.place_of(parsed)) > 0
    except SQLAlchemyError as error:
        raise dialect.explain(error, parsed) from error
    finally:
        engine.dispose()
