"""What a provider still has of the past, asked of its source as after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from watchdog.files import FileItem, FileJob, FileSeries
from watchdog.labels import METRIC_NAME
from watchdog.model import JobReading, JobRecord, Poll, PollRequest, Watched, labels_of
from watchdog.ports import Source

MOST_POLLS = 20
"""A backfill that a poll had no time for goes on in the next one."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a source gave, and why not all; empty when it gave all."""

    items: tuple[FileItem, ...]
    error: str = ""


def read_past(source: Source, now: float, window: float, ended: Iterable[JobRecord] = ()) -> Past:
    """Read the last ``window`` seconds of the jobs that a source has, and of ``ended`` ones that it may still know.

    Never raises for what a provider does: what was read until then comes with the error.
    """
    records = {record.job.job: record for record in ended if record.job.source == source.name}
    watched = {job: Watched(record.job, None) for job, record in records.items()}
    items: list[FileItem] = []
    for _ in range(MOST_POLLS):
        poll = source.poll(PollRequest(now, watched, window))
        items += _items(poll, records, now)
        if poll.error:
            return Past(tuple(items), poll.error)
        cut = _cut_off(poll, watched)
        if not cut:
            break
        watched = {**watched, **cut}
    else:
        return Past(tuple(items), f"{MOST_POLLS} polls did not bring all of it")
    unread = sorted(reading.job.job for reading in poll.readings if reading.error and not reading.points)
    return Past(tuple(items), f"job {unread[0]} could not be read" if unread else "")


def _cut_off(poll: Poll, watched: Mapping[str, Watched]) -> dict[str, Watched]:
    """Return the jobs of which a part was read, with how far: the rest is asked for next."""
    found = {}
    for reading in poll.readings:
        newest = max((max(points.times) for points in reading.points if len(points.times)), default=None)
        before = watched.get(reading.job.job)
        if reading.error and newest is not None and (before is None or before.newest_sample != newest):
            found[reading.job.job] = Watched(reading.job, newest)
    return found


def _items(poll: Poll, records: Mapping[str, JobRecord], now: float) -> Iterator[FileItem]:
    for reading in poll.readings:
        record = records.get(reading.job.job)
        job = reading.job
        if job.ended_at is None and record is not None:
            job = replace(job, ended_at=record.ended_at)
        yield FileJob(poll.source, job, None if job.status.terminal else now)
        yield from _series(poll.source, reading)


def _series(source: str, reading: JobReading) -> Iterator[FileSeries]:
    job = reading.job
    for base, every in ((job.labels, reading.points), (job.project_labels, reading.project_points)):
        for points in every:
            labels = labels_of({**dict(base), **dict(points.labels), METRIC_NAME: points.metric})
            yield FileSeries(source, labels, points.times, points.values, [0] * len(points.times))
