"""The real parts put together: sources, starter rules and engine against the simulated clouds, on a turned clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from watchdog.bootstrap import (
    Environment,
    GivenSecrets,
    build_engine,
    build_program,
    build_sources,
    load_rules,
    point_at,
    starter_rules,
)
from watchdog.model import Alert, AlertState, JobStatus, Notification, Snapshot
from watchdog.rules.model import Route, Ruleset
from watchdog.settings import Settings
from watchdog.simulated import alayanew, baseten
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.faults import Faults
from watchdog.simulated.server import FakeServer
from watchdog.simulated.world import SimJob, World, steady

T0 = 1_772_442_000.0
SECRETS = {"BASETEN_API_KEY": baseten.KEY, "ALAYANEW_API_KEY": alayanew.KEY}
START = T0 - 7200.0


@dataclass(frozen=True)
class Turned(Environment):
    """An environment whose sleep turns the clock instead of waiting."""

    turn: Callable[[float], None] = print

    def sleep(self, seconds: float) -> None:
        self.turn(seconds)


def levels(utilization: float) -> SimJob:
    """One job of two GPUs on one node, running for two hours; ``extra["busy"]`` is its utilization now."""
    job = SimJob(
        id="5520017",
        name="sft",
        project="p1",
        project_name="proj",
        signal=steady(),
        timeline=[(START - 300.0, JobStatus.STARTING), (START, JobStatus.RUNNING)],
        gpu_type="NVIDIA-H800A-NV-80G",
        gpus_per_node=2,
        nodes=("sft-master-0",),
    )
    job.signal = steady(gpu_utilization=utilization)
    return job


@dataclass
class Cloud:
    """A simulated cloud with one job, watched by the real source, the starter rules and the real engine."""

    kind: str
    server: FakeServer
    world: World
    faults: Faults
    now: list[float]
    rules: Ruleset
    env: Environment
    said: list[Notification] = field(default_factory=list)
    snapshot: Snapshot = field(default_factory=Snapshot)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin without memory, from what was stored."""
        self.sources = build_sources(self.rules, self.env)
        self.engine = build_engine(build_program(self.rules, self.sources), self.snapshot, self.env)

    def restart(self) -> None:
        """Lose all memory."""
        for source in self.sources.values():
            source.close()
        self.start()

    def busy(self, utilization: float) -> None:
        """Let the GPUs work this much from now on."""
        now, before, after = self.now[0], self.world.jobs[0].signal, steady(gpu_utilization=utilization)
        self.world.jobs[0].signal = lambda m, n, g, t: (after if t > now else before)(m, n, g, t)

    def run(self, minutes: int) -> list[Notification]:
        """Tick once a minute; return what was said of GPUs."""
        said = []
        for _ in range(minutes):
            polls = [source.poll(self.engine.request(name, self.now[0])) for name, source in self.sources.items()]
            result = self.engine.tick(self.now[0], polls)
            said += [row for row in result.notifications if any("GPU" in alert.name for alert in row.view.alerts)]
            self.now[0] = (self.now[0] // 60.0 + 1) * 60.0
        self.said += said
        return said

    def idle_alerts(self) -> list[Alert]:
        """Return the firing GPUIdle alerts."""
        alerts = self.engine.judge.alerts.values()
        return [alert for alert in alerts if alert.rule == "GPUIdle" and alert.state is AlertState.FIRING]

    def close(self) -> None:
        for source in self.sources.values():
            source.close()
        self.server.stop()


def make(kind: str, utilization: float) -> Cloud:
    now = [T0]
    world, faults = World([levels(utilization)], lambda: now[0]), Faults()
    handle = FakeBaseten(world).handle if kind == "baseten" else FakeAlaya(world).handle
    server = FakeServer(handle, faults)
    server.start()

    def turn(seconds: float) -> None:
        now[0] += seconds

    ruleset = point_at(load_rules(starter_rules()), {kind: server.url})
    changes: dict[str, object] = {"timeout": 0.25}
    if kind == "alaya":
        changes |= {"jobs": ("5520017",)}
    sources = tuple(source.model_copy(update=changes) for source in ruleset.sources)
    rules = replace(ruleset, sources=sources, routes=(Route(("ml-alerts",)),))
    env = Turned(Settings(store="sqlite://"), GivenSecrets(SECRETS), clock=lambda: now[0], turn=turn)
    return Cloud(kind, server, world, faults, now, rules, env)


@pytest.fixture
def cloud() -> Iterator[Callable[[str, float], Cloud]]:
    """Make clouds; close them in the end."""
    made: list[Cloud] = []

    def go(kind: str, utilization: float) -> Cloud:
        made.append(make(kind, utilization))
        return made[-1]

    yield go
    for one in made:
        one.close()


@pytest.fixture
def rules_file(tmp_path: Path) -> Callable[..., Path]:
    """Write the starter pack, polled each second, pointed at fakes."""

    def go(cloud_url: str, slack_url: str, kind: str) -> Path:
        text = starter_rules().read_text(encoding="utf-8")
        body = text[text.index("# Waste ---") :]
        source = {
            "baseten": f'type = "baseten"\nbase_url = "{cloud_url}"',
            "alaya": f'type = "alayanew"\nbase_url = "{cloud_url}"\ndiscover = true',
        }[kind]
        head = (
            f'[poll]\ninterval = "1s"\n[[sources]]\nname = "{kind}"\n{source}\n'
            f'[[receivers]]\nname = "slack"\ntype = "slack"\nchannel = "gpu-alerts"\nbase_url = "{slack_url}/api/"\n'
            '[[routes]]\nreceivers = ["slack"]\n'
        )
        file = tmp_path / "rules.toml"
        file.write_text(head + body, encoding="utf-8")
        return file

    return go
