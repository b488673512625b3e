"""One poll of Baseten: look for jobs, read their metrics side by side, say what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.model import Job, JobReading, JobStatus, Poll, PollRequest, Remark, Watched
from watchdog.sources.base import BuildContext, patience, run_all, slow_retry, trials, unread
from watchdog.sources.base.points import FUTURE_SLACK
from watchdog.sources.baseten import trial
from watchdog.sources.baseten.api import BasetenApi
from watchdog.sources.baseten.config import BasetenConfig
from watchdog.sources.baseten.discovery import Discovery
from watchdog.sources.baseten.job import PROVIDER, Prices, job_of, project_of
from watchdog.sources.baseten.reply import ReplyContext, reading_of
from watchdog.sources.http import RefusedError

_THREADS = 8
_OVERLAP = 600.0
"""Seconds read again at each poll: samples come late, and by how much is not known."""
_MOST_SAMPLES = 200_000
"""Samples that one answer may hold, about 14 MB; a longer backfill is read in parts."""
_MOST_PARTS = 200
"""Parts of one backfill: whatever the rules ask for, it ends; the newest are read."""
_PRICES_AFTER, _PRICES_AGAIN = 3600.0, 600.0
"""Seconds until prices are read again, and after a failure."""
_GONE_AFTER = 2
"""Polls in a row in which an unlisted job must be unknown before it is gone."""


@dataclass(frozen=True, slots=True)
class _Task:
    """One job to read."""

    job: str
    project: str
    known: Job
    """The job as the search or the engine has it."""
    listed: bool
    newest: float | None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How reading one job ended; ``error`` beside a reading of what is known without it."""

    task: _Task
    reading: JobReading
    error: SourceError | None = None


