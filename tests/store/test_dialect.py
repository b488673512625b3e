from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from watchdog.errors import StoreError
from watchdog.model import Alert, Changes
from watchdog.store import SqlStore, dialect, sqlite


@pytest.fixture
def url(file_url: str) -> str:
    """What SQLite says."""
    return file_url


def message(url: str) -> str:
    with SqlStore(url) as store, pytest.raises(StoreError) as caught:
        store.load()
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "not a URL"),
        ("/var/lib/watchdog.db", "not a URL"),
        ("mysql://user:geheim@host/watchdog", '"mysql"'),
        ("postgresql+psycopg2://user:geheim@host/watchdog", '"postgresql\\+psycopg2"'),
        ("postgresql://user:geheim@host:port/watchdog", "not a URL"),
        ("postgresql://host/watchdog?password=geheim", "before the @"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_with_the_remedy(url: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as caught:
        SqlStore(url)
    assert "sqlite:////" in str(caught.value) or "passfile" in str(caught.value)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_memory_is_no_file(url: str) -> None:
    assert dialect.file_of(dialect.parse(url)) is None
    assert dialect.place_of(dialect.parse(url)) == "in memory"


def test_every_commit_is_synced_to_the_disk(store: SqlStore) -> None:
    """WAL with synchronous=FULL (2): what is committed survives a power cut."""
    with store._database.read() as connection:
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
        more = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("foreign_keys", "busy_timeout")]
    assert found == ["wal", 2]
    assert more == [1, 10_000]


def test_a_missing_folder(tmp_path: Path) -> None:
    said = message(f"sqlite:///{tmp_path}/missing/watchdog.db")
    assert f"{tmp_path}/missing/watchdog.db" in said
    assert f"folder {tmp_path}/missing does not exist; create it" in said


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert f"its folder {tmp_path}/file writable" in message(f"sqlite:///{tmp_path}/file/watchdog.db")


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "watchdog.db").mkdir()
    assert "it must be a file" in message(f"sqlite:///{tmp_path}/watchdog.db")


def test_a_file_that_is_no_database(file: Path, url: str) -> None:
    file.write_text("GPU,utilization\n" * 1000)
    said = message(url)
    assert f"{file} is not a database; move the file away" in said


def test_a_damaged_file(url: str, file: Path, alert: Callable[..., Alert]) -> None:
    with SqlStore(url) as store:
        store.commit(Changes(at=1.0, alerts=tuple(alert(f"f{number}") for number in range(2000))))
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.seek(size // 2)
        stream.write(b"\xff" * (size // 2))
    said = message(url)
    assert f"{file} is damaged; restore a backup" in said


def test_a_file_that_was_cut_off(url: str, file: Path, alert: Callable[..., Alert]) -> None:
    with SqlStore(url) as store:
        store.commit(Changes(at=1.0, alerts=tuple(alert(f"f{number}") for number in range(2000))))
    os.truncate(file, file.stat().st_size // 2)
    assert f"{file} is damaged" in message(url)


def test_another_program_holds_the_lock(
    url: str, file: Path, monkeypatch: pytest.MonkeyPatch, alert: Callable[..., Alert]
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.01)
    changes = Changes(at=1.0, alerts=(alert("f"),))
    with SqlStore(url) as store:
        store.load()
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another program"):
            store.commit(changes)
        assert store.alerts() == ()  # who reads does not wait for who writes
        other.execute("ROLLBACK")
        other.close()
        store.commit(changes)
        assert store.alerts() == (alert("f"),)


def test_a_disk_without_room_then_with_room(store: SqlStore, file: Path, alert: Callable[..., Alert]) -> None:
    """The same changes are committed once there is room; nothing of the failed try is left."""

    def limit(pages: int) -> None:
        with store._database.read() as connection:
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    changes = Changes(at=1.0, alerts=tuple(alert(f"f{number}") for number in range(2000)))
    store.load()
    limit(40)
    for _ in range(2):
        with pytest.raises(StoreError, match="disk is full; make room") as caught:
            store.commit(changes)
        assert str(file) in str(caught.value)
        assert store.alerts() == ()
    limit(1_000_000)
    store.commit(changes)
    assert len(store.alerts()) == 2000


def test_an_error_that_nobody_foresaw_has_a_place_and_no_data(store: SqlStore, file: Path) -> None:
    store.load()
    with sqlite3.connect(file) as other:
        other.execute("DROP TABLE meta")
    with pytest.raises(StoreError, match="no such table: meta") as caught:
        store.commit(Changes(at=1.0, meta={"secret": "geheim"}))
    assert str(file) in str(caught.value)
    assert "geheim" not in str(caught.value.__cause__)


@pytest.fixture
def nobody_folder() -> Iterator[Path]:
    """A folder that a user without rights may look into; the test runs as such a user."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def as_nobody() -> Iterator[Callable[[], None]]:
    """Give up the rights of root, where the tests have them, until the end of the test."""
    before = os.geteuid()
    yield lambda: os.seteuid(65534) if before == 0 else None
    os.seteuid(before)


def test_a_folder_that_may_not_be_written(nobody_folder: Path, as_nobody: Callable[[], None]) -> None:
    nobody_folder.chmod(0o555)
    as_nobody()
    said = message(f"sqlite:///{nobody_folder}/watchdog.db")
    assert f"its folder {nobody_folder} writable for this user" in said


def test_a_file_that_may_not_be_written(nobody_folder: Path, as_nobody: Callable[[], None]) -> None:
    file = nobody_folder / "watchdog.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE some (id)")
    connection.close()
    file.chmod(0o444)
    as_nobody()
    said = message(f"sqlite:///{file}")
    assert f"{file} is read-only for this user; make the file and its folder writable" in said


def test_a_folder_that_may_not_be_looked_into(nobody_folder: Path, as_nobody: Callable[[], None]) -> None:
    (nobody_folder / "hidden" / "deep").mkdir(parents=True)
    (nobody_folder / "hidden").chmod(0o000)
    as_nobody()
    assert f"folder {nobody_folder}/hidden/deep" in message(f"sqlite:///{nobody_folder}/hidden/deep/watchdog.db")


def test_a_file_that_is_moved_away_or_replaced_takes_no_writes(file: Path, file_url: str) -> None:
    store = SqlStore(file_url)
    store.commit(Changes(at=1.0, meta={"a": "1"}))
    for replace_it in (lambda: None, lambda: file.write_bytes(b"another file")):
        file.rename(away := file.with_name("away.db"))
        replace_it()
        with pytest.raises(StoreError, match="moved, deleted or replaced while in use; put it back, or restart"):
            store.commit(Changes(at=2.0, meta={"a": "2"}))
        assert store.load().meta == {"a": "1"}
        away.replace(file)
    store.commit(Changes(at=2.0, meta={"a": "2"}))
    assert store.load().meta == {"a": "2"}
    store.close()
