"""All that differs between databases, behind one set of functions; ``sqlite`` and ``postgresql`` know the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy.dialects.postgresql
import sqlalchemy.dialects.sqlite
from sqlalchemy import URL, Connection, Engine, Table, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from watchdog.errors import StoreError
from watchdog.store import postgresql, sqlite

APPLICATION = "watchdog"
STATEMENT_SECONDS = 15.0
"""How long PostgreSQL may take for one statement."""
_ALONE = 0x7761746368
"""The key of the advisory lock under which tables are made."""

_INSERT: Mapping[str, Callable[[Table], Any]] = {
    "sqlite": sqlalchemy.dialects.sqlite.insert,
    "postgresql": sqlalchemy.dialects.postgresql.insert,
}
_EXAMPLES = "sqlite:////var/lib/watchdog/watchdog.db or postgresql+psycopg://user:password@host/database"


def parse(url: str) -> URL:
    """Return the parsed store URL. Raises StoreError, without the URL, for one that this version cannot use."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(f"the store is not a URL; write for example {_EXAMPLES}") from None
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername=postgresql.DRIVER)
    if parsed.get_backend_name() != "sqlite" and parsed.drivername != postgresql.DRIVER:
        raise StoreError(f'the store cannot be kept in "{parsed.drivername}"; write for example {_EXAMPLES}')
    if "password" in parsed.query:
        raise StoreError(
            "the store's password is a parameter of its URL, where logs do not hide it; "
            "write it before the @, or name a file with ?passfile="
        )
    return parsed


def on_server(url: URL) -> bool:
    """Whether the store is a database on a server, which several machines can share."""
    return url.get_backend_name() == "postgresql"


def file_of(url: URL) -> Path | None:
    """Return the file of a store; None for one in memory or on a server."""
    return None if on_server(url) else sqlite.file_of(url)


def place_of(url: URL) -> str:
    """Return how errors name the store: its file, or its server and database; never a password."""
    return postgresql.place_of(url) if on_server(url) else sqlite.place_of(url)


def open_engine(url: URL, application: str = APPLICATION, patience: float = STATEMENT_SECONDS) -> Engine:
    """Return an engine; nothing is opened yet. Statements of errors are kept free of data. Raises StoreError."""
    return postgresql.open_engine(url, application, patience) if on_server(url) else sqlite.open_engine(url)


def reading(engine: Engine) -> Engine:
    """Return the same engine for transactions that only read."""
    return postgresql.reading(engine) if on_server(engine.url) else sqlite.reading(engine)


def alone(connection: Connection) -> None:
    """Let no other process make tables until the end of this transaction; on SQLite every writer is alone."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ALONE})


def upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write ``rows``, replacing those with the same primary key."""
    if rows:
        statement = _INSERT[connection.dialect.name](table)
        keys = [column.name for column in table.primary_key]
        changed = {name: statement.excluded[name] for name in rows[0] if name not in keys}
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), list(rows))


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write ``rows``, leaving those alone whose primary key is there already."""
    if rows:
        statement = _INSERT[connection.dialect.name](table)
        keys = [column.name for column in table.primary_key]
        connection.execute(statement.on_conflict_do_nothing(index_elements=keys), list(rows))


def is_locked(error: SQLAlchemyError) -> bool:
    """Whether PostgreSQL gave up waiting for a lock."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) == "55P03"


def explain(error: SQLAlchemyError, url: URL) -> StoreError:
    """Return what a database error means, with its place and remedy."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    known = postgresql.explain(cause, url) if on_server(url) else sqlite.explain(cause, url)
    first = (str(cause).splitlines() or [""])[0]  # further lines of PostgreSQL may hold data
    return known or StoreError(f"store {place_of(url)} failed: {first}; this may be a bug of watchdog")
