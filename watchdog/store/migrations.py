"""The schema's versions: numbered steps, each in a transaction of its own, the number kept in ``meta``.

A step is never changed once released; a new one is added to the end. Steps are written in SQL that both
SQLite and PostgreSQL read, and not with the tables of ``schema``, which move on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from sqlalchemy import Connection, delete, insert, inspect, select, text

from watchdog.errors import SchemaTooNew, StoreError
from watchdog.store import dialect
from watchdog.store.schema import meta

Begin = Callable[[], AbstractContextManager[Connection]]
Migration = Callable[[Connection], None]

VERSION_KEY = "store.schema"
LEASE_TABLE = "watchdog_lease"
"""Made by the lease of a store on PostgreSQL, which comes before the store."""

_FIRST = (
    "CREATE TABLE meta (key VARCHAR NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE jobs (
        source VARCHAR NOT NULL, job VARCHAR NOT NULL, status VARCHAR NOT NULL, ended_at DOUBLE PRECISION,
        body TEXT NOT NULL, PRIMARY KEY (source, job))""",
    "CREATE INDEX jobs_ended ON jobs (ended_at)",
    """CREATE TABLE alerts (
        fingerprint VARCHAR NOT NULL PRIMARY KEY, rule VARCHAR NOT NULL, state VARCHAR NOT NULL,
        event BOOLEAN NOT NULL, closed_at DOUBLE PRECISION, body TEXT NOT NULL)""",
    "CREATE INDEX alerts_closed ON alerts (closed_at)",
    """CREATE TABLE incidents (
        id VARCHAR NOT NULL PRIMARY KEY, group_key VARCHAR NOT NULL, opened_at DOUBLE PRECISION NOT NULL,
        closed_at DOUBLE PRECISION, body TEXT NOT NULL)""",
    "CREATE INDEX incidents_closed ON incidents (closed_at)",
    """CREATE TABLE outbox (
        id VARCHAR NOT NULL PRIMARY KEY, seq BIGINT NOT NULL UNIQUE, receiver VARCHAR NOT NULL,
        incident VARCHAR NOT NULL, created_at DOUBLE PRECISION NOT NULL, state VARCHAR NOT NULL,
        not_before DOUBLE PRECISION NOT NULL, attempts INTEGER NOT NULL, plain BOOLEAN NOT NULL,
        maybe_sent BOOLEAN NOT NULL, error TEXT NOT NULL, finished_at DOUBLE PRECISION, body TEXT NOT NULL)""",
    "CREATE INDEX outbox_queue ON outbox (state, receiver, incident, seq)",
    "CREATE INDEX outbox_finished ON outbox (finished_at)",
    """CREATE TABLE deliveries (
        incident VARCHAR NOT NULL, receiver VARCHAR NOT NULL, updated_at DOUBLE PRECISION, body TEXT NOT NULL,
        PRIMARY KEY (incident, receiver))""",
    "CREATE TABLE receivers (name VARCHAR NOT NULL PRIMARY KEY, held_until DOUBLE PRECISION NOT NULL)",
    """CREATE TABLE silences (
        id VARCHAR NOT NULL PRIMARY KEY, matchers TEXT NOT NULL, starts_at DOUBLE PRECISION NOT NULL,
        ends_at DOUBLE PRECISION NOT NULL, until_job_ends TEXT, created_by VARCHAR NOT NULL, comment TEXT NOT NULL,
        updated_at DOUBLE PRECISION NOT NULL)""",
    "CREATE INDEX silences_ends ON silences (ends_at)",
)


def _first(connection: Connection) -> None:
    for statement in _FIRST:
        connection.execute(text(statement))


MIGRATIONS: tuple[Migration, ...] = (_first,)
"""Step n brings version n - 1 to version n."""


def migrate(begin: Begin, place: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the store to the newest version. ``place`` names it in errors.

    Raises SchemaTooNew for a store of a later version, StoreError for the database of another program.
    """
    with begin() as connection:
        version = check(connection, place, migrations)
    for number, step in enumerate(migrations[version:], start=version + 1):
        with begin() as connection:
            dialect.alone(connection)
            if version_of(connection, place) < number:  # else another process was faster
                step(connection)
                connection.execute(delete(meta).where(meta.c.key == VERSION_KEY))
                connection.execute(insert(meta).values(key=VERSION_KEY, value=str(number)))


def check(connection: Connection, place: str, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Return the schema version. Raises SchemaTooNew or StoreError for a store that this version cannot use."""
    version = version_of(connection, place)
    if version > len(migrations):
        raise SchemaTooNew(
            f"store {place} has schema version {version}, written by a newer watchdog; this one knows up to version "
            f"{len(migrations)}; run that newer version, or name another store in WATCHDOG_STORE"
        )
    return version


def version_of(connection: Connection, place: str) -> int:
    """Return the schema version; 0 for an empty database. Raises StoreError for one that is not watchdog's."""
    names = {*inspect(connection).get_table_names()} - {LEASE_TABLE}
    if not names:
        return 0
    found: str | None = None
    if meta.name in names and {column["name"] for column in inspect(connection).get_columns(meta.name)} == {
        *meta.c.keys()
    }:
        found = connection.scalar(select(meta.c.value).where(meta.c.key == VERSION_KEY))
    if found is None or not found.isdigit():
        raise StoreError(f"store {place} is the database of another program; name another one in WATCHDOG_STORE")
    return int(found)
