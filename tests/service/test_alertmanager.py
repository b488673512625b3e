"""Alertmanager's API with the real ``amtool``, Prometheus's rules and alerts, ``/metrics`` with the real scraper."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from watchdog.engine.engine import Engine
from watchdog.engine.program import program_of, source_info
from watchdog.errors import StoreError
from watchdog.model import Job, JobReading, JobStatus, Points, Poll, PollRequest, Snapshot
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.rules.model import Inhibit, Route, Rule, Ruleset
from watchdog.service import api
from watchdog.service.api import v2
from watchdog.service.api.access import Access
from watchdog.service.api.exposition import metrics_route, outbox_families
from watchdog.service.guard import Guard
from watchdog.service.http import HttpServer, make_app
from watchdog.service.loop import Loop
from watchdog.service.poller import Poller
from watchdog.store import SqlStore

TOKEN = "a-token-of-the-tests"
NOW = float(int(time.time()))
"""amtool and Prometheus have clocks of their own."""
IDLE = Rule(
    "Idle", "gpu_utilization < 0.5", "r.toml:1", labels={"severity": "warning"}, summary="{{ labels.job }} idles"
)
HOT = Rule("Hot", "gpu_temperature_celsius > 80", "r.toml:9", labels={"severity": "critical"}, for_seconds=3600.0)
FULL = Rule("Full", "memory_utilization > 0.9", "r.toml:5", labels={"severity": "info"})
BROKEN = Rule("Broken", "gpu_utilization + on () gpu_utilization", "r.toml:13")


def is_(name: str, value: str) -> Matcher:
    return Matcher(name, MatchOp.EQUAL, value)


RULES = Ruleset(
    60.0,
    (),
    (),
    (Route(("ml", "pager"), (is_("severity", "warning"),)), Route(("ml",))),
    (IDLE, HOT, FULL, BROKEN),
    "x",
    inhibits=(Inhibit((is_("alertname", "Idle"),), (is_("alertname", "Full"),), ("job",)),),
)


ODD = 'j "2"\n\\'
TIMES = [NOW - 120.0, NOW - 60.0, NOW]


def points(metric: str, value: float, *labels: tuple[str, str]) -> Points:
    return Points(metric, labels, TIMES, [value] * 3)


def reading(job: str, *found: Points) -> JobReading:
    return JobReading(Job("b", "baseten", job, JobStatus.RUNNING, project="p"), found)


READINGS = (
    reading(
        "j1",
        points("gpu_utilization", 0.02, ("gpu", "0"), ("node", "a")),
        points("gpu_temperature_celsius", 90.0, ("gpu", "0"), ("node", "a")),
        points("memory_utilization", 0.95, ("node", "a")),
    ),
    reading(ODD, points("gpu_utilization", 0.9, ("gpu", "0"), ("node", "a"))),
)


class Source:
    """A source that always says the same."""

    name, provider, step = "b", "baseten", 60.0

    def poll(self, request: PollRequest) -> Poll:
        return Poll("b", request.now, request.now, READINGS)

    def close(self) -> None:
        pass


class Rig:
    """The real loop, store and HTTP server."""

    def __init__(self, folder: Path, access: Access) -> None:
        self.store = SqlStore(f"sqlite:///{folder}/watchdog.db")
        source = Source()
        engine = Engine(program_of(RULES, [source_info(source, 60.0, None)]), Snapshot(), NOW)
        guard = Guard()
        self.loop = Loop(
            engine=engine,
            poller=Poller({"b": (source, 60.0)}, lambda: NOW),
            store=self.store,
            clock=lambda: NOW,
            guard=guard,
            period=3600.0,
            wake=lambda _: None,
        )
        self.loop.metrics.watch(self.loop.health, lambda: outbox_families(self.store, NOW), guard.count)
        self.loop.metrics.receivers(["ml", "pager"])
        routes = [
            *api.routes(self.loop.desk, lambda: NOW),
            *v2.routes(self.loop.desk, time.time, self.loop.saving.at_once, access, NOW),
            metrics_route(self.loop.metrics, self.loop.desk, lambda: NOW),
        ]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            listen = f"127.0.0.1:{probe.getsockname()[1]}"
        self.url = f"http://{listen}"
        self.server = HttpServer(make_app(self.loop.health, lambda: 60.0, routes, access), listen)
        self.server.start()
        self.thread = threading.Thread(target=self.loop.run)
        self.thread.start()
        self.loop.desk.put(lambda _: None).result(20)  # the first tick is over
        self.client = httpx.Client(
            base_url=self.url, transport=httpx.HTTPTransport(retries=20), timeout=20, trust_env=False
        )

    def get(self, path: str, **query: Any) -> Any:
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def close(self) -> None:
        self.loop.stop.set()
        self.thread.join(10)
        self.client.close()
        self.server.stop()
        self.store.close()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, Access(TOKEN))
    yield rig
    rig.close()


def amtool(rig: Rig, folder: Path, *arguments: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    program = shutil.which("amtool")
    assert program, "amtool is missing; install Debian's package prometheus-alertmanager"
    config = folder / "amtool.json"
    config.write_text(json.dumps({"authorization": {"credentials": token}}))
    command = [program, f"--alertmanager.url={rig.url}", f"--http.config.file={config}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def test_amtool_queries_alerts(rig: Rig, tmp_path: Path) -> None:
    found = json.loads(amtool(rig, tmp_path, "alert", "query", "--output=json").stdout)
    assert [(one["labels"]["alertname"], one["status"]["state"]) for one in found] == [("Idle", "active")]
    assert found[0]["annotations"] == {"summary": "j1 idles"}
    assert [receiver["name"] for receiver in found[0]["receivers"]] == ["ml", "pager"]
    found = json.loads(amtool(rig, tmp_path, "alert", "query", "--inhibited", "--output=json").stdout)
    assert [(one["labels"]["alertname"], one["status"]["inhibitedBy"]) for one in found] == [("Full", ["Idle"])]
    none = amtool(rig, tmp_path, "alert", "query", "severity=critical", "--output=json")
    assert (none.returncode, none.stdout.strip()) == (0, "[]"), none.stderr


def test_amtool_adds_lists_and_expires_a_silence(rig: Rig, tmp_path: Path) -> None:
    added = amtool(
        rig, tmp_path, "silence", "add", "alertname=Idle", 'job=~"j.*"', "-d", "2h", "-c", "known", "-a", "ann"
    )
    assert added.returncode == 0, added.stderr
    id_ = added.stdout.strip()
    (found,) = json.loads(amtool(rig, tmp_path, "silence", "query", "--output=json").stdout)
    assert (found["id"], found["createdBy"], found["comment"]) == (id_, "ann", "known")
    assert [(m["name"], m["value"], m["isRegex"], m["isEqual"]) for m in found["matchers"]] == [
        ("alertname", "Idle", False, True),
        ("job", "j.*", True, True),
    ]
    assert [one.id for one in rig.store.silences()] == [id_], "it is written down"
    (alert,) = json.loads(amtool(rig, tmp_path, "alert", "query", "--silenced", "--output=json").stdout)
    assert (alert["labels"]["alertname"], alert["status"]["silencedBy"]) == ("Idle", [id_])

    expired = amtool(rig, tmp_path, "silence", "expire", id_)
    assert expired.returncode == 0, expired.stderr
    assert amtool(rig, tmp_path, "silence", "query", "--output=json").stdout.strip() == "[]"
    (stored,) = rig.store.silences()
    assert stored.starts_at < stored.ends_at <= time.time()


def test_amtool_without_the_token_writes_nothing(rig: Rig, tmp_path: Path) -> None:
    refused = amtool(rig, tmp_path, "silence", "add", "a=b", "-c", "x", "-a", "y", token="wrong-token")
    assert refused.returncode != 0
    assert rig.store.silences() == ()
    assert TOKEN not in refused.stderr + refused.stdout


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Bearer {TOKEN}"}, 400),
        ({"Authorization": f"bearer {TOKEN}"}, 400),
    ],
)
def test_writing_needs_the_token(rig: Rig, headers: dict[str, str], status: int) -> None:
    assert rig.client.post("/api/v2/silences", headers=headers, json={}).status_code == status


@pytest.mark.parametrize(
    ("access", "path", "token", "status"),
    [
        (Access(), "/api/v2/alerts", "", 200),
        (Access(TOKEN, closed=True), "/api/v2/alerts", "", 401),
        (Access(TOKEN, closed=True), "/metrics", "", 401),
        (Access(TOKEN, closed=True), "/api/v1/rules", "wrong", 401),
        (Access(TOKEN, closed=True), "/api/v1/rules", TOKEN, 200),
        (Access(TOKEN, closed=True), "/metrics", TOKEN, 200),
        (Access(TOKEN, closed=True), "/healthz", "", 200),
        (Access(None, closed=True), "/metrics", "", 403),
    ],
)
def test_reading_can_be_closed(tmp_path: Path, access: Access, path: str, token: str, status: int) -> None:
    rig = Rig(tmp_path, access)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        assert rig.client.get(path, headers=headers).status_code == status
    finally:
        rig.close()


def test_without_a_token_writing_is_off(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Access())
    try:
        answer = rig.client.post("/api/v2/silences", headers={"Authorization": "Bearer x"}, json={})
        assert answer.status_code == 403
        assert "WATCHDOG_API_TOKEN" in answer.text
    finally:
        rig.close()


GOOD = {
    "matchers": [{"name": "job", "value": "j1", "isRegex": False, "isEqual": True}],
    "startsAt": "2020-01-01T00:00:00Z",
    "endsAt": "2999-01-01T00:00:00.000Z",
    "createdBy": "ann",
    "comment": "",
}


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({}, 200, ""),
        ({"matchers": []}, 400, "needs a matcher"),
        ({"matchers": None}, 400, "needs a matcher"),
        ({"matchers": [{"name": "job", "value": 1}]}, 400, "a matcher is"),
        ({"matchers": [{"name": "a-b", "value": "c"}]}, 400, "is not a matcher"),
        ({"matchers": [{"name": "job", "value": "(", "isRegex": True}]}, 400, "regular expression"),
        ({"matchers": [{"name": "job", "value": "", "isEqual": True}]}, 400, "would silence everything"),
        ({"endsAt": "tomorrow"}, 400, "is not a time"),
        ({"endsAt": "2020-01-01T00:00:00Z"}, 400, "in the future"),
        ({"endsAt": 5}, 400, "is not a text"),
        ({"comment": "x" * 1001}, 400, "at most 1000"),
        ({"id": "nobody"}, 404, "there is no silence nobody"),
        ({"untilJobEnds": "j1"}, 400, "untilJobEnds is"),
        ({"untilJobEnds": {"source": "b", "job": "j1"}}, 200, ""),
    ],
)
def test_what_a_silence_may_be(rig: Rig, change: dict[str, Any], status: int, reason: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = rig.client.post("/api/v2/silences", headers=headers, json={**GOOD, **change})
    assert answer.status_code == status, answer.text
    assert reason in answer.text
    assert len(rig.store.silences()) == (status == 200)
    if status == 200:
        found = rig.get(f"/api/v2/silence/{answer.json()['silenceID']}")
        assert found["status"] == {"state": "active"}
        assert found.get("untilJobEnds") == change.get("untilJobEnds")


def test_a_silence_that_cannot_be_written_down_is_refused_and_not_in_force(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    id_ = rig.client.post("/api/v2/silences", headers=headers, json=GOOD).json()["silenceID"]
    before = rig.get("/api/v2/silences")

    def fail(*_: object) -> None:
        raise StoreError("the disk is full; make room")

    with monkeypatch.context() as patch:
        patch.setattr(rig.store, "commit", fail)
        made = rig.client.post("/api/v2/silences", headers=headers, json=GOOD)
        changed = rig.client.post("/api/v2/silences", headers=headers, json={**GOOD, "id": id_, "comment": "other"})
        ended = rig.client.delete(f"/api/v2/silence/{id_}", headers=headers)
    for answer in (made, changed, ended):
        assert answer.status_code == 503
        assert "the disk is full; make room" in answer.text
    assert rig.get("/api/v2/silences") == before
    assert rig.client.delete(f"/api/v2/silence/{id_}", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/v2/silences", b"{", 400),
        ("POST", "/api/v2/silences", b"[]", 400),
        ("POST", "/api/v2/silences", b" " * 70_000, 400),
        ("POST", "/api/v2/alerts", b"[]", 405),
        ("DELETE", "/api/v2/silence/nobody", b"", 404),
        ("GET", "/api/v2/silence/nobody", b"", 404),
        ("GET", "/api/v2/alerts?filter=x", b"", 400),
        ("GET", "/api/v2/nothing", b"", 404),
        ("PUT", "/api/v2/alerts", b"", 405),
    ],
)
def test_what_makes_no_sense_is_refused(rig: Rig, method: str, path: str, body: bytes, status: int) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert rig.client.request(method, path, headers=headers, content=body).status_code == status


def test_status_receivers_and_groups(rig: Rig) -> None:
    assert rig.get("/api/v2/status")["cluster"] == {"status": "disabled", "peers": []}
    assert rig.get("/api/v2/receivers") == []
    groups = rig.get("/api/v2/alerts/groups")
    found = [
        (g["receiver"]["name"], g["labels"]["job"], [a["labels"]["alertname"] for a in g["alerts"]]) for g in groups
    ]
    assert sorted(found) == [("ml", "j1", ["Idle", "Full"]), ("pager", "j1", ["Idle"])]
    assert [g["receiver"]["name"] for g in rig.get("/api/v2/alerts/groups", receiver="pager")] == ["ml", "pager"]


def test_rules_and_alerts_as_in_prometheus(rig: Rig) -> None:
    (group,) = rig.get("/api/v1/rules")["data"]["groups"]
    assert [(rule["name"], rule["state"], rule["health"]) for rule in group["rules"]] == [
        ("Idle", "firing", "ok"),
        ("Hot", "pending", "ok"),
        ("Full", "firing", "ok"),
        ("Broken", "inactive", "err"),
    ]
    assert "match the same group" in group["rules"][3]["lastError"]
    assert group["rules"][1]["duration"] == 3600.0
    alerts = rig.get("/api/v1/alerts")["data"]["alerts"]
    assert sorted((one["labels"]["alertname"], one["state"], one["value"]) for one in alerts) == [
        ("Full", "firing", "0.95"),
        ("Hot", "pending", "90"),
        ("Idle", "firing", "0.02"),
    ]
    assert rig.get("/api/v1/rules", type="record")["data"]["groups"][0]["rules"] == []
    named = rig.get("/api/v1/rules", **{"rule_name[]": "Hot"})["data"]["groups"][0]["rules"]
    assert [rule["name"] for rule in named] == ["Hot"]


def test_metrics_tell_of_watchdog_and_of_the_jobs(rig: Rig) -> None:
    answer = rig.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    for line in (
        'gpu_utilization{gpu="0",job="j1",node="a",project="p",provider="baseten",source="b"} 0.02',
        'gpu_utilization{gpu="0",job="j \\"2\\"\\n\\\\",node="a",project="p",provider="baseten",source="b"} 0.9',
        'watchdog_alerts{state="firing"} 2.0',
        'watchdog_alerts{state="pending"} 1.0',
        "watchdog_rule_group_iterations_total 1.0",
        'watchdog_rule_evaluation_failures_total{rule="Broken"} 1.0',
        'watchdog_notifications_total{receiver="pager"} 0.0',
        "watchdog_oldest_undelivered_transition_age_seconds 0.0",
        "watchdog_store_writable 1.0",
    ):
        assert line in lines, line
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing; install Debian's package prometheus"
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=answer.text, capture_output=True, text=True, check=False
    )
    assert [line for line in checked.stderr.splitlines() if line.startswith("watchdog_")] == []
    assert "error" not in checked.stderr


def test_the_real_prometheus_scrapes_without_a_warning(rig: Rig, tmp_path: Path) -> None:
    server = shutil.which("prometheus")
    assert server, "Prometheus is missing; install Debian's package prometheus"
    target = rig.url.removeprefix("http://")
    (tmp_path / "prometheus.yml").write_text(
        "scrape_configs: [{job_name: watchdog, honor_labels: true, scrape_interval: 1s, "
        f"static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{probe.getsockname()[1]}"
    flags = [f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
    log = tmp_path / "log"
    with log.open("wb") as file:
        process = subprocess.Popen([server, *flags, f"--web.listen-address={listen}"], stdout=file, stderr=file)
    try:
        client = httpx.Client(base_url=f"http://{listen}", transport=httpx.HTTPTransport(retries=9), trust_env=False)
        with client:
            found: list[Any] = []
            while not found:
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
                answer = client.get("/api/v1/query", params={"query": 'gpu_utilization{job="j1"}'})
                found = answer.json()["data"]["result"] if answer.status_code == 200 else []
        assert found[0]["value"][1] == "0.02"
        assert "level=warn" not in log.read_text(), log.read_text()
    finally:
        process.terminate()
        process.wait(10)


def test_the_page_names_every_metric_and_address(rig: Rig) -> None:
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
    types = [
        line.split()[2] for line in rig.client.get("/metrics").text.splitlines() if line.startswith("# TYPE watchdog_")
    ]
    names = [name for name in types if not name.endswith("_created")]
    assert len(names) > 20
    assert [name for name in names if f"`{name}`" not in page] == []
    for path in ("alerts", "alerts/groups", "silences", "silence/{id}", "status", "receivers"):
        assert f"`/api/v2/{path}`" in page
