"""PostgreSQL: how a database is opened, what a session is told first, what its errors mean.

The classes of errors are those of PostgreSQL's manual, appendix A; a failed connection has no class, only a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event

from watchdog.errors import StoreError

DRIVER = "postgresql+psycopg"

_CONNECT: Mapping[str, Any] = {
    "connect_timeout": 5,
    # A server or a network that died is noticed, not waited for.
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "client_encoding": "utf8",
    # Statements that are prepared on the server do not go through every connection pooler.
    "prepare_threshold": None,
}
"""Parameters of a connection; those that the URL names win."""

_SESSION = (
    "SET lock_timeout = '5s'",
    # A process that was stopped in the middle of a transaction does not hold its locks for ever.
    "SET idle_in_transaction_session_timeout = '10s'",
    # What is committed survives a crash of the server, whatever the default of the database is.
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)

_AGAIN = "it is tried again"
_REMEDY: Mapping[str, str] = {
    "08": f"lost its connection; {_AGAIN}",
    "22P05": "does not hold every character; make the database with ENCODING 'UTF8'",
    "25006": "is a read-only standby; name the primary in WATCHDOG_STORE, "
    "or all servers with ?target_session_attrs=read-write",
    "25P03": f"ended a transaction in which this process stood still; {_AGAIN}",
    "28": "refuses this user or password; correct WATCHDOG_STORE or the server's pg_hba.conf",
    "3D000": "does not exist; make it with: createdb",
    "40": f"had a transaction that met another program's; {_AGAIN}",
    "42501": "does not let this user make or change its tables; make the user the owner of the database",
    "53100": "cannot grow, the server's disk is full; make room",
    "53200": "is out of memory; look at the server",
    "53300": "has no connection left; raise max_connections, or close other clients",
    "55P03": "is locked by another program; end that program's transaction",
    "57014": "took too long to answer; look at the server's load and at locks of other programs",
    "57P": f"is stopping, starting, or closed the connection; {_AGAIN}",
    "58030": "cannot be read or written, the server's disk is failing; look at the server",
    "XX001": "is damaged; restore a backup",
    "XX002": "is damaged; rebuild its indexes (REINDEX) or restore a backup",
}
"""By error code or its beginning."""

_SAID: Mapping[str, str] = {
    "password authentication failed": _REMEDY["28"],
    "no password supplied": _REMEDY["28"],
    "no pg_hba.conf entry": _REMEDY["28"],
    "too many clients": _REMEDY["53300"],
    "the database system is": _REMEDY["57P"],
    'database "': _REMEDY["3D000"],
    "session is read-only": _REMEDY["25006"],
    "in hot standby mode": _REMEDY["25006"],
}
"""By the words of a connection that was refused; a server that speaks another language is quoted."""


def place_of(url: URL) -> str:
    """Return how errors name the store: server and database, never a user or password."""
    host = url.host or url.query.get("host") or "local socket"
    port = f":{url.port}" if url.port else ""
    names = host if isinstance(host, str) else ",".join(host)
    return f"{names}{port}/{url.database or ''}"


def open_engine(url: URL, application: str, patience: float) -> Engine:
    """Return an engine; nothing is opened yet.

    ``application`` names the sessions in ``pg_stat_activity``; a statement may take ``patience`` seconds.
    Raises StoreError when the driver is not installed.
    """
    given = {**_CONNECT, "application_name": application}
    options = {name: value for name, value in given.items() if name not in url.query}
    try:
        engine = create_engine(
            url,
            connect_args=options,
            hide_parameters=True,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            pool_size=1,
        )
    except ImportError:
        raise StoreError(
            "the driver for a store on PostgreSQL is not installed; "
            'install it with: pip install "gpu-job-watchdog[postgres]"'
        ) from None
    statements = (*_SESSION, f"SET statement_timeout = {int(patience * 1000)}")
    event.listen(engine, "connect", lambda connection, _: _set_up(connection, statements))
    return engine


def reading(engine: Engine) -> Engine:
    """Return the same engine for transactions that only read: each sees one state of the database."""
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _set_up(connection: Any, statements: tuple[str, ...]) -> None:
    connection.autocommit = True
    for statement in statements:
        connection.execute(statement)
    connection.autocommit = False


def explain(cause: BaseException, url: URL) -> StoreError | None:
    """Return what an error of the driver means, with its place and remedy; None for one that nobody foresaw."""
    code = getattr(cause, "sqlstate", None)
    for beginning, remedy in _REMEDY.items():
        if code and code.startswith(beginning):
            return StoreError(f"store {place_of(url)} {remedy}")
    text = " ".join(str(cause).split()).removeprefix("connection failed: ")
    for words, remedy in _SAID.items():
        if not code and words in text:
            return StoreError(f"store {place_of(url)} {remedy}")
    if not code and type(cause).__name__ in ("OperationalError", "ConnectionTimeout"):
        return StoreError(f"store {place_of(url)} cannot be reached: {text}; check WATCHDOG_STORE and the server")
    return None
