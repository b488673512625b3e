"""What PostgreSQL says, on a real server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from watchdog.errors import StoreError
from watchdog.model import Alert, Changes
from watchdog.store import SqlStore, dialect, postgresql, store_exists, store_place


@pytest.fixture
def url(server_url: str) -> str:
    return server_url


def message(url: str) -> str:
    with SqlStore(url) as store, pytest.raises(StoreError) as caught:
        store.load()
    assert "geheim" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql+psycopg://bo:geheim@db:5433/x", "db:5433/x"),
        ("postgresql://bo:geheim@db/x", "db/x"),
        ("postgresql:///x", "local socket/x"),
        ("postgresql:///x?host=/run/pg", "/run/pg/x"),
        ("postgresql:///x?host=a:5432&host=b:5432", "a:5432,b:5432/x"),
    ],
)
def test_errors_name_server_and_database_and_no_password(url: str, place: str) -> None:
    assert store_place(url) == place


def test_a_driver_that_is_not_installed_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r'pip install "gpu-job-watchdog\[postgres\]"'):
        SqlStore("postgresql+psycopg://host/watchdog")


def test_a_session_has_its_limits_and_its_name(store: SqlStore) -> None:
    with store._database.read() as connection:
        found = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in (
                "application_name",
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
                "transaction_isolation",
                "transaction_read_only",
            )
        }
    assert found == {
        "application_name": "watchdog",
        "statement_timeout": "15s",
        "lock_timeout": "5s",
        "idle_in_transaction_session_timeout": "10s",
        "transaction_isolation": "repeatable read",
        "transaction_read_only": "on",
    }
    with store._database.write() as connection:
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
        assert connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "off"


def test_the_url_may_set_parameters_of_the_connection(url: str) -> None:
    with SqlStore(f"{url}?application_name=mine&connect_timeout=2") as store, store._database.read() as connection:
        assert connection.exec_driver_sql("SHOW application_name").scalar() == "mine"


def test_the_password_may_be_in_a_file(url: str, tmp_path: Path) -> None:
    file = tmp_path / "pgpass"
    file.write_text("127.0.0.1:*:*:watchdog:geheim-1234\n")
    file.chmod(0o600)
    with SqlStore(f"{url.replace(':geheim-1234', '')}?passfile={file}") as store:
        assert store.alerts() == ()


def test_commits_are_synced_whatever_the_database_says(url: str, sql: Callable[..., list[Any]]) -> None:
    name = url.rsplit("/", 1)[1]
    sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    with SqlStore(url) as store, store._database.write() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


def test_no_server(postgres: Any) -> None:
    said = message("postgresql+psycopg://bo:geheim@127.0.0.1:1/x")
    assert "store 127.0.0.1:1/x cannot be reached" in said
    assert "refused" in said


def test_a_wrong_password(url: str) -> None:
    assert "refuses this user or password; correct WATCHDOG_STORE" in message(url.replace("geheim-1234", "geheim"))


def test_a_database_that_does_not_exist(postgres: Any) -> None:
    assert "/nowhere does not exist; make it with: createdb" in message(postgres.url("nowhere"))
    with pytest.raises(StoreError, match="createdb"):
        store_exists(postgres.url("nowhere"))


def test_a_user_without_rights(url: str, sql: Callable[..., list[Any]]) -> None:
    user = url.rsplit("/", 1)[1]
    sql(f"CREATE ROLE {user} LOGIN PASSWORD 'geheim-1234'")
    assert "make the user the owner of the database" in message(url.replace("watchdog:", f"{user}:", 1))
    sql(f"DROP ROLE {user}")


def test_a_read_only_server(url: str, sql: Callable[..., list[Any]]) -> None:
    sql(f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET default_transaction_read_only = on")
    assert "is a read-only standby; name the primary" in message(url)
    assert "is a read-only standby; name the primary" in message(f"{url}?target_session_attrs=read-write")


def test_a_database_of_another_encoding(postgres: Any, alert: Callable[..., Alert]) -> None:
    name = "latin"
    postgres.run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with SqlStore(postgres.url(name)) as store:
        store.load()
        with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
            store.commit(Changes(at=1.0, alerts=(alert("\N{SNOWMAN}"),)))
    postgres.run(f"DROP DATABASE {name}")


def test_another_program_holds_a_table(url: str, store: SqlStore) -> None:
    with store._database.write() as connection:
        connection.exec_driver_sql("SET SESSION lock_timeout = 50")
    engine = dialect.open_engine(dialect.parse(url))
    with engine.begin() as other:
        other.exec_driver_sql("LOCK TABLE meta")
        with pytest.raises(StoreError, match="locked by another program"):
            store.commit(Changes(at=1.0))
    store.commit(Changes(at=1.0))
    engine.dispose()


def test_a_statement_that_takes_too_long(store: SqlStore) -> None:
    def sleep() -> None:
        with store._database.write() as connection:
            connection.exec_driver_sql("SET LOCAL statement_timeout = 20")
            connection.exec_driver_sql("SELECT pg_sleep(5)")

    with pytest.raises(StoreError, match="took too long"):
        sleep()
    store.commit(Changes(at=1.0))


def test_a_connection_that_was_cut_is_opened_again(
    store: SqlStore, alert: Callable[..., Alert], sql: Callable[..., list[Any]]
) -> None:
    def cut() -> None:
        sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'watchdog'")

    def cut_within() -> None:
        with store._database.write() as connection:
            cut()
            connection.exec_driver_sql("SELECT 1")

    store.commit(Changes(at=1.0, alerts=(alert("f1"),)))
    cut()
    assert store.alerts() == (alert("f1"),)
    with pytest.raises(StoreError, match="is tried again"):
        cut_within()
    store.commit(Changes(at=2.0, alerts=(alert("f2"),)))
    assert len(store.alerts()) == 2


def test_an_error_that_nobody_foresaw_has_a_place_and_no_data(store: SqlStore, sql: Callable[..., list[Any]]) -> None:
    store.load()
    sql("ALTER TABLE meta ADD CONSTRAINT short CHECK (length(value) < 5)")
    with pytest.raises(StoreError, match="violates check constraint") as caught:
        store.commit(Changes(at=1.0, meta={"secret": "geheim-1234"}))
    assert store._database.place in str(caught.value)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (psycopg.errors.DiskFull("x"), "make room"),
        (psycopg.errors.SerializationFailure("x"), "is tried again"),
        (psycopg.errors.DeadlockDetected("x"), "is tried again"),
        (psycopg.errors.TooManyConnections("x"), "max_connections"),
        (psycopg.errors.OutOfMemory("x"), "out of memory"),
        (psycopg.errors.IoError("x"), "disk is failing"),
        (psycopg.errors.DataCorrupted("x"), "restore a backup"),
        (psycopg.errors.IndexCorrupted("x"), "REINDEX"),
        (psycopg.errors.AdminShutdown("x"), "is tried again"),
        (psycopg.errors.CannotConnectNow("x"), "is tried again"),
        (psycopg.errors.IdleInTransactionSessionTimeout("x"), "stood still"),
        (psycopg.OperationalError("FATAL:  the database system is starting up"), "is tried again"),
        (psycopg.OperationalError("FATAL:  sorry, too many clients already"), "max_connections"),
        (psycopg.OperationalError("FATAL:  no pg_hba.conf entry for host"), "pg_hba.conf"),
        (psycopg.errors.ConnectionTimeout("connection timeout expired"), "cannot be reached"),
        (psycopg.ProgrammingError("something new"), "failed: something new; this may be a bug"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_every_failure_that_we_know_has_its_remedy(error: psycopg.Error, said: str) -> None:
    url = dialect.parse("postgresql://bo:geheim@db/x")
    text = str(dialect.explain(OperationalError(None, None, error), url))
    assert text.startswith("store db/x ")
    assert said in text
    assert "geheim" not in text


def test_a_socket_name_is_a_place() -> None:
    assert postgresql.place_of(dialect.parse("postgresql://")) == "local socket/"
