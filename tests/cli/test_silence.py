"""``watchdog silence``: with a running service, and with the store alone."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from watchdog.engine.engine import Engine
from watchdog.engine.program import program_of
from watchdog.model import JobKey, Silence, Snapshot
from watchdog.rules.model import Route, Ruleset
from watchdog.service.api import v2
from watchdog.service.api.access import Access
from watchdog.service.desk import Desk
from watchdog.service.guard import Guard
from watchdog.service.health import Health
from watchdog.service.http import HttpServer, make_app
from watchdog.store import SqlStore, lease_for

TOKEN = "a-token-of-the-tests"


@pytest.fixture
def listen(monkeypatch: pytest.MonkeyPatch) -> str:
    """A place where nobody listens yet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found = f"127.0.0.1:{probe.getsockname()[1]}"
    monkeypatch.setenv("WATCHDOG_LISTEN", found)
    return found


@pytest.fixture
def stored(desk: Any) -> Any:
    """Return what the store holds."""

    def go() -> Sequence[Silence]:
        with SqlStore(f"sqlite:///{desk.folder}/watchdog.db") as store:
            return store.silences()

    return go


@pytest.fixture
def service(listen: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Engine]:
    monkeypatch.setenv("WATCHDOG_API_TOKEN", TOKEN)
    engine = Engine(program_of(Ruleset(60.0, (), (), (Route(("x",)),), (), "x"), ()), Snapshot(), time.time())
    questions: Desk[Engine] = Desk(Guard())
    stop = threading.Event()
    thread = threading.Thread(target=questions.serve, args=(engine, time.monotonic() + 60, stop))
    routes = v2.routes(questions, time.time, lambda _: None, Access(TOKEN, closed=True), 0.0)
    server = HttpServer(make_app(Health(), lambda: 60.0, routes, Access(TOKEN, closed=True)), listen)
    server.start()
    thread.start()
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", int(listen.rpartition(":")[2]))) == 0:
                break
        time.sleep(0.01)
    yield engine
    stop.set()
    questions.close()
    thread.join(5)
    server.stop()


@pytest.mark.usefixtures("listen")
def test_without_a_service_the_store_is_changed(desk: Any, stored: Any) -> None:
    before = time.time()
    status, out, err = desk.type(
        "silence", "add", "job=a", 'gpu=~"0|1"', "--for", "2h", "--comment", "x", "--author", "ann"
    )
    assert status == 0, err
    (made,) = stored()
    assert (made.id, made.matchers) == (out.strip(), ('job="a"', 'gpu=~"0|1"'))
    assert (made.created_by, made.comment) == ("ann", "x")
    assert before + 7200 <= made.ends_at <= time.time() + 7200
    status, out, _ = desk.type("silence", "list")
    assert (status, out.splitlines()[0].split()) == (0, ["ID", "STATE", "ENDS", "MATCHERS", "BY", "COMMENT"])
    assert 'job="a", gpu=~"0|1"' in out
    assert desk.type("silence", "expire", made.id)[0] == 0
    assert desk.type("silence", "list")[1].strip() == "there is no silence"
    (over,) = json.loads(desk.type("silence", "list", "--expired", "--format", "json")[1])
    assert over["status"]["state"] == "expired"


@pytest.mark.usefixtures("listen")
def test_a_silence_ends_with_a_job(desk: Any, stored: Any) -> None:
    assert desk.type("silence", "add", "job=a/b", "--until-job-ends", "baseten/a/b")[0] == 0
    assert stored()[0].until_job_ends == JobKey("baseten", "a/b")
    assert "with job baseten/a/b" in desk.type("silence", "list")[1]


def test_a_running_service_is_asked(desk: Any, service: Engine) -> None:
    status, out, err = desk.type("silence", "add", "job=a", "--until", "2999-01-01T00:00:00Z", "--author", "ann")
    assert status == 0, err
    (made,) = service.silences.all()
    assert (made.id, made.matchers, made.created_by) == (out.strip(), ('job="a"',), "ann")
    assert made.id in desk.type("silence", "list")[1]
    assert desk.type("silence", "expire", made.id)[0] == 0
    assert service.silences.all()[0].ends_at <= time.time()
    status, _, err = desk.type("silence", "expire", "nobody")
    assert (status, "there is no silence nobody" in err) == (2, True)
    assert not (desk.folder / "watchdog.db").exists(), "the service owns the store"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["job", "--for", "1h"], "is not a matcher"),
        (["job=~.*", "--for", "1h"], "would silence everything"),
        (["job=a", "--for", "0"], "must end in the future"),
        (["job=a", "--for", "5"], "is not a duration"),
        (["job=a", "--until", "yesterday"], "is not a time"),
        (["job=a", "--until", "2020-01-01T00:00:00Z"], "must end in the future"),
        (["job=a", "--until-job-ends", "a"], "write SOURCE/JOB"),
        (["job=a"], "one of the arguments"),
        (["job=a", "--for", "1h", "--until", "5"], "not allowed with"),
        (["--for", "1h"], "required: MATCHER"),
    ],
)
@pytest.mark.usefixtures("listen")
def test_what_is_no_silence_is_refused(desk: Any, words: list[str], reason: str) -> None:
    status, _, err = desk.type("silence", "add", *words)
    assert status == 2
    assert reason in err
    assert not (desk.folder / "watchdog.db").exists()


@pytest.mark.usefixtures("listen")
def test_who_cannot_be_asked_is_said(desk: Any, listen: str) -> None:
    status, _, err = desk.type("silence", "list", "--url", f"http://{listen}")
    assert (status, "is the service running?" in err) == (1, True)
    status, _, err = desk.type("silence", "list")
    assert (status, "there is no store at" in err) == (2, True)
    lease = lease_for(f"sqlite:///{desk.folder}/watchdog.db", time.sleep)
    assert lease.try_acquire()
    try:
        status, _, err = desk.type("silence", "add", "job=a", "--for", "1h")
        assert (status, "holds the store" in err) == (2, True)
    finally:
        lease.release()


def test_without_the_token_nothing_is_changed(desk: Any, service: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_API_TOKEN", "wrong-one")
    status, _, err = desk.type("silence", "add", "job=a", "--for", "1h")
    assert (status, "WATCHDOG_API_TOKEN" in err) == (1, True)
    assert service.silences.all() == []
