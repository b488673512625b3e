"""The real engine over a real store, on a clock that the test turns, with series that the test makes up.

One running job; its GPUs are the instances of the tables, their utilization is the value. ``differs`` marks a
test of a deliberate difference by its name in docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from watchdog.delivery import Policy, Sender, SenderEvent
from watchdog.engine.engine import Engine
from watchdog.engine.program import Program, program_of
from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.jobs.sources import SourceInfo
from watchdog.model import Alert, Job, JobReading, JobStatus, Notification, Points, Poll, Receipt
from watchdog.ports import Delivery, Receiver
from watchdog.rules.model import Route, Rule, Ruleset
from watchdog.store import SqlStore

T0 = 1_772_442_000.0
"""2026-03-02 09:00:00 UTC: zero in every table."""
LETTERS = {"pending": "P", "firing": "F"}
METRIC = "gpu_utilization"
JOB = Job(
    source="cloud",
    provider="baseten",
    job="j1",
    status=JobStatus.RUNNING,
    project="p1",
    gpus=8,
    nodes=1,
    cost_usd_per_hour=20.0,
)
Series = Mapping[float, float]
"""Value by time, seconds after zero."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "differs(name): a deliberate difference, by its name in docs/semantics.md")


@dataclass
class Sink:
    """A receiver that refuses before ``works_from`` and takes everything after."""

    name: str
    clock: Callable[[], float]
    works_from: float = 0.0
    coalesces: bool = True
    taken: list[tuple[float, Delivery]] = field(default_factory=list)

    def deliver(self, delivery: Delivery) -> Receipt:
        if self.clock() < self.works_from:
            raise DeliveryError(DeliveryErrorKind.TRANSIENT, "no answer", reason="timeout", ambiguous=True)
        self.taken.append((self.clock(), delivery))
        return {}

    def close(self) -> None:
        """Nothing to free."""


class Rig:
    """An engine, its store and its receivers. Times are seconds after zero. Without routes nothing is stored."""

    def __init__(
        self, store: SqlStore, *rules: Rule, step: float, routes: tuple[Route, ...], send_resolved: Mapping[str, bool]
    ) -> None:
        self.store = store
        self.step = step
        self.routes = routes
        self.send_resolved = send_resolved
        self.job = JOB
        self.series: dict[str, dict[float, float]] = {}
        self.now = 0.0
        self.said: list[Notification] = []
        self.failures: Mapping[str, str] = {}
        self.senders: list[Sender] = []
        self.events: list[SenderEvent] = []
        self.program = self._program(rules)
        self.restart()

    def restart(self, *rules: Rule) -> None:
        """Lose all memory and begin again from the store, with these rules or those it had."""
        if rules:
            self.program = self._program(rules)
        self.engine = Engine(self.program, self.store.load(), T0 + self.now)
        self._first_read = True

    def reload(self, *rules: Rule) -> None:
        """Change the rules of the running engine."""
        self.program = self.engine.program = self._program(rules)
        self.engine.judge.replace_rules(self.program.rules)
        self.engine.book.terms = self.program.terms

    def sink(self, name: str, works_from: float = 0.0) -> Sink:
        """Put a receiver at the end of the outbox."""
        sink = Sink(name, lambda: self.now, works_from)
        self.attach(sink)
        return sink

    def attach(self, receiver: Receiver) -> None:
        """Put this receiver at the end of the outbox; it is asked again every second."""
        policy = Policy(first_wait=1.0, longest_wait=1.0)
        self.senders.append(Sender(receiver, self.store, clock=self.clock, on_event=self.events.append, policy=policy))

    def clock(self) -> float:
        """The time now, in unix seconds."""
        return T0 + self.now

    def has(self, **series: Series) -> None:
        """Say what the source measures, by GPU and time."""
        for gpu, values in series.items():
            self.series.setdefault(gpu, {}).update(values)

    def at(self, time: float) -> str:
        """Poll and judge once at ``time``; return the states of all GPUs, as ``states`` does."""
        since = time if not self._first_read else time - self.program.window
        self.now, self._first_read = time, False
        reading = JobReading(self.job, tuple(self._points(since, time)))
        result = self.engine.tick(T0 + time, [Poll("cloud", T0 + time, T0 + time, readings=(reading,))])
        if self.routes:
            self.store.commit(result.changes)
        self.said += result.notifications
        self.failures = result.failures
        for sender in self.senders:
            sender.step(T0 + time)
        return self.states()

    def states(self, gpu: str | None = None, rule: str | None = None) -> str:
        """Return P or F for each alert, by GPU; I when there is none."""
        alerts = [
            alert
            for alert in self.alerts()
            if gpu in (None, dict(alert.instance).get("gpu")) and rule in (None, alert.rule)
        ]
        return "".join(LETTERS[alert.state.value] for alert in alerts) or "I"

    def alerts(self) -> list[Alert]:
        """Return pending and firing alerts, by GPU."""
        found = self.engine.judge.alerts.values()
        return sorted(found, key=lambda alert: (dict(alert.instance).get("gpu", ""), alert.rule))

    def words(self, receiver: str = "slack") -> list[tuple[float, str, str]]:
        """Return what was said to a receiver: when, why, and which GPUs were firing in it."""
        return [word(row) for row in self.said if row.receiver == receiver]

    def _points(self, since: float, until: float) -> Iterator[Points]:
        for gpu, values in self.series.items():
            times = [time for time in sorted(values) if since <= time <= until]
            if times:
                labels = (("gpu", gpu), ("node", "n0"))
                yield Points(METRIC, labels, [T0 + time for time in times], [values[time] for time in times])

    def _program(self, rules: tuple[Rule, ...]) -> Program:
        ruleset = Ruleset(self.step, (), (), self.routes, rules, checksum="x")
        made = program_of(ruleset, [SourceInfo("cloud", self.step, self.step, 300.0)])
        return replace(made, terms=replace(made.terms, send_resolved=self.send_resolved))


def word(row: Notification) -> tuple[float, str, str]:
    """When, why, and which GPUs fire in it."""
    firing = sorted(dict(alert.labels).get("gpu", "?") for alert in row.view.alerts if alert.status == "firing")
    return round(row.created_at - T0, 3), row.reason.value, " ".join(firing)


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    stores: list[SqlStore] = []

    def make(
        *rules: Rule,
        step: float = 60.0,
        routes: tuple[Route, ...] = (Route(("slack",)),),
        send_resolved: Mapping[str, bool] | None = None,
    ) -> Rig:
        stores.append(SqlStore("sqlite://"))
        return Rig(stores[-1], *rules, step=step, routes=routes, send_resolved=send_resolved or {"slack": True})

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def rule() -> Callable[..., Rule]:
    """Make a rule on the value of each GPU, ``"> 50"`` and the like."""

    def make(condition: str = "> 50", for_: float = 0.0, keep: float = 0.0, name: str = "Hot", **more: object) -> Rule:
        expr = f"{METRIC} {condition}"
        made = Rule(name=name, expr=expr, place="rules.toml:1", for_seconds=for_, keep_firing_for=keep)
        return replace(made, **more)  # type: ignore[arg-type]

    return make
