"""Other rules while the engine runs: what stays is untouched, and the end is that of a restart with the new file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from watchdog.engine.engine import Engine
from watchdog.engine.program import Program, program_of
from watchdog.jobs.sources import SourceInfo
from watchdog.model import AlertState, Job, JobReading, JobStatus, Notification, Points, Poll
from watchdog.rules.model import Route, Rule, Ruleset
from watchdog.store import SqlStore

STEP = 60.0
T0 = 1_772_442_000.0
JOB = Job(source="cloud", provider="baseten", job="j1", status=JobStatus.RUNNING, project="p1", gpus=2, nodes=1)
IDLE = Rule("GPUIdle", "max_over_time(gpu_utilization[10m]) < 0.05", "r:1", labels={"severity": "warning"})
FAILED = Rule("JobFailed", 'job_status{status="failed"} == 1', "r:9", event=True)
HOT = Rule(
    name="Hot",
    expr="avg_over_time(gpu_utilization[30m]) < 0.5",
    place="rules.toml:30",
    for_seconds=600.0,
    labels={"severity": "critical"},
    summary="hot",
)
"""It needs three times the history of IDLE, and 10 minutes more."""


def program(*rules: Rule, routes: tuple[Route, ...] = (Route(("slack",)),)) -> Program:
    ruleset = Ruleset(STEP, (), (), routes, rules, checksum="x")
    made = program_of(ruleset, [SourceInfo("cloud", STEP, STEP, 300.0)])
    return replace(made, terms=replace(made.terms, send_resolved={"slack": True}))


@dataclass
class Cloud:
    """A provider with an hour of history, an engine that polls it, and a store. GPU 0 idles, GPU 1 works."""

    program: Program
    now: float = T0
    store: SqlStore = field(default_factory=lambda: SqlStore("sqlite://"))
    said: list[Notification] = field(default_factory=list)
    asked: list[float | None] = field(default_factory=list)
    busy_until: float = T0 - 7200.0
    """Until then GPU 0 works too."""

    def __post_init__(self) -> None:
        self.engine = Engine(self.program, self.store.load(), self.now)

    def restart(self, rules: Program) -> None:
        self.engine = Engine(rules, self.store.load(), self.now)

    def change(self, rules: Program) -> None:
        self.engine.change(rules, self.now)

    def poll(self) -> Poll:
        request = self.engine.request("cloud", self.now)
        watched = request.watched.get("j1")
        newest = None if watched is None else watched.newest_sample
        self.asked.append(newest)
        since = self.now - request.window if newest is None else newest - 300.0
        times = [T0 - 7200.0 + STEP * i for i in range(400) if since <= T0 - 7200.0 + STEP * i <= self.now]
        values = {"0": [0.9 if time <= self.busy_until else 0.01 for time in times], "1": [0.9] * len(times)}
        points = [Points("gpu_utilization", (("gpu", gpu), ("node", "n0")), times, values[gpu]) for gpu in ("0", "1")]
        return Poll("cloud", self.now, self.now, readings=(JobReading(JOB, tuple(points)),))

    def run(self, minutes: int) -> Sequence[Notification]:
        before = len(self.said)
        for _ in range(minutes):
            polls = [self.poll()] if self.engine.sources.get("cloud") else []
            result = self.engine.tick(self.now, polls)
            self.store.commit(result.changes)
            self.said += result.notifications
            self.now += STEP
        return self.said[before:]

    def alerts(self) -> dict[str, tuple[str, float, str]]:
        return {
            f"{alert.rule} {dict(alert.instance).get('gpu', '')}": (
                alert.state.value,
                alert.active_at,
                alert.end_reason,
            )
            for alert in self.store.alerts()
        }


def other_source(rules: Program) -> Program:
    return replace(rules, sources=(SourceInfo("elsewhere", STEP, STEP, 300.0),))


CHANGES: dict[str, Program] = {
    "nothing": program(IDLE, FAILED),
    "moved in the file": program(FAILED, replace(IDLE, place="rules.toml:77")),
    "a rule more": program(IDLE, FAILED, HOT),
    "a rule less": program(FAILED),
    "another expression": program(replace(IDLE, expr="max_over_time(gpu_utilization[10m]) < 0.001"), FAILED),
    "another severity": program(replace(IDLE, labels={"severity": "critical"}), FAILED),
    "a longer for": program(replace(IDLE, for_seconds=1800.0), FAILED),
    "a longer window": program(replace(IDLE, expr="max_over_time(gpu_utilization[40m]) < 0.05"), FAILED),
    "another route": program(IDLE, FAILED, routes=(Route(("slack",), group_by=("source",), repeat_interval=600.0),)),
    "another source": other_source(program(IDLE, FAILED)),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("busy_until", [T0 - 7200.0, T0 - 1500.0], ids=["idle for long", "idle of late"])
def test_the_end_is_that_of_a_restart(name: str, busy_until: float) -> None:
    said, ends = [], []
    for go in (Cloud.change, Cloud.restart):
        cloud = Cloud(program(IDLE, FAILED), busy_until=busy_until)
        cloud.run(10)
        go(cloud, CHANGES[name])
        said.append([(row.reason, row.created_at, row.view.alerts, row.sequence) for row in cloud.run(30)])
        ends.append((cloud.alerts(), sorted(incident.group_key for incident in cloud.store.incidents())))
    assert said[0] == said[1]
    assert ends[0] == ends[1]


def test_what_stays_is_untouched() -> None:
    slow = replace(IDLE, for_seconds=1200.0)
    cloud, quiet = (Cloud(program(slow, FAILED), busy_until=T0 - 600.0) for _ in range(2))
    for one in (cloud, quiet):
        one.run(5)
    assert [state for state, *_ in cloud.alerts().values()] == ["pending"]
    before = dict(cloud.engine.judge.alerts)
    cloud.change(program(HOT, slow, FAILED))
    assert cloud.engine.judge.alerts == before
    for one in (cloud, quiet):
        one.run(20)
    assert cloud.alerts()["GPUIdle 0"] == quiet.alerts()["GPUIdle 0"]


def test_a_longer_window_is_read_again_once() -> None:
    cloud = Cloud(program(IDLE, FAILED))
    cloud.run(3)
    assert [newest is None for newest in cloud.asked] == [True, False, False]
    cloud.change(program(IDLE, FAILED, HOT))
    said = cloud.run(3)
    assert [newest is None for newest in cloud.asked] == [True, False, False, True, False, False]
    assert [(row.view.severity, row.created_at) for row in said] == [("critical", T0 + 3 * STEP)], "it held all along"


def test_a_poll_that_was_under_way_has_read_the_old_window() -> None:
    cloud = Cloud(program(IDLE, FAILED))
    cloud.run(3)
    under_way = cloud.poll()
    cloud.now += STEP
    cloud.change(program(IDLE, FAILED, HOT))
    cloud.engine.tick(cloud.now, [under_way])
    request = cloud.engine.request("cloud", cloud.now)
    assert request.watched["j1"].newest_sample is None


def test_a_shorter_window_lets_go_of_history() -> None:
    cloud = Cloud(program(IDLE, FAILED, HOT))
    cloud.run(1)
    many = cloud.engine.history.stats().samples
    cloud.change(program(FAILED))
    cloud.run(1)
    assert cloud.engine.history.stats().samples < many
    assert not any(newest is None for newest in cloud.asked[1:])


def test_a_new_source_has_time_to_answer() -> None:
    cloud = Cloud(program(IDLE, FAILED))
    cloud.run(30)
    both = (*cloud.engine.program.sources, SourceInfo("new", STEP, STEP, 300.0))
    cloud.change(replace(program(IDLE, FAILED), sources=both))
    cloud.run(2)
    new = cloud.engine.sources.get("new")
    assert new is not None
    assert (new.up, new.error) == (None, "")
    old = cloud.engine.sources.get("cloud")
    assert old is not None
    assert old.up


def test_the_change_comes_back_when_a_tick_fails() -> None:
    cloud = Cloud(program(IDLE, FAILED))
    cloud.run(15)
    cloud.change(program(FAILED))
    broken: Callable[..., object] = cloud.engine.book.tell

    def fail(*_: object) -> object:
        raise RuntimeError

    cloud.engine.book.tell = fail  # type: ignore[assignment, method-assign]
    with pytest.raises(RuntimeError):
        cloud.run(1)
    cloud.engine.book.tell = broken  # type: ignore[assignment, method-assign]
    cloud.run(1)
    assert cloud.alerts()["GPUIdle 0"][0] == AlertState.INACTIVE.value
    assert cloud.alerts()["GPUIdle 0"][2] == "rule removed"
