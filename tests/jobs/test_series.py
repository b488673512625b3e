from __future__ import annotations

from dataclasses import replace

from watchdog.jobs.series import job_samples, source_samples
from watchdog.jobs.sources import SourceInfo, Sources
from watchdog.model import Job, JobRecord, JobStatus, Poll
from watchdog.vocabulary import METRICS

JOB = Job(source="b", provider="baseten", job="1", status=JobStatus.RUNNING, gpus=16, cost_usd_per_hour=104.0)
RUNNING = JobRecord(JOB, first_seen=0.0, running_since=100.0)


def values(record: JobRecord, newest: float | None, now: float) -> dict[str, float]:
    return {s.metric: s.value for s in job_samples(record, newest, now) if s.metric != "job_status"}


def test_status_is_a_state_set() -> None:
    states = {s.extra: s.value for s in job_samples(RUNNING, None, 400.0) if s.metric == "job_status"}
    assert states[("status", "running"),] == 1.0
    assert len(states) == len(JobStatus)
    assert sum(states.values()) == 1.0


def test_a_running_job() -> None:
    assert values(RUNNING, 350.0, 400.0) == {
        "job_gpus": 16.0,
        "job_cost_usd_per_hour": 104.0,
        "job_running_seconds": 300.0,
        "job_sample_age_seconds": 50.0,
    }


def test_a_running_job_that_never_had_a_sample_counts_from_its_start() -> None:
    assert values(RUNNING, None, 400.0)["job_sample_age_seconds"] == 300.0
    assert values(RUNNING, 20.0, 400.0)["job_sample_age_seconds"] == 300.0


def test_a_waiting_job_has_no_running_time_and_no_sample_age() -> None:
    waiting = JobRecord(replace(JOB, status=JobStatus.PENDING, created_at=40.0), first_seen=100.0)
    found = values(waiting, None, 400.0)
    assert found["job_pending_seconds"] == 360.0
    assert "job_running_seconds" not in found
    assert "job_sample_age_seconds" not in found
    unknown_creation = replace(waiting, job=replace(waiting.job, created_at=None))
    assert values(unknown_creation, None, 400.0)["job_pending_seconds"] == 300.0


def test_what_is_not_known_is_not_written() -> None:
    bare = JobRecord(Job(source="b", provider="p", job="1", status=JobStatus.UNKNOWN), first_seen=0.0)
    assert values(bare, None, 400.0) == {}


def test_source_series() -> None:
    sources = Sources([SourceInfo("b", 60.0, 60.0, 300.0), SourceInfo("new", 60.0, 60.0, 300.0)], now=0.0)
    sources.apply([Poll(source="b", started_at=1.0, finished_at=3.0)], 4.0)
    found = {(s.base, s.metric): s.value for s in source_samples(sources)}
    base = (("source", "b"),)
    assert found == {
        (base, "source_up"): 1.0,
        (base, "source_poll_seconds"): 2.0,
        (base, "source_last_success_timestamp_seconds"): 4.0,
    }
    sources.apply([Poll(source="b", started_at=61.0, finished_at=62.0, error="500")], 64.0)
    again = {s.metric: s.value for s in source_samples(sources)}
    assert (again["source_up"], again["source_last_success_timestamp_seconds"]) == (0.0, 4.0)


def test_every_own_series_is_in_the_vocabulary() -> None:
    waiting = JobRecord(replace(JOB, status=JobStatus.PENDING), first_seen=0.0)
    names = {s.metric for record in (RUNNING, waiting) for s in job_samples(record, 1.0, 2.0)}
    assert names <= set(METRICS)
