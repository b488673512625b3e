"""The jobs that are watched: their records over time, from polls and from the store.

Finished, crashed and vanished are three different ends. A job that cannot be read keeps its last
state: only an answer of its provider changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from watchdog.model import Job, JobKey, JobReading, JobRecord, JobStatus, Poll, Watched

NewestSample = Callable[[JobKey], float | None]

_END_REASON = {
    JobStatus.COMPLETED: "job completed",
    JobStatus.FAILED: "job failed",
    JobStatus.STOPPED: "stopped by its user",
}
GONE = "gone"
SOURCE_REMOVED = "source removed"


@dataclass(frozen=True, slots=True)
class JobChanges:
    """What one round of polls did to the registry."""

    changed: tuple[JobRecord, ...] = ()
    """Records to write."""
    ended: tuple[JobRecord, ...] = ()
    """Jobs whose end became known now; they are in ``changed`` too."""
    read: tuple[JobRecord, ...] = ()
    """Jobs whose state was read now; of the ended ones only those that ended now: the others are history."""

    def then(self, later: JobChanges) -> JobChanges:
        """Return both rounds as one; of a record in both the later form counts, and only the later were read now."""
        return JobChanges(_newest_form(self.changed, later.changed), _newest_form(self.ended, later.ended), later.read)


def _newest_form(before: Iterable[JobRecord], after: Iterable[JobRecord]) -> tuple[JobRecord, ...]:
    return tuple({record.job.key: record for record in (*before, *after)}.values())


class Registry:
    """All jobs known, by key. Ended ones stay until they are forgotten, so that none is announced twice."""

    def __init__(self, records: Iterable[JobRecord] = ()) -> None:
        self._records = {record.job.key: record for record in records}
        self._failed: dict[JobKey, frozenset[str]] = {}

    def copy(self) -> Registry:
        """Return one that goes its own way from here."""
        other = Registry()
        other._records, other._failed = dict(self._records), dict(self._failed)
        return other

    def get(self, key: JobKey) -> JobRecord | None:
        """Return the record of a job, ended or not."""
        return self._records.get(key)

    def active(self) -> list[JobRecord]:
        """Return the jobs that are being watched."""
        return [record for record in self._records.values() if record.active]

    def all(self) -> list[JobRecord]:
        """Return every record."""
        return list(self._records.values())

    def failed_metrics(self, key: JobKey) -> frozenset[str]:
        """Return the metrics that could not be read at the job's last reading."""
        return self._failed.get(key, frozenset())

    def watched(self, source: str, newest: NewestSample) -> Mapping[str, Watched]:
        """Return the active jobs of a source as a poll wants them."""
        return {
            record.job.job: Watched(record.job, newest(record.job.key))
            for record in self.active()
            if record.job.source == source
        }

    def apply(self, polls: Iterable[Poll], now: float) -> JobChanges:
        """Take in what polls learnt. A job listed twice counts once, as last read."""
        changed: dict[JobKey, JobRecord] = {}
        ended: list[JobRecord] = []
        read: dict[JobKey, JobRecord] = {}
        for poll in polls:
            for reading in poll.readings:
                before = self._records.get(reading.job.key)
                after = self._read(before, reading, now)
                self._put(before, after, changed, ended)
                if after.active or after.ended_at == now:
                    read[after.job.key] = after
            for job in poll.gone:
                before = self._records.get(JobKey(poll.source, job))
                if before is not None and before.active:
                    self._put(before, replace(before, ended_at=now, end_reason=GONE), changed, ended)
        return JobChanges(tuple(changed.values()), tuple(ended), tuple(read.values()))

    def drop_source(self, source: str, now: float) -> list[JobRecord]:
        """End the jobs of a source that is no longer configured; return their records."""
        dropped = []
        for record in self.active():
            if record.job.source == source:
                after = replace(record, ended_at=now, end_reason=SOURCE_REMOVED)
                self._records[record.job.key] = after
                dropped.append(after)
        return dropped

    def untold(self) -> list[JobRecord]:
        """Return the ended jobs whose end no rule has been judged on without doubt."""
        return [record for record in self._records.values() if record.end_untold]

    def told(self, keys: Iterable[JobKey]) -> None:
        """Note that every rule has been judged on the ends of these jobs."""
        for key in keys:
            self._records[key] = replace(self._records[key], end_untold=False)

    def forget(self, before: float) -> None:
        """Drop the records of jobs that ended before this time; the store collects its own."""
        for key, record in list(self._records.items()):
            if record.ended_at is not None and record.ended_at < before:
                del self._records[key]
                self._failed.pop(key, None)

    def _put(
        self,
        before: JobRecord | None,
        after: JobRecord,
        changed: dict[JobKey, JobRecord],
        ended: list[JobRecord],
    ) -> None:
        if after == before:
            return
        self._records[after.job.key] = after
        changed[after.job.key] = after
        if not after.active and (before is None or before.active):
            ended.append(after)

    def _read(self, before: JobRecord | None, reading: JobReading, now: float) -> JobRecord:
        job = reading.job if before is None else _keep_known(before.job, reading.job)
        self._failed[job.key] = reading.failed_metrics
        if before is not None and not before.active and reading.error:
            return before  # a state from before the failed request is no news of a job that has ended
        if before is None or (not before.active and not job.status.terminal):
            before = JobRecord(job=job, first_seen=now, status_since=now)  # new, or resumed under its old id
        since = before.status_since if before.job.status is job.status else now
        running = before.running_since
        if job.status is JobStatus.RUNNING:
            running = _running_since(before, reading, now)
        elif job.status in (JobStatus.PENDING, JobStatus.STARTING):
            running = None
        after = replace(before, job=job, status_since=since, running_since=running)
        if job.status.terminal and before.active:
            return replace(after, ended_at=now, end_reason=_END_REASON[job.status], end_untold=True)
        return after


def _running_since(before: JobRecord, reading: JobReading, now: float) -> float:
    """When the user's code began to run: the provider's word, else the first sample, else the first look.

    Only a job whose very first look found it running may have run before it; one that was seen waiting
    began after that look.
    """
    if reading.job.started_at is not None:
        return min(reading.job.started_at, now)
    if before.running_since is not None:
        return before.running_since
    earliest = min((min(points.times) for points in reading.points if points.times), default=now)
    waited = before.job.status is not JobStatus.RUNNING
    return min(now, max(earliest, before.first_seen)) if waited else min(now, earliest)


def _keep_known(before: Job, after: Job) -> Job:
    """Do not forget a description because one answer left it out."""
    return replace(
        after,
        project=after.project or before.project,
        project_name=after.project_name or before.project_name,
        job_name=after.job_name or before.job_name,
        owner=after.owner or before.owner,
        gpu_type=after.gpu_type or before.gpu_type,
        gpus=before.gpus if after.gpus is None else after.gpus,
        nodes=before.nodes if after.nodes is None else after.nodes,
        cost_usd_per_hour=before.cost_usd_per_hour if after.cost_usd_per_hour is None else after.cost_usd_per_hour,
        url=after.url or before.url,
        created_at=before.created_at if after.created_at is None else after.created_at,
        started_at=before.started_at if after.started_at is None else after.started_at,
    )
