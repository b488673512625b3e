"""What the tests of receivers share: a clock that sleeping moves, and makers of incidents and deliveries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from watchdog.model import AlertView, IncidentView, Job, JobStatus, Notification, Reason, Receipt, labels_of
from watchdog.receivers import RECEIVER_TYPES, Pacer, ReceiverContext
from watchdog.simulated.server import FakeServer
from watchdog.simulated.slack import HOOK, TOKEN, FakeSlack

NOON = 1_772_452_800.0
"""2026-03-02 12:00 UTC."""


@dataclass
class Clock:
    """A clock that only sleeping moves."""

    now: float = NOON
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Secrets:
    """Secrets by name, which a test may change at any time."""

    def __init__(self, **values: str) -> None:
        self.values = values

    def find(self, name: str) -> str | None:
        return self.values.get(name)


@dataclass
class FakeDelivery:
    """A delivery that writes down what it is asked to keep."""

    notifications: Sequence[Notification]
    current: IncidentView
    receipt: Receipt | None
    now: float
    plain: bool = False
    maybe_sent: bool = False
    kept: list[Receipt] = field(default_factory=list)
    newest: Receipt | None = None

    def recent(self) -> Receipt | None:
        return self.newest

    def keep(self, receipt: Receipt) -> None:
        self.kept.append(dict(receipt))


class Make:
    """Makes the values of one incident: three idle GPUs of a job on a node."""

    noon = NOON

    def job(self, **changes: Any) -> Job:
        job = Job(
            source="baseten",
            provider="baseten",
            job="abc123",
            status=JobStatus.RUNNING,
            provider_status="TRAINING_JOB_RUNNING",
            project="p1",
            project_name="llm",
            job_name="train-7b",
            owner="ada",
            gpu_type="H100",
            gpus=8,
            nodes=1,
            cost_usd_per_hour=20.0,
            url="https://provider.example/jobs/abc123",
        )
        return replace(job, **changes)

    def alert(self, gpu: str = "3", node: str = "node-1", **changes: Any) -> AlertView:
        name = changes.get("name", "GPUIdle")
        alert = AlertView(
            fingerprint=f"{abs(hash((name, gpu, node))):016x}"[-16:],
            name=name,
            status="firing",
            severity="warning",
            labels=labels_of({"alertname": name, "gpu": gpu, "node": node, "job": "abc123", "source": "baseten"}),
            summary=f"GPU {gpu} of train-7b has been idle for 20m",
            description="",
            runbook_url="",
            starts_at=NOON - 1200,
            ends_at=None,
            value=0.02,
            worst=0.0,
            unknown=False,
            event=False,
            end_reason="",
            expr="max_over_time(gpu_utilization[20m]) < 0.05",
        )
        return replace(alert, **changes)

    def ended(self, alert: AlertView, reason: str = "resolved", at: float = NOON) -> AlertView:
        return replace(alert, status="resolved", ends_at=at, end_reason=reason)

    def view(self, *alerts: AlertView, job: Job | str | None = "", **changes: Any) -> IncidentView:
        shown = alerts or (self.alert(),)
        firing = [alert for alert in shown if alert.status == "firing" and not alert.event]
        view = IncidentView(
            id="inc1",
            group_key='{}:{job="abc123", source="baseten"}',
            group_labels=(("job", "abc123"), ("source", "baseten")),
            status="firing" if firing else "resolved",
            severity=(firing or shown)[0].severity,
            opened_at=NOON,
            closed_at=None if firing else NOON + 600,
            alerts=tuple(shown),
            job=self.job() if job == "" else job,  # type: ignore[arg-type]
        )
        return replace(view, **changes)

    def note(
        self, view: IncidentView | None = None, reason: Reason = Reason.FIRST, sequence: int = 1, **changes: Any
    ) -> Notification:
        shown = view or self.view()
        note = Notification(
            id=f"inc1-r-{sequence}",
            incident="inc1",
            receiver="r",
            sequence=sequence,
            reason=reason,
            ping=reason in (Reason.FIRST, Reason.SEVERITY, Reason.REPEAT, Reason.REFIRED, Reason.EVENT),
            created_at=NOON,
            changed=tuple(alert.fingerprint for alert in shown.alerts),
            view=shown,
        )
        return replace(note, **changes)

    def delivery(self, *notes: Notification, receipt: Receipt | None = None, **changes: Any) -> FakeDelivery:
        told = notes or (self.note(),)
        found = FakeDelivery(notifications=told, current=told[-1].view, receipt=receipt, now=NOON + 1)
        return replace(found, **changes)

    def resolved(self, sequence: int = 2, **changes: Any) -> Notification:
        view = self.view(self.ended(self.alert(), changes.pop("end_reason", "resolved")))
        return self.note(view, Reason.ALL_RESOLVED, sequence, created_at=NOON + 600, **changes)


@dataclass
class Bench:
    """A simulated Slack on loopback, a clock, secrets, and receivers built against them."""

    slack: FakeSlack
    url: str
    clock: Clock
    secrets: Secrets
    written: list[str]
    built: list[Any] = field(default_factory=list)

    @property
    def hook(self) -> str:
        return self.url + HOOK

    @property
    def context(self) -> ReceiverContext:
        pacer = Pacer(self.clock, self.clock.sleep)
        return ReceiverContext(self.secrets, self.clock, self.clock.sleep, self.written.append, pacer)

    def build_together(self, *options: Mapping[str, Any]) -> list[Any]:
        """Build Slack receivers as one process does: with one pacer."""
        context, found = self.context, RECEIVER_TYPES["slack"]
        base = {"name": "r", "type": "slack", "base_url": f"{self.url}/api/", "channel": "#gpu-alerts"}
        self.built += [found.build(found.config.model_validate({**base, **more}), context) for more in options]
        return self.built[-len(options) :]

    def build(self, kind: str, **options: Any) -> Any:
        if kind == "slack":
            options = {"base_url": f"{self.url}/api/", "channel": "#gpu-alerts", **options}
        section: Mapping[str, Any] = {"name": "r", "type": kind, **options}
        found = RECEIVER_TYPES[kind]
        receiver = found.build(found.config.model_validate(section), self.context)
        self.built.append(receiver)
        return receiver


@pytest.fixture
def make() -> Make:
    return Make()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def serve() -> Iterator[Callable[[Any], str]]:
    """Start servers for handlers; returns their addresses."""
    servers: list[FakeServer] = []

    def start(handler: Any) -> str:
        server = FakeServer(handler)
        servers.append(server)
        server.start()
        return server.url

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def bench(clock: Clock, serve: Callable[[Any], str]) -> Iterator[Bench]:
    slack = FakeSlack(clock)
    bench = Bench(slack, serve(slack.handle).rstrip("/"), clock, Secrets(SLACK_BOT_TOKEN=TOKEN), [])
    yield bench
    for receiver in bench.built:
        receiver.close()
