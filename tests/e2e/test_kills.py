"""The real service on a real file, killed with SIGKILL again and again; then the history is checked.

``WATCHDOG_KILLS`` says how often (100). Jobs come and go at a simulated cloud meanwhile; a strict simulated Slack and
a real webhook take what is said. What must hold is what must hold of the simulated histories too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from faultsim.invariants import violations
from faultsim.run import History, Posted

from watchdog.model import JobStatus
from watchdog.simulated import baseten, slack
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.server import FakeServer, Request, Response
from watchdog.simulated.slack import FakeSlack
from watchdog.simulated.slack_workspace import FakeChannel
from watchdog.simulated.world import SimJob, World
from watchdog.store import SqlStore

KILLS = int(os.environ.get("WATCHDOG_KILLS", "100"))
SEED = 20_261
ENDS = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.STOPPED)
REASONS = {
    JobStatus.COMPLETED: "job completed",
    JobStatus.FAILED: "job failed",
    JobStatus.STOPPED: "stopped by its user",
}
RULES = """
[poll]
interval = "1s"
[[sources]]
name = "baseten"
type = "baseten"
base_url = "{cloud}"
[[receivers]]
name = "slack"
type = "slack"
channel = "alerts"
base_url = "{slack}/api/"
[[receivers]]
name = "hook"
type = "webhook"
url = "{hook}"
[[routes]]
receivers = ["slack", "hook"]
[[rules]]
alert = "Running"
expr = 'job_status{{status="running"}} == 1'
labels = {{ severity = "critical" }}
[[rules]]
alert = "JobFailed"
expr = 'job_status{{status="failed"}} == 1'
event = true
labels = {{ severity = "critical" }}
"""


@dataclass
class Hook:
    """A webhook that takes its time, so that processes die while they wait for it."""

    random: Random
    posted: list[Posted] = field(default_factory=list)
    bodies: dict[str, set[str]] = field(default_factory=dict)

    def handle(self, request: Request) -> Response:
        body, name = json.loads(request.body), request.headers["webhook-id"]
        self.posted.append(Posted(name, time.time(), body["status"], body["notification_reason"]))
        self.bodies.setdefault(name, set()).add(json.dumps([body["status"], body["alerts"]]))
        time.sleep(self.random.choice((0.0, 0.0, 0.1)))
        return Response(200)


class Killed:
    """A service that is started, and killed at a moment that the dice choose."""

    def __init__(self, rules: Path, folder: Path) -> None:
        self.command = [sys.executable, "-m", "watchdog", "run", "-c", str(rules)]
        self.log = folder / "log.txt"
        self.environment = {
            **os.environ,
            "BASETEN_API_KEY": baseten.KEY,
            "SLACK_BOT_TOKEN": slack.TOKEN,
            "WATCHDOG_STORE": f"sqlite:///{folder}/watchdog.db",
            "WATCHDOG_LISTEN": "127.0.0.1:0",
        }

    def live(self, until: Callable[[], bool], *, kill: bool) -> int:
        """Run a process until then; return its exit status."""
        with (
            self.log.open("a") as log,
            subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=log) as process,
        ):
            try:
                wait_for(until, 120.0)
                process.kill() if kill else process.terminate()
                return process.wait(20)
            finally:
                process.kill()

    def polls(self) -> int:
        return self.log.read_text().count(" INFO polled ") if self.log.exists() else 0


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def later(seconds: float, after: Callable[[], bool] = lambda: True) -> Callable[[], bool]:
    """Return a condition that holds this long after ``after`` first held."""
    since: list[float] = []

    def condition() -> bool:
        if not since and after():
            since.append(time.monotonic())
        return bool(since) and time.monotonic() - since[0] >= seconds

    return condition


def job(number: int, random: Random) -> SimJob:
    """Return a job that begins now and ends in half a minute or so."""
    now = time.time()
    end = (now + random.uniform(10.0, 40.0), random.choice(ENDS))
    timeline = [(now - 1.0, JobStatus.STARTING), (now, JobStatus.RUNNING), end]
    return SimJob(
        id=f"job{number}",
        name=f"train-{number}",
        project="p",
        project_name="project",
        signal=lambda *_: None,
        timeline=timeline,
        error="CUDA out of memory",
    )


def history_of(fake: FakeSlack, hook: Sequence[Posted], folder: Path, kills: int) -> History:
    """Return what the checks of the simulated histories read, of this real one."""
    file = folder / "watchdog.db"
    wire = SimpleNamespace(lied=0)
    history = SimpleNamespace(
        slack=SimpleNamespace(workspace=fake.workspace, scopes=fake.scopes, lost=set(), deleted=[]),
        disk=SimpleNamespace(url=f"sqlite:///{file}", file=file),
        dice=SimpleNamespace(drawn=Counter()),
        wires={"slack": wire, "hook": wire},
        hook=list(hook),
        crashes=kills,
        rested=True,
    )
    return cast("History", history)


def untrue(store: SqlStore, jobs: Sequence[SimJob], hook: Hook) -> list[str]:
    """Return what was not said of these jobs, or said otherwise than it was."""
    found = []
    records = {record.job.job: record for record in store.jobs()}
    words = " ".join(text for texts in hook.bodies.values() for text in texts)
    failed = Counter(
        alert["labels"]["job"]
        for texts in hook.bodies.values()
        for alert in {a["fingerprint"]: a for t in texts for a in json.loads(t)[1]}.values()
        if alert["labels"]["alertname"] == "JobFailed"
    )
    for one in jobs:
        record = records.get(one.id)
        status = one.timeline[-1][1]
        if record is None or record.end_reason != REASONS[status]:
            found.append(f"{one.id}: {status.value}, and the record says {record and record.end_reason}")
        if f'"{one.id}"' not in words:
            found.append(f"{one.id}: nobody was told of it")
        if bool(failed[one.id]) != (status is JobStatus.FAILED):
            found.append(f"{one.id}: {status.value}, and its failure was told {failed[one.id]} times")
    return found


@pytest.fixture(scope="module")
def survived(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Kill the service, let it come to rest, and return everything that can be looked at."""
    folder, random = tmp_path_factory.mktemp("kills"), Random(SEED)
    world, hook = World([], time.time), Hook(Random(SEED))
    fake = FakeSlack(time.time, channels=(FakeChannel("C0ALERTS", "alerts"),))
    with (
        FakeServer(FakeBaseten(world).handle) as cloud,
        FakeServer(fake.handle) as chat,
        FakeServer(hook.handle) as web,
    ):
        rules = folder / "rules.toml"
        rules.write_text(RULES.format(cloud=cloud.url, slack=chat.url, hook=web.url), encoding="utf-8")
        service = Killed(rules, folder)
        for number in range(KILLS):
            if number % 2 == 0:
                world.jobs.append(job(number, random))
            seen = service.polls()
            at_work = (lambda seen=seen: service.polls() > seen) if random.random() < 0.8 else (lambda: True)
            assert service.live(later(random.uniform(0.0, 1.2), at_work), kill=True) == -9
        store = SqlStore(f"sqlite:///{folder}/watchdog.db")
        ends = max(one.timeline[-1][0] for one in world.jobs)

        def at_rest() -> bool:
            over = time.time() > ends and not any(record.active for record in store.jobs())
            return over and not store.outbox_depth() and all(i.closed_at is not None for i in store.incidents())

        assert service.live(later(2.0, at_rest), kill=False) == 0
    yield SimpleNamespace(folder=folder, fake=fake, hook=hook, jobs=world.jobs, store=store, log=service.log)
    store.close()


