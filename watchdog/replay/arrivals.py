"""A recording as the polls that would have brought it: each sample at the first tick at which it could be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from watchdog.errors import SourceErrorKind
from watchdog.jobs.sources import SourceInfo
from watchdog.model import Job, JobReading, JobStatus, Points, Poll
from watchdog.promql.storage import Floats
from watchdog.replay.recording import RecordedJob, RecordedSeries, Recording


class Arrival(NamedTuple):
    """What one tick is given."""

    now: float
    polls: Sequence[Poll]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The ticks of a replay. May be gone through more than once."""

    recording: Recording
    infos: tuple[SourceInfo, ...]
    interval: float
    """Seconds between ticks, which lie on its whole multiples."""
    start: float | None = None
    """When the first tick is, if later than the first sample; what is older comes with it, as in a backfill."""
    end: float | None = None
    """When the last tick is; None: when all that is known has been read."""
    lag: float = 0.0
    """Seconds after its time at which a sample can be read first."""

    @property
    def ticks(self) -> int:
        """How many there are."""
        first, last = self._range()
        return last - first + 1

    @property
    def extent(self) -> tuple[float, float]:
        """The times of the first and the last tick."""
        first, last = self._range()
        return first * self.interval, last * self.interval

    def __iter__(self) -> Iterator[Arrival]:
        sources = [_SourceFeed(info, self.recording, self.lag) for info in self.infos]
        first, last = self._range()
        for tick in range(first, last + 1):
            now = tick * self.interval
            yield Arrival(now, [poll for source in sources if (poll := source.poll(now)) is not None])

    def _range(self) -> tuple[int, int]:
        """Return the first and the last tick, in intervals since 1970."""
        begin, end = self.recording.span
        first = math.ceil(max(begin, self.start or begin) / self.interval)
        end = self.end or end + self.lag
        return first, max(first, math.ceil(end / self.interval))


class _SourceFeed:
    """One source, polled at its own interval."""

    def __init__(self, info: SourceInfo, recording: Recording, lag: float) -> None:
        self._info = info
        self._lag = lag
        self._jobs = [_JobFeed(job) for job in recording.jobs if job.job.source == info.name]
        self._ups = recording.ups.get(info.name)
        self._due = -math.inf

    def poll(self, now: float) -> Poll | None:
        """Return the poll that is due; None while none is."""
        if now < self._due:
            return None
        self._due = now + self._info.interval
        if not self._up(now):
            error, kind = "it could not be read when this was recorded", SourceErrorKind.UNAVAILABLE.value
            return Poll(self._info.name, now, now, error=error, error_kind=kind)
        newest = now - self._lag
        readings = tuple(reading for job in self._jobs if (reading := job.read(now, newest)) is not None)
        gone = tuple(job.id for job in self._jobs if job.gone)
        self._jobs = [job for job in self._jobs if not job.over]
        return Poll(self._info.name, now, now, readings, gone)

    def _up(self, now: float) -> bool:
        if self._ups is None:
            return True
        position = int(np.searchsorted(self._ups[0], now, side="right")) - 1
        return position < 0 or self._ups[1][position] != 0.0


class _JobFeed:
    """One job: what is new of it at each poll."""

    def __init__(self, recorded: RecordedJob) -> None:
        self.id = recorded.job.job
        self.over = False
        """Whether there is nothing more to say of it."""
        self.gone = False
        """Whether the last poll found it no more."""
        self._states = [(since, _in_state(recorded.job, status)) for since, status in recorded.states]
        self._end = recorded.end
        self._own = _groups(recorded.series)
        self._shared = _groups(recorded.shared)

    def read(self, now: float, newest: float) -> JobReading | None:
        """Return what a poll reads, with samples up to ``newest``; None before the job is there and after its end."""
        if now < self._states[0][0]:
            return None
        self.gone = self.over = self._passed(newest)
        if self.gone:
            return None
        while len(self._states) > 1 and self._states[1][0] <= now:
            del self._states[0]
        job = self._states[0][1]
        self.over = job.status.terminal and len(self._states) == 1
        return JobReading(job, _new(self._own, newest), _new(self._shared, newest))

    def _passed(self, newest: float) -> bool:
        """Whether earlier polls have read all that is known of it."""
        exhausted = all(group.exhausted for group in (*self._own, *self._shared))
        return self._end is not None and newest > self._end and exhausted


class _Group:
    """Series that share their times: they are cut together."""

    def __init__(self, series: Sequence[RecordedSeries]) -> None:
        self._keys = [(one.metric, one.labels) for one in series]
        self._times: Floats = series[0].times
        self._values = np.array([one.values for one in series])
        self._next = 0

    @property
    def exhausted(self) -> bool:
        """Whether every sample has been read."""
        return self._next == len(self._times)

    def until(self, newest: float) -> Iterator[Points]:
        """Yield the samples that are not after ``newest`` and were not read before."""
        first, self._next = self._next, int(np.searchsorted(self._times, newest, side="right"))
        if first == self._next:
            return
        times = self._times[first : self._next].tolist()
        for (metric, labels), values in zip(self._keys, self._values[:, first : self._next].tolist(), strict=True):
            yield Points(metric, labels, times, values)


def _new(groups: Sequence[_Group], newest: float) -> tuple[Points, ...]:
    return tuple(points for group in groups for points in group.until(newest))


def _groups(series: Sequence[RecordedSeries]) -> list[_Group]:
    together: dict[tuple[int, bytes], list[RecordedSeries]] = {}
    for one in series:
        together.setdefault((len(one.times), one.times.tobytes()), []).append(one)
    return [_Group(members) for members in together.values()]


def _in_state(job: Job, status: JobStatus) -> Job:
    """Return the job as its provider describes it in this state: its error comes with its end."""
    ended = job.ended_at if status.terminal else None
    return replace(job, status=status, ended_at=ended, error=job.error if status.terminal else "")
