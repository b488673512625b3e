"""SQLite: how a file is opened, what a transaction begins with, what its errors mean."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from watchdog.errors import StoreError

BUSY_SECONDS = 10.0
"""How long a writer waits for another process (a command, a backup) to end its transaction."""
_TRIES = 50
"""How often to wait for others who open the same new file."""
_READ_ONLY = "watchdog_read_only"
_OPENED = "watchdog_opened"

_REMEDY: Mapping[str, str] = {
    "SQLITE_READONLY": "is read-only for this user; make the file and its folder writable",
    "SQLITE_PERM": "may not be accessed by this user; make the file and its folder writable",
    "SQLITE_FULL": "cannot grow, the disk is full; make room",
    "SQLITE_IOERR": "cannot be read or written, the disk is full or failing; check the disk and make room",
    "SQLITE_NOTADB": "is not a database; move the file away, or name another one in WATCHDOG_STORE",
    "SQLITE_CORRUPT": "is damaged; restore a backup, or move the file away: alerts that still hold will be said again",
    "SQLITE_BUSY": "is locked by another program; close that program",
    "SQLITE_LOCKED": "is locked by another program; close that program",
}


def file_of(url: URL) -> Path | None:
    """Return the file of a store; None for one in memory."""
    return None if url.database in (None, "", ":memory:") else Path(str(url.database))


def place_of(url: URL) -> str:
    """Return how errors name the store."""
    file = file_of(url)
    return "in memory" if file is None else str(file)


def open_engine(url: URL) -> Engine:
    """Return an engine; nothing is opened yet."""
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}}
    if file_of(url) is None:
        options["poolclass"] = StaticPool  # every thread sees the one database
    engine = create_engine(url, hide_parameters=True, **options)
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def reading(engine: Engine) -> Engine:
    """Return the same engine for transactions that only read."""
    return engine.execution_options(**{_READ_ONLY: True})


def _set_up(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
    """Let watchdog begin transactions itself (DDL included), and sync every commit to the disk."""
    connection.isolation_level = None
    _use_wal(connection)
    for pragma in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()
    path = connection.execute("PRAGMA database_list").fetchone()[2]
    record.info[_OPENED] = (path, _identity(path))


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from another one at the same path; None if there is none, or for a store in memory."""
    try:
        found = Path(path).stat() if path else None
    except OSError:
        return None
    return found and (found.st_dev, found.st_ino)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Change to WAL. The change itself does not wait for others (SQLite's documentation), so a transaction does."""
    for last in (*[False] * _TRIES, True):
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as error:
            if last or not error.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise
            connection.execute("BEGIN IMMEDIATE").close()
            connection.execute("ROLLBACK").close()
        else:
            return


def _begin(connection: Connection) -> None:
    # A transaction that will write takes the lock at once: one that starts by reading cannot always get it later.
    read_only = connection.get_execution_options().get(_READ_ONLY, False)
    path, opened = connection.info[_OPENED]
    if not read_only and _identity(path) != opened:  # SQLite would go on writing to a file that nobody finds again
        raise StoreError(
            f"store {path} was moved, deleted or replaced while in use; put it back, or restart watchdog: "
            "it goes on with what is there then"
        )
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def explain(cause: BaseException, url: URL) -> StoreError | None:
    """Return what an error of the driver means, with its place and remedy; None for one that nobody foresaw."""
    name = getattr(cause, "sqlite_errorname", "")
    if name.startswith("SQLITE_CANTOPEN"):
        return StoreError(f"store {place_of(url)} {_cannot_open(Path(place_of(url)).absolute().parent)}")
    for code, remedy in _REMEDY.items():
        if name.startswith(code):
            return StoreError(f"store {place_of(url)} {remedy}")
    return None


def _cannot_open(folder: Path) -> str:
    if not os.access(folder, os.F_OK):  # unlike Path.exists it answers in a folder that may not be looked into
        return f"cannot be made: folder {folder} does not exist; create it, or name another one in WATCHDOG_STORE"
    return f"cannot be opened; it must be a file, and it and its folder {folder} writable for this user"
