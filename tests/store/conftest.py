from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from watchdog.model import (
    Alert,
    AlertState,
    Incident,
    IncidentView,
    Job,
    JobRecord,
    JobStatus,
    Notification,
    Reason,
)
from watchdog.store import SqlStore


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "watchdog.db"


@pytest.fixture
def file_url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture
def server_url(postgres: Any) -> Iterator[str]:
    """A database of its own on a real PostgreSQL."""
    name = postgres.new_database()
    yield postgres.url(name)
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """A store on either database: what the store promises, it promises on both."""
    return str(request.getfixturevalue("file_url" if request.param == "sqlite" else "server_url"))


@pytest.fixture
def sql(url: str) -> Callable[..., list[Any]]:
    """Another program: runs one statement on the store's database."""

    def run(statement: str, **values: object) -> list[Any]:
        engine = create_engine(url)
        try:
            with engine.begin() as connection:
                result = connection.execute(text(statement), values)
                return [tuple(row) for row in result] if result.returns_rows else []
        finally:
            engine.dispose()

    return run


@pytest.fixture
def store(url: str) -> Iterator[SqlStore]:
    with SqlStore(url) as opened:
        yield opened


@pytest.fixture
def alert() -> Callable[..., Alert]:
    def make(fingerprint: str, state: AlertState = AlertState.FIRING, **more: object) -> Alert:
        fields: dict[str, object] = {
            "rule": "GPUIdle",
            "fingerprint": fingerprint,
            "labels": (("alertname", "GPUIdle"),),
            "instance": (),
            "state": state,
            "active_at": 1.0,
        }
        return Alert(**(fields | more))  # type: ignore[arg-type]

    return make


@pytest.fixture
def job() -> Callable[..., JobRecord]:
    def make(name: str, ended_at: float | None = None) -> JobRecord:
        return JobRecord(Job("baseten", "baseten", name, JobStatus.RUNNING), first_seen=1.0, ended_at=ended_at)

    return make


@pytest.fixture
def incident() -> Callable[..., Incident]:
    def make(name: str, closed_at: float | None = None) -> Incident:
        return Incident(name, f"{{}}:{name}", (("job", name),), opened_at=1.0, closed_at=closed_at)

    return make


@pytest.fixture
def notification() -> Callable[..., Notification]:
    def make(name: str, incident: str = "i", receiver: str = "slack", created_at: float = 1.0) -> Notification:
        view = IncidentView(incident, "{}:{}", (), "firing", "warning", 1.0, None, (), None)
        return Notification(name, incident, receiver, 1, Reason.FIRST, True, created_at, ("f",), view)

    return make
