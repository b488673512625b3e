"""A try of the store: does it open, may it be written, is there room? Without the lease, and changing nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, false, text, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from watchdog.errors import StoreError
from watchdog.model import Level, Remark
from watchdog.store import dialect, migrations
from watchdog.store.schema import meta

LEAST_ROOM = 100_000_000
"""Bytes of free disk space below which a note says so."""
_PATIENCE = 5.0
"""Seconds that a statement may take, and that a lock of another program is waited for."""


def free_space(folder: Path) -> int:
    """Return the free bytes of the disk that a folder is on. Raises OSError."""
    return shutil.disk_usage(folder).free


def try_out(url: str, free: Callable[[Path], int] = free_space) -> list[Remark]:
    """Return what was found; never raises for what a store may do."""
    try:
        parsed = dialect.parse(url)
        if dialect.on_server(parsed):
            return [_opened(_try_database(dialect.open_engine(parsed, patience=_PATIENCE), parsed))]
        file = dialect.file_of(parsed)
        if file is None:
            return [Remark(Level.NOTE, "is kept in memory and forgotten with the process", "name a file")]
        return _try_file(file.resolve(), parsed, free)  # journal and lock are beside the real file
    except StoreError as error:
        return [Remark(Level.FAILED, str(error))]


def _try_file(file: Path, url: URL, free: Callable[[Path], int]) -> list[Remark]:
    """Try folder, lock file and database. Raises StoreError."""
    try:
        with tempfile.TemporaryFile(dir=file.parent):
            pass  # the journal, the lock and a new store are made beside the file
    except OSError as error:
        raise StoreError(
            f"folder {file.parent} cannot be written ({error.strerror}); make it exist and be writable for this user, "
            "or name another one in WATCHDOG_STORE"
        ) from error
    _try_lock_file(file)
    remark = _opened(_try_database(_existing(file), url)) if file.exists() else _opened(0)
    room = free(file.parent)
    if room >= LEAST_ROOM:
        return [remark]
    return [remark, Remark(Level.NOTE, f"the disk has only {room / 1e6:.0f} MB left", "make room")]


def _try_lock_file(file: Path) -> None:
    """Open the lock file of the lease, if there is one, without asking for the lock. Raises StoreError."""
    lock = file.with_name(file.name + ".lock")
    try:
        with suppress(FileNotFoundError):
            os.close(os.open(lock, os.O_RDWR))
    except OSError as error:
        raise StoreError(
            f"lock file {lock} cannot be opened ({error.strerror}); make it writable for this user"
        ) from error


def _existing(file: Path) -> Engine:
    """Return an engine for a file that is there; unlike the store's own it neither makes it nor changes its mode."""
    address = f"file:{quote(str(file))}?mode=rw"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(address, timeout=_PATIENCE, isolation_level=None, uri=True)

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _try_database(engine: Engine, url: URL) -> int:
    """Write as far as can be taken back; return the schema version. Raises StoreError."""
    try:
        with engine.connect() as connection:
            version = migrations.check(connection, dialect.place_of(url))
            _write_nothing(connection, version)
            connection.rollback()
    except SQLAlchemyError as error:
        raise dialect.explain(error, url) from error
    finally:
        engine.dispose()
    return version


def _write_nothing(connection: Connection, version: int) -> None:
    if version:
        connection.execute(update(meta).where(false()).values(value=""))
    else:
        connection.execute(text("CREATE TABLE watchdog_trial (id INTEGER)"))


def _opened(version: int) -> Remark:
    newest = len(migrations.MIGRATIONS)
    if version == newest:
        return Remark(Level.OK, f"opens and can be written, schema version {version}")
    if version == 0:
        return Remark(Level.OK, f"can be written, and is made at the first start with schema version {newest}")
    return Remark(Level.NOTE, f"can be written; the next start brings its schema from version {version} to {newest}")
