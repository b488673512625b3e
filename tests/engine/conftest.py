"""A small world for the engine: one source, jobs whose samples the test decides, a clock that the test turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from watchdog.engine.engine import Engine, TickResult
from watchdog.engine.program import Program, program_of
from watchdog.jobs.sources import SourceInfo
from watchdog.model import (
    Alert,
    AlertState,
    Changes,
    Incident,
    Job,
    JobKey,
    JobReading,
    JobRecord,
    JobStatus,
    Notification,
    Points,
    Poll,
    Snapshot,
)
from watchdog.rules.model import Route, Rule, Ruleset
from watchdog.vocabulary import RESOURCE_METRICS

STEP = 60.0
T0 = 1_772_442_000.0
"""2026-03-02 09:00:00 UTC."""

IDLE = Rule(
    name="GPUIdle",
    expr="max_over_time(gpu_utilization[10m]) < 0.05",
    place="rules.toml:1",
    labels={"severity": "warning"},
    summary="GPU {{ labels.gpu }} of {{ labels.job_name }} is idle",
)
FAILED = Rule(
    name="JobFailed",
    expr='job_status{status="failed"} == 1',
    place="rules.toml:9",
    event=True,
    labels={"severity": "critical"},
    summary="{{ labels.job_name }} failed: {{ job.error }}",
)
DOWN = Rule(name="SourceDown", expr="source_up == 0", place="rules.toml:19", for_seconds=300.0, summary="down")
JOB = Job(
    source="cloud",
    provider="baseten",
    job="j1",
    status=JobStatus.RUNNING,
    project="p1",
    job_name="sft",
    gpu_type="H100",
    gpus=2,
    nodes=1,
)


def program(*rules: Rule, stale_after: float = 300.0, routes: tuple[Route, ...] = (Route(("slack",)),)) -> Program:
    ruleset = Ruleset(STEP, (), (), routes, rules or (IDLE, FAILED, DOWN), checksum="x")
    made = program_of(ruleset, [SourceInfo("cloud", STEP, STEP, stale_after)])
    return replace(made, terms=replace(made.terms, send_resolved={"slack": True}))


@dataclass
class Store:
    """What a real store would keep: the newest form of everything, and the outbox in order."""

    jobs: dict[JobKey, JobRecord] = field(default_factory=dict)
    alerts: dict[str, Alert] = field(default_factory=dict)
    incidents: dict[str, Incident] = field(default_factory=dict)
    outbox: list[Notification] = field(default_factory=list)
    at: float | None = None

    def commit(self, changes: Changes) -> None:
        self.at = changes.at
        self.jobs.update({record.job.key: record for record in changes.jobs})
        for fingerprint in changes.forgotten_alerts:
            self.alerts.pop(fingerprint, None)
        self.alerts.update({alert.fingerprint: alert for alert in changes.alerts})
        self.incidents.update({incident.id: incident for incident in changes.incidents})
        self.outbox += changes.outbox

    def snapshot(self) -> Snapshot:
        found = (tuple(self.jobs.values()), tuple(self.alerts.values()), tuple(self.incidents.values()))
        return Snapshot(*found, at=self.at)


class World:
    """Drives an engine minute by minute. ``gpu`` gives the utilization of each GPU at a time, None for a gap."""

    def __init__(self, rules: Program | None = None, job: Job = JOB) -> None:
        self.program = rules or program()
        self.store = Store()
        self.now = T0
        self.job = job
        self.engine = self._start()
        self.results: list[TickResult] = []

    def _start(self) -> Engine:
        return Engine(self.program, self.store.snapshot(), self.now)

    def restart(self, rules: Program | None = None) -> None:
        """Lose all memory and begin again from the store."""
        self.program = rules or self.program
        self.engine = self._start()

    def reading(
        self,
        gpus: Mapping[str, float | None],
        *,
        minutes: int = 1,
        metric: str = "gpu_utilization",
        job: Job | None = None,
    ) -> JobReading:
        """A reading with the last ``minutes`` samples up to now, the same value in each."""
        points = [
            Points(
                metric,
                (("gpu", gpu), ("node", "n0")),
                [self.now - STEP * back for back in range(minutes)],
                [value] * minutes,
            )
            for gpu, value in gpus.items()
            if value is not None
        ]
        return JobReading(job or self.job, tuple(points))

    def tick(self, *readings: JobReading, error: str = "", minutes: float = 1.0, **poll: object) -> TickResult:
        """Let time pass, poll, judge, commit."""
        started = self.now
        made = Poll("cloud", started, started, readings=readings, error=error, **poll)  # type: ignore[arg-type]
        result = self.engine.tick(self.now, [made])
        self.store.commit(result.changes)
        self.results.append(result)
        self.now += STEP * minutes
        return result

    def run(self, minutes: int, **gpus: float | None) -> list[Notification]:
        """Tick once a minute with these utilizations (``g0=0.9``); return what was said."""
        before = len(self.store.outbox)
        for _ in range(minutes):
            self.tick(self.reading({name.removeprefix("g"): value for name, value in gpus.items()}))
        return self.store.outbox[before:]

    def silent(self, minutes: int, *, failed: bool = False, error: str = "") -> list[Notification]:
        """Tick with readings without samples (or none at all, when the source is down)."""
        before = len(self.store.outbox)
        for _ in range(minutes):
            lost = JobReading(self.job, failed_metrics=RESOURCE_METRICS if failed else frozenset())
            self.tick(*([] if error else [lost]), error=error)
        return self.store.outbox[before:]

    def firing(self) -> dict[str, Alert]:
        """Firing alerts by rule and GPU."""
        found: Iterable[Alert] = self.engine.judge.alerts.values()
        return {
            f"{alert.rule}{dict(alert.instance).get('gpu', '')}": alert
            for alert in found
            if alert.state is AlertState.FIRING
        }


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def make_world() -> type[World]:
    return World


@pytest.fixture
def rules() -> object:
    """Make a program of the idle rule with changes."""

    def make(replace_expr: str | None = None, **changes: object) -> Program:
        expr = {} if replace_expr is None else {"expr": replace_expr}
        return program(replace(IDLE, **expr, **changes), FAILED, DOWN)  # type: ignore[arg-type]

    return make
