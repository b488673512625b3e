"""A tick that breaks somewhere loses nothing and says nothing twice; a rule that breaks harms no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from watchdog.alerts import judge
from watchdog.alerts.evaluation import evaluate_rule
from watchdog.alerts.judge import Judge
from watchdog.engine.trace import Trace
from watchdog.history import History
from watchdog.incidents import book
from watchdog.incidents.book import Book
from watchdog.jobs.registry import Registry
from watchdog.jobs.sources import Sources
from watchdog.model import AlertState, JobKey, JobReading, JobStatus, Silence
from watchdog.muting import Silences

World = Any
Said = list[tuple[str, tuple[tuple[str, str, str], ...]]]
"""What is said of which alerts: reason; rule, GPU and state of each."""

PLACES: list[tuple[Any, str]] = [
    (History, "forget"),
    (History, "ingest"),
    (History, "put_many"),
    (History, "trim"),
    (Sources, "apply"),
    (Registry, "apply"),
    (Registry, "_read"),
    (Registry, "told"),
    (Registry, "forget"),
    (Judge, "judge"),
    (Silences, "end_with"),
    (Silences, "forget"),
    (Book, "tell"),
    (Book, "_take_in"),
    (Book, "_keep"),
    (Book, "_talk"),
    (Book, "_say"),
    (Book, "_drop"),
    (book, "view_of"),
    (book, "conversation_of"),
    (Trace, "record"),
]
STEPS = 7


class Fault(Exception):  # noqa: N818  # it stands for an error of any kind
    """What nobody foresaw."""


@dataclass
class Trap:
    """Breaks one call, before or after it has done its work, once it is armed."""

    late: bool
    armed: bool = False
    sprung: int = 0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if not self.armed:
                return call(*args, **kwargs)
            self.armed = False
            self.sprung += 1
            if self.late:
                call(*args, **kwargs)
            raise Fault

        return wrapped


@dataclass
class Story:
    """Two GPUs become idle one after the other and busy again, then the job fails: a step is a tick."""

    world: World
    trap: Trap
    said: Said = field(default_factory=list)

    def reading(self, step: int) -> tuple[JobReading, ...]:
        busy = {"0": 0.0 if step in (1, 2) else 0.9, "1": 0.0 if step in (2, 3) else 0.9}
        if step < STEPS - 2:
            return (self.world.reading(busy),)
        failed = replace(self.world.job, status=JobStatus.FAILED, error="out of memory")
        return (self.world.reading(busy, job=failed),) if step == STEPS - 2 else ()

    def play(self, broken: int | None) -> Said:
        """Play all steps; the one that breaks is tried again a minute later, as the service would."""
        self.world.engine.silences.put(SILENCE, self.world.now)
        for step in range(STEPS):
            self.trap.armed = step == broken
            try:
                self.tick(*self.reading(step))
            except Fault:
                self.world.now += 60.0
                # An end is told once by its source; of a job that runs the state is told each time.
                self.tick(*(self.reading(step) if step < STEPS - 2 else ()))
            self.trap.armed = False
            self.check_memory()
        return self.said

    def tick(self, *readings: JobReading) -> None:
        result = self.world.tick(*readings)
        for row in result.notifications:
            alerts = [(alert.name, dict(alert.labels).get("gpu", ""), alert.status) for alert in row.view.alerts]
            self.said.append((row.reason.value, tuple(sorted(alerts))))
        self.said += [("started", ((one.job.job, "", ""),)) for one in result.started]
        self.said += [("ended", ((one.job.job, "", ""),)) for one in result.ended]
        self.said += [("silence over", ((str(one.until_job_ends), "", ""),)) for one in result.changes.silences]

    def check_memory(self) -> None:
        """What the engine knows is what a restart would find in the store."""
        engine, snapshot = self.world.engine, self.world.store.snapshot()
        assert list(engine.book.incidents) == [one for one in snapshot.incidents if one.closed_at is None]
        kept = {one.fingerprint: one for one in snapshot.alerts if one.state is not AlertState.INACTIVE}
        assert engine.judge.alerts == kept
        assert engine.registry.all() == list(snapshot.jobs)


SILENCE = Silence(
    "", ('alertname="Other"',), 1.0, 9e9, "a person", "until the job ends", 1.0, until_job_ends=JobKey("cloud", "j1")
)


@pytest.fixture
def story(make_world: Callable[..., World], rules: Any) -> Callable[..., Story]:
    def make(trap: Trap) -> Story:
        return Story(make_world(rules(replace_expr="gpu_utilization < 0.05")), trap)

    return make


@pytest.fixture
def told(story: Callable[..., Story]) -> Said:
    """What is said when nothing breaks."""
    return story(Trap(late=False)).play(None)


def test_the_story_has_all_that_may_be_lost(told: Said) -> None:
    assert [reason for reason, _ in told] == [
        "started",
        "first notification",
        "new alerts added",
        "some alerts resolved",
        "all alerts resolved",
        "event",
        "ended",
        "silence over",
    ]


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), PLACES, ids=[name for _, name in PLACES])
def test_a_tick_that_breaks_loses_nothing_and_says_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, story: Callable[..., Story], told: Said, owner: Any, name: str, late: bool
) -> None:
    trap = Trap(late)
    monkeypatch.setattr(owner, name, trap.around(getattr(owner, name)))
    for step in range(STEPS):
        assert story(trap).play(step) == told, f"broken in step {step}"
    assert trap.sprung, "nothing was broken"


def test_a_mistake_of_ours_in_one_rule_harms_no_other(
    monkeypatch: pytest.MonkeyPatch, make_world: Callable[..., World]
) -> None:
    world = make_world()

    def broken(rule: Any, *rest: Any, **more: Any) -> Any:
        if rule.rule.name == "GPUIdle":
            raise ZeroDivisionError("boom")
        return evaluate_rule(rule, *rest, **more)

    monkeypatch.setattr(judge, "evaluate_rule", broken)
    failed = replace(world.job, status=JobStatus.FAILED, error="out of memory")
    world.tick(world.reading({"0": 0.0}))
    result = world.tick(world.reading({}, job=failed))
    assert [row.view.alerts[0].name for row in result.notifications] == ["JobFailed"]
    assert set(result.failures) == {"GPUIdle"}
    assert "ZeroDivisionError: boom, at test_faults.py" in result.failures["GPUIdle"]
