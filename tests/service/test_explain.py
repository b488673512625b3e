"""``/api/watchdog/explain`` and the command that reads it, over real HTTP."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchdog.cli import main
from watchdog.engine.engine import Engine
from watchdog.engine.program import program_of
from watchdog.jobs.sources import SourceInfo
from watchdog.model import Job, JobReading, JobStatus, Points, Poll, Snapshot
from watchdog.rules.model import Route, Rule, Ruleset
from watchdog.service.api.explain import routes
from watchdog.service.desk import Desk
from watchdog.service.guard import Guard
from watchdog.service.health import Health
from watchdog.service.http import HttpServer, make_app

T0 = 1_772_442_000.0
RULES = (
    Rule("GPUIdle", "max_over_time(gpu_utilization[10m]) < 0.05", "rules.toml:1"),
    Rule("Pending", "job_pending_seconds > 60", "rules.toml:9"),
)
JOB = Job("cloud", "baseten", "j1", JobStatus.RUNNING, job_name="sft")


def make_engine(minutes: int) -> Engine:
    ruleset = Ruleset(60.0, (), (), (Route(("slack",), place="rules.toml:20"),), RULES, "x")
    engine = Engine(program_of(ruleset, [SourceInfo("cloud", 60.0, 60.0, 300.0)]), Snapshot(), T0)
    for minute in range(minutes):
        now = T0 + 60 * minute
        points = Points("gpu_utilization", (("gpu", "0"), ("node", "n0")), [now], [0.0])
        engine.tick(now, [Poll("cloud", now, now, readings=(JobReading(JOB, (points,)),))])
    return engine


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server whose questions are answered by an engine that has run for 12 minutes."""
    yield from serve(make_engine(12))


def serve(engine: Engine) -> Iterator[str]:
    desk: Desk[Engine] = Desk(Guard())
    stop = threading.Event()
    thread = threading.Thread(target=desk.serve, args=(engine, time.monotonic() + 600, stop))
    thread.start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{probe.getsockname()[1]}"
    server = HttpServer(make_app(Health(), lambda: 60.0, routes(desk)), listen)
    server.start()
    with httpx.Client(transport=httpx.HTTPTransport(retries=20), trust_env=False) as client:
        client.get(f"http://{listen}/healthz")
    yield f"http://{listen}"
    stop.set()
    thread.join(10)
    server.stop()


def ask(url: str, **parameters: str) -> tuple[int, Any]:
    response = httpx.get(f"{url}/api/watchdog/explain", params=parameters, trust_env=False)
    return response.status_code, response.json()


def test_all_rules_for_all_jobs(url: str) -> None:
    status, body = ask(url)
    assert (status, body["status"]) == (200, "success")
    data = body["data"]
    assert [(one["rule"], one["job"], one["verdict"]["reason"]) for one in data] == [
        ("GPUIdle", "", "firing"),
        ("Pending", "", "no_samples"),
    ]


def test_one_rule_for_one_job(url: str) -> None:
    _, body = ask(url, alert="GPUIdle", job="sft")
    (found,) = body["data"]
    assert (found["job"], found["verdict"]["text"]) == ("j1", "node=n0 gpu=0: it has held for 4m")
    assert len(found["evaluations"]) == 12


def test_as_text(url: str) -> None:
    _, body = ask(url, alert="Pending", job="j1", format="text")
    assert body["data"].splitlines()[0] == (
        "Pending does not fire for sft (j1): the job is running, so it has no job_pending_seconds"
    )


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"alert": "Nope"}, 'invalid parameter "alert": there is no rule "Nope"; there are: GPUIdle, Pending'),
        ({"job": "nobody"}, 'invalid parameter "job": there is no job "nobody"; watched are: sft'),
        ({"format": "xml"}, 'invalid parameter "format": "xml" is neither of json, text'),
    ],
)
def test_what_there_is_not(url: str, parameters: dict[str, str], error: str) -> None:
    assert ask(url, **parameters) == (400, {"status": "error", "errorType": "bad_data", "error": error})


def test_before_the_first_evaluation() -> None:
    for url in serve(make_engine(0)):
        error = "there was no evaluation yet; ask again in a minute"
        assert ask(url) == (503, {"status": "error", "errorType": "unavailable", "error": error})


def test_the_command_reads_a_running_service(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--url", url, "--job", "sft"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("GPUIdle fires for sft (j1): node=n0 gpu=0: it has held for 4m\n")
    assert "\n\nPending does not fire for sft (j1): the job is running, so it has no job_pending_seconds\n" in text
    assert "  alert  node=n0 gpu=0  firing, value 0 → slack by rules.toml:20\n" in text
    assert main(["explain", "--url", url, "--alert", "GPUIdle", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["jobs"][0]["verdict"]["reason"] == "firing"


def test_the_command_says_what_is_wrong(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--url", url, "--job", "nobody"]) == 2
    assert 'there is no job "nobody"; watched are: sft' in capsys.readouterr().err
    assert main(["explain", "--url", url, "-c", "rules.toml"]) == 2
    assert "a running service has its own rules; leave out -c or --url" in capsys.readouterr().err


def test_the_command_says_that_nothing_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--url", "http://127.0.0.1:1"]) == 1
    assert "is the service running?" in capsys.readouterr().err
