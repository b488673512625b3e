from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, inspect, text

from watchdog.errors import SchemaTooNew, StoreError
from watchdog.store import SqlStore, dialect, store_exists
from watchdog.store.migrations import MIGRATIONS, migrate
from watchdog.store.schema import metadata


@pytest.fixture
def engine(url: str) -> Engine:
    return dialect.open_engine(dialect.parse(url))


Sql = Callable[..., list[Any]]


def version(sql: Sql) -> str:
    ((found,),) = sql("SELECT value FROM meta WHERE key = 'store.schema'")
    return str(found)


def shape(engine: Engine) -> dict[str, object]:
    found = inspect(engine)
    return {
        table: (
            [(column["name"], column["nullable"]) for column in found.get_columns(table)],
            found.get_pk_constraint(table)["constrained_columns"],
            sorted((str(index["name"]), tuple(index["column_names"])) for index in found.get_indexes(table)),
            [unique["column_names"] for unique in found.get_unique_constraints(table)],
            [type(column["type"]).__name__.replace("REAL", "DOUBLE") for column in found.get_columns(table)],
        )
        for table in sorted(found.get_table_names())
    }


def test_the_migrations_make_the_tables_that_the_code_uses(engine: Engine) -> None:
    migrate(engine.begin, "here")
    made = shape(engine)
    with engine.begin() as connection:
        metadata.drop_all(connection)
        metadata.create_all(connection)
    assert made == shape(engine)
    engine.dispose()


def test_a_store_says_its_version(store: SqlStore, sql: Sql) -> None:
    store.load()
    assert version(sql) == str(len(MIGRATIONS))


def test_nothing_is_made_before_the_first_use(url: str, engine: Engine) -> None:
    """A standby must not migrate the store under the instance that writes it."""
    with SqlStore(url) as store:
        assert not store_exists(url)
        store.load()
        assert store_exists(url)
    engine.dispose()


def test_a_newer_store_is_refused_with_both_versions_and_left_alone(store: SqlStore, sql: Sql, url: str) -> None:
    store.load()
    newer = len(MIGRATIONS) + 1
    sql("UPDATE meta SET value = :newer WHERE key = 'store.schema'", newer=str(newer))
    with SqlStore(url) as other, pytest.raises(SchemaTooNew) as caught:
        other.load()
    said = str(caught.value)
    assert f"version {newer}" in said
    assert f"version {newer - 1}" in said
    assert store._database.place in said
    assert "WATCHDOG_STORE" in said
    assert version(sql) == str(newer)


@pytest.mark.parametrize("ddl", ["TABLE songs (id TEXT)", "TABLE meta (id TEXT)", "TABLE meta (key TEXT, value TEXT)"])
def test_the_database_of_another_program_is_left_alone(url: str, sql: Sql, engine: Engine, ddl: str) -> None:
    sql(f"CREATE {ddl}")
    with SqlStore(url) as store, pytest.raises(StoreError, match="another program") as caught:
        store.load()
    assert store._database.place in str(caught.value)
    assert len(inspect(engine).get_table_names()) == 1
    engine.dispose()


def test_a_later_step_is_applied_once_to_an_older_store(store: SqlStore, engine: Engine, sql: Sql) -> None:
    store.load()
    calls = []

    def second(connection: Connection) -> None:
        calls.append(connection.scalar(text("SELECT count(*) FROM jobs")))
        connection.execute(text("ALTER TABLE jobs ADD COLUMN more TEXT"))

    steps = (*MIGRATIONS, second)
    migrate(engine.begin, "here", steps)
    migrate(engine.begin, "here", steps)
    assert calls == [0]
    assert version(sql) == str(len(steps))
    engine.dispose()


def test_a_step_that_fails_leaves_the_version_before_it(engine: Engine, sql: Sql) -> None:
    def breaks(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE half (id INTEGER)"))
        raise StoreError("no")

    with pytest.raises(StoreError):
        migrate(engine.begin, "here", (*MIGRATIONS, breaks))
    assert version(sql) == str(len(MIGRATIONS))
    assert "half" not in inspect(engine).get_table_names()
    engine.dispose()


def test_two_that_open_an_empty_store_at_once_make_it_once(url: str) -> None:
    stores = [SqlStore(url) for _ in range(4)]
    failed: list[Exception] = []
    barrier = threading.Barrier(len(stores))

    def use(store: SqlStore) -> None:
        barrier.wait()
        try:
            store.load()
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=use, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()
    assert failed == []


def test_a_step_that_another_process_was_faster_with_is_not_repeated(engine: Engine) -> None:
    calls = []

    def slow(connection: Connection) -> None:
        calls.append(connection)

    def begin() -> object:
        if len(begun) == 1:  # between the look at the version and the step
            migrate(engine.begin, "here", (*MIGRATIONS, slow))
        begun.append(1)
        return engine.begin()

    begun: list[int] = []
    migrate(begin, "here", (*MIGRATIONS, slow))  # type: ignore[arg-type]
    assert len(calls) == 1
    engine.dispose()
