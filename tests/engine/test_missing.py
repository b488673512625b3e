"""Promise 1 where only some of the data is missing: it neither fires nor resolves, and is said to be unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from watchdog.model import JobReading, JobStatus, Points, Reason

MakeWorld = Callable[..., Any]
SOME_IDLE = "min by (source, project, job) (max_over_time(gpu_utilization[10m])) < 0.05"


@pytest.fixture
def make(make_world: MakeWorld, rules: Any) -> MakeWorld:
    """Make a world of one rule; it has a job of two GPUs on one node unless told otherwise."""

    def go(expr: str, **job: object) -> Any:
        world = make_world(rules(replace_expr=expr))
        world.job = replace(world.job, **job)
        return world

    return go


def reasons(world: Any) -> list[Reason]:
    return [row.reason for row in world.store.outbox]


@pytest.mark.parametrize("expr", [SOME_IDLE, "count by (source, job) (gpu_utilization < 0.05) >= 1"])
def test_a_gpu_that_falls_silent_does_not_resolve_what_was_summed_up(make: MakeWorld, expr: str) -> None:
    """Not when its samples are stale, not when they have left the history."""
    world = make(expr)
    world.run(12, g0=0.0, g1=0.9)
    world.run(60, g1=0.9)
    assert world.firing()
    assert reasons(world) == [Reason.FIRST, Reason.UNKNOWN]


def test_a_restart_does_not_resolve_it_either(make: MakeWorld) -> None:
    world = make(SOME_IDLE)
    world.run(12, g0=0.0, g1=0.9)
    world.run(8, g1=0.9)
    world.restart()
    world.tick(world.reading({"1": 0.9}, minutes=12))
    assert world.firing()
    assert Reason.ALL_RESOLVED not in reasons(world)


@pytest.mark.parametrize(("gpus", "closed"), [(2, False), (1, True), (None, True)])
def test_a_series_is_gone_only_when_all_gpus_report_elsewhere(make: MakeWorld, gpus: int | None, closed: bool) -> None:
    world = make("max_over_time(gpu_utilization[10m]) < 0.05", gpus=gpus)
    world.run(12, g0=0.0, g1=0.9)
    world.run(60, g1=0.9)
    assert (not world.firing()) is closed


@pytest.mark.parametrize(
    "expr",
    [
        "max by (source, job) (gpu_utilization) < 0.05",
        "max by (source, job, node) (gpu_utilization) < 0.05",
        "max by (source, project) (gpu_utilization) < 0.05",
        "gpu_utilization < 0.05 and on (source, job) max by (source, job) (gpu_utilization) < 0.05",
    ],
)
@pytest.mark.parametrize(("gpus", "fires"), [(2, False), (1, True), (None, True)])
def test_a_gpu_that_never_reports_is_not_idle(make: MakeWorld, expr: str, gpus: int | None, fires: bool) -> None:
    world = make(expr, gpus=gpus)
    world.run(30, g0=0.0)
    assert bool(world.firing()) is fires
    if not fires:
        assert "1 of 2 GPUs send gpu_utilization" in world.engine.last.doubts.values()


def test_a_rule_of_single_gpus_is_judged_on_each(make: MakeWorld) -> None:
    world = make("max by (source, job, node, gpu) (gpu_utilization) < 0.05")
    world.run(5, g0=0.0)
    assert world.firing()


def test_a_first_reply_with_one_gpu_after_a_restart_fires_nothing(make: MakeWorld) -> None:
    world = make("avg by (source, job) (gpu_utilization) < 0.5")
    world.run(5, g0=0.0, g1=0.9 + 0.2)
    world.restart()
    world.tick(world.reading({"0": 0.0}, minutes=12))
    assert not world.firing()


@pytest.mark.parametrize(
    "expr",
    [
        "avg by (job) (gpu_utilization) < 0.05",
        "sum by (owner) (gpu_utilization) < 0.05",
        "sum by (project) (gpu_utilization) < 0.05",
        "max by (gpu) (gpu_utilization) < 0.05",
        "sum(gpu_utilization) < 0.05",
    ],
)
def test_an_alert_that_names_no_source_ends_with_the_last_job_that_it_speaks_of(make: MakeWorld, expr: str) -> None:
    world = make(expr, owner="o", gpus=1)
    world.run(5, g0=0.0)
    assert world.firing()
    world.tick(JobReading(replace(world.job, status=JobStatus.COMPLETED)))
    world.tick()
    assert not world.firing()
    assert world.store.outbox[-1].view.alerts[0].end_reason == "no job runs there any more"


def test_it_does_not_end_while_a_source_is_down_or_another_job_is_meant(make: MakeWorld) -> None:
    world = make("sum by (owner) (gpu_utilization) < 0.05", owner="o", gpus=1)
    other = replace(world.job, job="j2", job_name="other")
    world.tick(world.reading({"0": 0.0}), world.reading({"0": 0.0}, job=other))
    world.tick(JobReading(replace(world.job, status=JobStatus.COMPLETED)), world.reading({"0": 0.0}, job=other))
    assert world.firing()
    world.tick(error="503")
    world.tick(JobReading(replace(other, status=JobStatus.COMPLETED)), error="503")
    assert world.firing()
    world.tick()
    assert not world.firing()


@pytest.mark.parametrize("job", ["nightly", "j1"])
def test_absence_is_an_alert_whether_or_not_there_is_a_job(make: MakeWorld, job: str) -> None:
    world = make(f'absent(gpu_utilization{{job="{job}"}})')
    world.run(3, g0=0.9, g1=0.9)
    assert bool(world.firing()) is (job == "nightly")
    world.silent(4)
    assert bool(world.firing()) is (job == "nightly")
    world.silent(1)
    assert world.firing(), "five minutes after the last sample"


def cpu(world: Any, job: Any) -> JobReading:
    return JobReading(job, (Points("cpu_utilization", (("node", "n0"),), [world.now], [0.9]),))


@pytest.mark.parametrize(("gpus", "fires"), [(2, False), (0, True), (None, True)])
def test_what_holds_unless_a_gpu_works_needs_to_know_of_the_gpus(
    make: MakeWorld, gpus: int | None, fires: bool
) -> None:
    """A CPU job has none, and of one whose GPUs are not known nothing follows."""
    world = make("cpu_utilization > 0.5 unless on (source, job) gpu_utilization > 0.5", gpus=gpus)
    for _ in range(10):
        world.tick(cpu(world, world.job))
    assert bool(world.firing()) is fires


def test_a_cpu_job_beside_a_gpu_job_is_judged(make: MakeWorld) -> None:
    world = make("cpu_utilization > 0.5 unless on (source, job) gpu_utilization > 0.5")
    lone = replace(world.job, job="c", job_name="c", gpus=0)
    for _ in range(5):
        world.tick(world.reading({"0": 0.9, "1": 0.9}), cpu(world, lone))
    assert world.firing()


def test_a_metric_that_the_source_never_has_is_no_gap(make: MakeWorld) -> None:
    world = make("gpu_utilization < 0.05 unless gpu_power_watts > 300")
    world.run(3, g0=0.0, g1=0.0)
    assert world.firing()


def test_one_that_it_has_of_another_job_is(make: MakeWorld) -> None:
    world = make("gpu_utilization < 0.05 unless gpu_power_watts > 300")
    other = replace(world.job, job="j2", job_name="other")
    for _ in range(3):
        power = world.reading({"0": 90.0, "1": 90.0}, metric="gpu_power_watts", job=other)
        world.tick(world.reading({"0": 0.0, "1": 0.0}), power)
    assert not world.firing()


@pytest.mark.parametrize(("wait", "fires"), [(8, False), (9, False), (10, True)])
def test_time_without_judgement_does_not_count_for_what_no_past_shows(
    make_world: MakeWorld, rules: Any, wait: int, fires: bool
) -> None:
    """A source has been down for a minute; then watchdog is, for an hour. ``for`` is ten minutes of what it saw."""
    world = make_world(rules(name="DownLong", replace_expr="source_up == 0", for_seconds=600.0))
    world.tick(error="503")
    world.tick(error="503")
    world.now += 3600.0
    world.restart()
    for _ in range(wait):
        world.tick(error="503")
    assert any(key.startswith("DownLong") for key in world.firing()) is fires
