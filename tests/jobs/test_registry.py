from __future__ import annotations

from dataclasses import replace

import pytest

from watchdog.jobs.registry import Registry
from watchdog.model import Job, JobKey, JobReading, JobRecord, JobStatus, Points, Poll

KEY = JobKey("b", "1")
JOB = Job(source="b", provider="baseten", job="1", status=JobStatus.RUNNING, project="p", job_name="sft", owner="o")


def poll(
    *jobs: Job, points: tuple[Points, ...] = (), gone: tuple[str, ...] = (), failed: frozenset[str] = frozenset()
) -> Poll:
    readings = tuple(JobReading(job=job, points=points, failed_metrics=failed) for job in jobs)
    return Poll(source="b", started_at=0.0, finished_at=0.0, readings=readings, gone=gone)


def with_status(status: JobStatus) -> Job:
    return replace(JOB, status=status)


def record_after(*steps: tuple[float, Poll]) -> JobRecord:
    registry = Registry()
    for now, step in steps:
        registry.apply([step], now)
    record = registry.get(KEY)
    assert record is not None
    return record


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (JobStatus.COMPLETED, "job completed"),
        (JobStatus.FAILED, "job failed"),
        (JobStatus.STOPPED, "stopped by its user"),
    ],
)
def test_finished_crashed_and_stopped_are_told_apart(status: JobStatus, reason: str) -> None:
    record = record_after((10.0, poll(JOB)), (70.0, poll(with_status(status))))
    assert (record.active, record.ended_at, record.end_reason) == (False, 70.0, reason)


def test_a_job_that_vanished_is_gone() -> None:
    record = record_after((10.0, poll(JOB)), (70.0, poll(gone=("1",))))
    assert (record.ended_at, record.end_reason) == (70.0, "gone")


def test_a_job_that_is_not_listed_keeps_its_state() -> None:
    assert record_after((10.0, poll(JOB)), (70.0, poll())).active


def test_an_end_is_reported_once() -> None:
    registry = Registry()
    registry.apply([poll(JOB)], 10.0)
    assert len(registry.apply([poll(with_status(JobStatus.FAILED))], 70.0).ended) == 1
    again = registry.apply([poll(with_status(JobStatus.FAILED))], 130.0)
    assert (again.ended, again.changed) == ((), ())
    assert registry.apply([poll(gone=("1",))], 190.0).ended == ()


def test_a_job_first_seen_ended_is_reported() -> None:
    changes = Registry().apply([poll(with_status(JobStatus.FAILED))], 10.0)
    assert [record.end_reason for record in changes.ended] == ["job failed"]


def test_a_job_that_is_resumed_starts_anew() -> None:
    record = record_after(
        (10.0, poll(JOB)), (70.0, poll(with_status(JobStatus.STOPPED))), (130.0, poll(with_status(JobStatus.RUNNING)))
    )
    assert (record.active, record.first_seen, record.end_reason) == (True, 130.0, "")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([(1000.0, poll(replace(JOB, started_at=400.0)))], 400.0, id="the provider says"),
        pytest.param([(1000.0, poll(replace(JOB, started_at=4000.0)))], 1000.0, id="never in the future"),
        pytest.param(
            [(1000.0, poll(JOB, points=(Points("gpu_utilization", (), [640.0, 580.0], [1.0, 1.0]),)))],
            580.0,
            id="the first sample of a job first seen running",
        ),
        pytest.param([(1000.0, poll(JOB)), (1060.0, poll(JOB))], 1000.0, id="the first look"),
        pytest.param(
            [(1000.0, poll(with_status(JobStatus.PENDING))), (1060.0, poll(JOB))], 1060.0, id="seen waiting before"
        ),
        pytest.param(
            [(1000.0, poll(JOB)), (1060.0, poll(with_status(JobStatus.PENDING))), (1120.0, poll(JOB))],
            1120.0,
            id="pre-empted and running again",
        ),
    ],
)
def test_running_since(steps: list[tuple[float, Poll]], expected: float) -> None:
    assert record_after(*steps).running_since == expected


def test_status_since_is_kept_while_the_status_is() -> None:
    record = record_after((10.0, poll(JOB)), (70.0, poll(JOB)), (130.0, poll(with_status(JobStatus.UNKNOWN))))
    assert record.status_since == 130.0
    assert record.running_since == 10.0


def test_descriptions_are_not_forgotten_because_one_answer_lacks_them() -> None:
    bare = Job(source="b", provider="baseten", job="1", status=JobStatus.RUNNING)
    job = record_after((10.0, poll(replace(JOB, gpus=8, cost_usd_per_hour=52.0))), (70.0, poll(bare))).job
    assert (job.project, job.job_name, job.owner, job.gpus, job.cost_usd_per_hour) == ("p", "sft", "o", 8, 52.0)


def test_only_changes_are_reported_as_changes() -> None:
    registry = Registry()
    assert len(registry.apply([poll(JOB)], 10.0).changed) == 1
    second = registry.apply([poll(JOB)], 70.0)
    assert second.changed == ()
    assert len(second.read) == 1


def test_failed_metrics_are_those_of_the_last_reading() -> None:
    registry = Registry()
    registry.apply([poll(JOB, failed=frozenset({"gpu_utilization"}))], 10.0)
    assert registry.failed_metrics(KEY) == {"gpu_utilization"}
    registry.apply([poll(JOB)], 70.0)
    assert registry.failed_metrics(KEY) == frozenset()


def test_watched_tells_a_source_its_own_active_jobs() -> None:
    registry = Registry()
    registry.apply([poll(JOB, replace(JOB, job="2", status=JobStatus.FAILED))], 10.0)
    watched = registry.watched("b", lambda key: 5.0 if key == KEY else None)
    assert {key: item.newest_sample for key, item in watched.items()} == {"1": 5.0}
    assert registry.watched("other", lambda _: None) == {}


def test_a_source_that_is_dropped_ends_its_jobs() -> None:
    registry = Registry([JobRecord(JOB, first_seen=1.0), JobRecord(replace(JOB, source="c"), first_seen=1.0)])
    assert [record.end_reason for record in registry.drop_source("b", 10.0)] == ["source removed"]
    assert [record.job.source for record in registry.active()] == ["c"]


@pytest.mark.parametrize(("before", "left"), [(9.9, 1), (10.0, 1), (10.1, 0)])
def test_ended_jobs_are_forgotten_after_a_while(before: float, left: int) -> None:
    registry = Registry([JobRecord(JOB, first_seen=1.0, ended_at=10.0, end_reason="gone")])
    registry.forget(before)
    assert len(registry.all()) == left


def test_active_jobs_are_never_forgotten() -> None:
    registry = Registry([JobRecord(JOB, first_seen=1.0)])
    registry.forget(1e12)
    assert len(registry.all()) == 1


def test_a_stale_listing_does_not_resume_a_job_that_ended() -> None:
    registry = Registry()
    registry.apply([poll(with_status(JobStatus.FAILED))], 10.0)
    stale = Poll("b", 0.0, 0.0, readings=(JobReading(JOB, error="metrics could not be read"),))
    assert registry.apply([stale], 70.0).changed == ()
    assert registry.apply([poll(with_status(JobStatus.FAILED))], 130.0).ended == ()
