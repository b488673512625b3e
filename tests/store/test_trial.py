"""What a try of the store says; it changes nothing and asks for no lease."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from watchdog.model import Changes
from watchdog.store import SqlStore, migrations, try_store
from watchdog.store.lease import FileLease
from watchdog.store.migrations import MIGRATIONS

NEWEST = len(MIGRATIONS)
NEW = f"ok: can be written, and is made at the first start with schema version {NEWEST}"
FINE = f"ok: opens and can be written, schema version {NEWEST}"


def tried(url: str, **options: Any) -> list[str]:
    found = try_store(url, **options)
    return ["; ".join(part for part in (f"{item.level}: {item.text}", item.remedy) if part) for item in found]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def nobody_folder() -> Iterator[Path]:
    """A folder that a user without rights may look into; the test runs as such a user."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    before = os.geteuid()
    yield folder
    os.seteuid(before)
    shutil.rmtree(folder)


def give_up_rights() -> None:
    """Give up the rights of root, where the tests have them; ``nobody_folder`` takes them back."""
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_store_that_is_not_there_yet(tmp_path: Path) -> None:
    assert tried(f"sqlite:///{tmp_path}/watchdog.db") == [NEW]
    assert contents(tmp_path) == {}


def test_a_store_that_is_there(file: Path, file_url: str) -> None:
    with SqlStore(file_url) as store:
        store.commit(Changes(at=1.0, meta={"a": "b"}))
    before = contents(file.parent)
    assert tried(file_url) == [FINE]
    assert contents(file.parent) == before


def test_an_empty_file_is_left_empty(file: Path, file_url: str) -> None:
    file.touch()
    assert tried(file_url) == [NEW]
    assert contents(file.parent) == {file.name: b""}


def test_a_running_service_is_not_disturbed(file: Path, file_url: str) -> None:
    lease = FileLease(file.with_name(file.name + ".lock"), lambda _: None)
    assert lease.try_acquire()
    with SqlStore(file_url, lease=lease) as store:
        store.commit(Changes(at=1.0, meta={"a": "b"}))
        assert tried(file_url) == [FINE]
        store.commit(Changes(at=2.0, meta={"a": "c"}))
        assert store.load().meta["a"] == "c"
    lease.release()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert tried(f"sqlite:///{tmp_path}/no/watchdog.db") == [
        (
            f"FAILED: folder {tmp_path}/no cannot be written (No such file or directory); make it exist and be "
            "writable for this user, or name another one in WATCHDOG_STORE"
        )
    ]


def test_a_folder_that_may_not_be_written(nobody_folder: Path) -> None:
    nobody_folder.chmod(0o555)
    give_up_rights()
    assert tried(f"sqlite:///{nobody_folder}/watchdog.db") == [
        (
            f"FAILED: folder {nobody_folder} cannot be written (Permission denied); make it exist and be writable for "
            "this user, or name another one in WATCHDOG_STORE"
        )
    ]


def test_a_file_that_may_not_be_written(nobody_folder: Path) -> None:
    file = nobody_folder / "watchdog.db"
    with SqlStore(f"sqlite:///{file}") as store:
        store.load()
    file.chmod(0o444)
    give_up_rights()
    [said] = tried(f"sqlite:///{file}")
    assert said == f"FAILED: store {file} is read-only for this user; make the file and its folder writable"


def test_a_lock_file_of_another_user(nobody_folder: Path) -> None:
    lock = nobody_folder / "watchdog.db.lock"
    lock.touch()
    lock.chmod(0o444)
    give_up_rights()
    assert tried(f"sqlite:///{nobody_folder}/watchdog.db") == [
        f"FAILED: lock file {lock} cannot be opened (Permission denied); make it writable for this user"
    ]


def test_a_file_that_is_none_of_ours(file: Path, file_url: str) -> None:
    file.write_text("not a database, but long enough to look like something else entirely" * 20)
    assert tried(file_url) == [
        f"FAILED: store {file} is not a database; move the file away, or name another one in WATCHDOG_STORE"
    ]
    file.unlink()
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE theirs (id)")
    other.close()
    before = contents(file.parent)
    assert tried(file_url) == [
        f"FAILED: store {file} is the database of another program; name another one in WATCHDOG_STORE"
    ]
    assert contents(file.parent) == before


def test_a_name_that_is_odd(tmp_path: Path) -> None:
    (tmp_path / "50% of a#b").mkdir()
    url = f"sqlite:///{tmp_path}/50% of a#b/watchdog.db"
    with SqlStore(url) as store:
        store.load()
    assert tried(url) == [FINE]


@pytest.mark.parametrize(("room", "notes"), [(99_999_999, 1), (100_000_000, 0), (100_000_001, 0)])
def test_little_room_is_a_note(file_url: str, room: int, notes: int) -> None:
    found = tried(file_url, free=lambda _: room)
    assert found == [NEW, *["note: the disk has only 100 MB left; make room"] * notes]


def test_a_store_in_memory_is_a_note() -> None:
    assert tried("sqlite://") == ["note: is kept in memory and forgotten with the process; name a file"]


def test_an_address_that_is_none() -> None:
    [said] = tried("mysql://bo:geheim@host/x")
    assert said.startswith('FAILED: the store cannot be kept in "mysql"; write for example')
    assert "geheim" not in said


def test_schema_versions(url: str, sql: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer than this program, as it is, and older; on both databases."""
    assert tried(url) == [NEW]
    assert tried(url) == [NEW], "the try has left nothing"
    with SqlStore(url) as store:
        store.load()
    assert tried(url) == [FINE]
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, MIGRATIONS[0]))
    assert tried(url) == [
        f"note: can be written; the next start brings its schema from version {NEWEST} to {NEWEST + 1}"
    ]
    monkeypatch.undo()
    sql("UPDATE meta SET value = '999' WHERE key = 'store.schema'")
    [said] = tried(url)
    assert "has schema version 999, written by a newer watchdog" in said
    assert said.startswith("FAILED: store ")


def test_a_server_that_is_away_is_said_without_its_password() -> None:
    [said] = tried("postgresql+psycopg://bo:geheim@127.0.0.1:1/x")
    assert said.startswith("FAILED: store 127.0.0.1:1/x cannot be reached: ")
    assert said.endswith("; check WATCHDOG_STORE and the server")
    assert "geheim" not in said


def test_a_database_that_may_only_be_read(server_url: str, postgres: Any) -> None:
    with SqlStore(server_url) as store:
        store.load()
    [said] = tried(f"{server_url}?options=-c default_transaction_read_only=on")
    assert "is a read-only standby; name the primary in WATCHDOG_STORE" in said


def test_the_lease_on_a_server_is_left_alone(server_url: str) -> None:
    assert tried(server_url) == [NEW]
    engine = create_engine(server_url)
    with engine.connect() as connection:
        tables = connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).scalar()
    engine.dispose()
    assert tables == 0