def test_nothing_is_lost_and_nothing_is_said_twice(
    survived: Any, record_property: Callable[[str, object], None]
) -> None:
    history = history_of(survived.fake, survived.hook.posted, survived.folder, KILLS)
    assert violations(history, delivery_only=True) == []
    assert untrue(survived.store, survived.jobs, survived.hook) == []
    assert survived.fake.too_early == []
    assert [name for name, bodies in survived.hook.bodies.items() if len(bodies) > 1] == [], "a copy says the same"
    log = survived.log.read_text()
    assert "Traceback" not in log
    posted, names = len(survived.hook.posted), len(survived.hook.bodies)
    messages = len(survived.fake.workspace.messages)
    record_property(
        "figure",
        f"kills: {KILLS}, {len(survived.jobs)} jobs, {names} transitions and {posted - names} copies at the webhook, "
        f"{messages} messages in Slack, none lost, none twice",
    )
    assert names >= len(survived.jobs), "it proves nothing otherwise"


@pytest.mark.parametrize("damage", ["parent", "text", "copy", "order", "transition"])
def test_the_checks_notice_damage(survived: Any, damage: str) -> None:
    workspace, posted = survived.fake.workspace, list(survived.hook.posted)
    before = list(workspace.messages)
    parent = next(message for message in workspace.parents() if workspace.thread(message.ts))
    reply = workspace.thread(parent.ts)[0]
    text = parent.text
    if damage == "parent":
        workspace.delete(parent.ts)
    elif damage == "text":
        parent.text = "Critical: something else"
    elif damage == "copy":
        workspace.messages.append(reply)
    elif damage == "order":
        posted.reverse()
    else:
        posted = [item for item in posted if item.id != posted[0].id]
    try:
        assert violations(history_of(survived.fake, posted, survived.folder, KILLS), delivery_only=True) != []
    finally:
        workspace.messages, parent.text = before, text
