"""The series that watchdog itself adds to what the sources measure: job_* and source_*.

A figure that is not known is not written: no ``job_running_seconds`` of a job that waits, no cost
without a price.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from watchdog.jobs.sources import SourceState
from watchdog.model import JobRecord, JobStatus, Labels, OwnRow

_STATUS_LABELS: dict[JobStatus, Labels] = {status: (("status", status.value),) for status in JobStatus}

_WAITING = frozenset({JobStatus.PENDING, JobStatus.STARTING})
STATE_SERIES: dict[str, frozenset[JobStatus]] = {
    "job_pending_seconds": _WAITING,
    "job_running_seconds": frozenset({JobStatus.RUNNING}),
    "job_sample_age_seconds": frozenset({JobStatus.RUNNING}),
}
"""Series that a job has in some states only: in the others their absence is knowledge, not missing data."""


def over(metric: str, status: JobStatus) -> bool:
    """Whether a job in this state cannot have this series. Of a state that is not known nothing follows."""
    return status is not JobStatus.UNKNOWN and metric in STATE_SERIES and status not in STATE_SERIES[metric]


def job_samples(record: JobRecord, newest: float | None, now: float) -> Iterator[OwnRow]:
    """Yield the series of one job whose state was read now. ``newest`` is its newest resource sample."""
    base, job = record.job.labels, record.job
    for status, extra in _STATUS_LABELS.items():
        yield OwnRow(base, "job_status", extra, 1.0 if status is job.status else 0.0)
    if job.gpus is not None:
        yield OwnRow(base, "job_gpus", (), float(job.gpus))
    if job.cost_usd_per_hour is not None:
        yield OwnRow(base, "job_cost_usd_per_hour", (), job.cost_usd_per_hour)
    if job.status in _WAITING:
        since = job.created_at if job.created_at is not None else record.first_seen
        yield OwnRow(base, "job_pending_seconds", (), max(0.0, now - since))
    if job.status is JobStatus.RUNNING and record.running_since is not None:
        yield OwnRow(base, "job_running_seconds", (), max(0.0, now - record.running_since))
        since = max(newest, record.running_since) if newest is not None else record.running_since
        yield OwnRow(base, "job_sample_age_seconds", (), max(0.0, now - since))


def source_samples(states: Iterable[SourceState]) -> Iterator[OwnRow]:
    """Yield the series of every source whose state is known."""
    for state in states:
        base: Labels = (("source", state.info.name),)
        if state.up is not None:
            yield OwnRow(base, "source_up", (), 1.0 if state.up else 0.0)
        if state.seconds is not None:
            yield OwnRow(base, "source_poll_seconds", (), state.seconds)
        if state.last_success is not None:
            yield OwnRow(base, "source_last_success_timestamp_seconds", (), state.last_success)