class BasetenSource:
    """A Baseten organisation; see ``ports.Source``."""

    provider = PROVIDER

    def __init__(self, config: BasetenConfig, context: BuildContext) -> None:
        self.name = config.name
        self._config = config
        self.step = config.step
        self._interval = context.interval
        self._clock = context.clock
        self._api = BasetenApi(config, context)
        self._discovery = Discovery(config, self._api)
        self._wants_prices = config.prices
        self._prices: Prices = {}
        self._prices_due = 0.0
        self._missing: dict[str, int] = {}

    def poll(self, request: PollRequest) -> Poll:
        """Read the organisation once; see ``ports.Source``."""
        started = self._clock()
        (poll,) = run_all(self._poll, [request], 1, self._api.http.stopped)
        return poll or Poll(self.name, started, self._clock(), error="watchdog is stopping")

    def try_out(self) -> Sequence[Remark]:
        """Try the key and what is named; see ``ports.Triable``."""
        return trial.try_out(self._config, self._api, self._clock() + trials.TRIAL_SECONDS)

    def close(self) -> None:
        """Close the connections; a poll under way ends at once."""
        self._api.http.close()

    def _poll(self, request: PollRequest) -> Poll:
        started = self._clock()
        deadline = started + patience(self._interval)
        found = self._discovery.look(request, deadline)
        if not found.any_search and found.error is not None:
            poll = self._finish(Poll(self.name, started, started), found.error)
            return replace(poll, retry_after=slow_retry(found.error, self._interval))
        self._read_prices(deadline)
        waiting, tasks = self._tasks(request, {**found.jobs, **found.short_lived}, found.jobs.keys())

        def read(task: _Task) -> _Outcome:
            return self._read(task, request, deadline)

        outcomes = [item for item in run_all(read, tasks, _THREADS, self._api.http.stopped) if item is not None]
        # A search that failed beside them may be an outage that answers 404: nothing is gone by it.
        gone = self._count_missing(outcomes) if found.error is None else []
        readings = [outcome.reading for outcome in outcomes if outcome.task.job not in gone]
        poll = Poll(self.name, started, started, readings=(*waiting, *readings), gone=tuple(gone))
        return self._finish(poll, found.error or _all_failed(outcomes))

    def _finish(self, poll: Poll, error: SourceError | None) -> Poll:
        poll = replace(poll, finished_at=self._clock())
        if error is None:
            return poll
        return replace(poll, error=str(error), error_kind=error.kind.value, retry_after=error.retry_after)

    def _tasks(
        self, request: PollRequest, jobs: Mapping[str, Mapping[str, Any]], listed: Any
    ) -> tuple[list[JobReading], list[_Task]]:
        """Return the readings of jobs that wait and have no metrics yet, and the jobs to read."""
        waiting: list[JobReading] = []
        tasks: list[_Task] = []
        for job, raw in jobs.items():
            known = job_of(raw, self.name, self._prices)
            if known.status is JobStatus.PENDING:
                waiting.append(JobReading(known))
            else:
                newest = _newest(request.watched.get(job))
                tasks.append(_Task(job, project_of(raw), known, job in listed, newest))
        for job, watched in request.watched.items():
            if job not in jobs:
                tasks.append(_Task(job, watched.job.project, watched.job, False, watched.newest_sample))
        tasks.sort(key=lambda task: task.newest or 0.0)  # what a poll had no time for comes first in the next
        return waiting, tasks

    def _read(self, task: _Task, request: PollRequest, deadline: float) -> _Outcome:
        reading: JobReading | None = None
        try:
            for start, end in self._windows(task, request):
                part = self._read_window(task, (start, end), request, deadline)
                reading = part if reading is None else _joined(reading, part)
        except SourceError as error:
            lost = unread(reading.job if reading else task.known, str(error))
            return _Outcome(task, lost if reading is None else replace(_joined(reading, lost), job=lost.job), error)
        assert reading is not None  # noqa: S101  # there is always a window
        return _Outcome(task, reading)

    def _read_window(
        self, task: _Task, window: tuple[float, float], request: PollRequest, deadline: float
    ) -> JobReading:
        start, end = window
        try:
            reply = self._api.metrics(task.project, task.job, start, end, deadline)
        except RefusedError as error:
            short = end - self._overlap
            if error.status not in (400, 413, 422) or start >= short:
                raise
            # A limit on the window that is not documented: better the newest samples than none.
            start = short
            reply = self._api.metrics(task.project, task.job, start, end, deadline)
        slack = max(2 * self.step, FUTURE_SLACK)
        context = ReplyContext(self.name, self._prices, start - slack, request.now + FUTURE_SLACK)
        return reading_of(reply, task.known, context)

    @property
    def _overlap(self) -> float:
        return max(_OVERLAP, 5 * self.step)

    def _windows(self, task: _Task, request: PollRequest) -> Iterator[tuple[float, float]]:
        """Yield the windows to ask for, oldest first, so that a poll cut short goes on where it ended."""
        reach = max(request.window, self._overlap)
        start = request.now - reach
        if task.newest is not None:
            start = max(start, task.newest - self._overlap)
        if task.known.created_at is not None:
            start = max(start, task.known.created_at - self.step)  # there is nothing older to ask for
        start = min(start, request.now - self._overlap)
        series = 2 * (2 * (task.known.gpus or 8) + 4 * (task.known.nodes or 1))  # the leader's come twice
        longest = max(_MOST_SAMPLES // series * self.step, self._overlap)
        start = max(start, request.now - _MOST_PARTS * longest)
        while request.now - start > longest:
            yield start, start + longest
            start += longest
        yield start, request.now

    def _count_missing(self, outcomes: Sequence[_Outcome]) -> list[str]:
        """Return the unlisted jobs that the provider did not know twice in a row."""
        missing = {
            outcome.task.job: self._missing.get(outcome.task.job, 0) + 1
            for outcome in outcomes
            if not outcome.task.listed and outcome.error and outcome.error.kind is SourceErrorKind.NOT_FOUND
        }
        gone = [job for job, times in missing.items() if times >= _GONE_AFTER]
        self._missing = {job: times for job, times in missing.items() if job not in gone}
        return gone

    def _read_prices(self, deadline: float) -> None:
        now = self._clock()
        if not self._wants_prices or 0 < self._prices_due - now <= _PRICES_AFTER:
            return
        try:
            self._prices = self._api.prices(deadline)
            self._prices_due = now + _PRICES_AFTER
        except SourceError:  # an administrator's right, perhaps: the cost is then not known
            self._prices_due = now + _PRICES_AGAIN


def _newest(watched: Watched | None) -> float | None:
    return None if watched is None else watched.newest_sample


def _joined(older: JobReading, newer: JobReading) -> JobReading:
    """Return two readings of one job, of windows one after the other, as one."""
    dropped = dict(older.dropped)
    for reason, times in newer.dropped.items():
        dropped[reason] = dropped.get(reason, 0) + times
    return JobReading(
        job=newer.job,
        points=older.points + newer.points,
        project_points=older.project_points + newer.project_points,
        failed_metrics=older.failed_metrics | newer.failed_metrics,
        error=newer.error or older.error,
        dropped=dropped,
    )


def _all_failed(outcomes: Sequence[_Outcome]) -> SourceError | None:
    """Return the error of a source whose metrics could not be read at all; a job that is not there is none."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    errors = [error for error in errors if error.kind is not SourceErrorKind.NOT_FOUND]
    if not errors or len(errors) < len(outcomes):
        return None
    wait = max((error.retry_after for error in errors if error.retry_after is not None), default=None)
    return SourceError(errors[0].kind, f"no metrics of any job: {errors[0]}", retry_after=wait)
