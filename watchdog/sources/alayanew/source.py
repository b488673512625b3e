"""One poll of Alaya NeW: the job list where there is one, four metrics requests for each job."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.model import Job, JobReading, JobStatus, Points, Poll, PollRequest, Remark
from watchdog.sources.alayanew import trial
from watchdog.sources.alayanew.api import AlayaNewApi, JobList
from watchdog.sources.alayanew.config import AlayaNewConfig, zone_of
from watchdog.sources.alayanew.reply import METRICS, PROVIDER, TypeReading, job_of, period_for, type_reading
from watchdog.sources.base import BuildContext, patience, run_all, slow_retry, trials, unread
from watchdog.sources.base.points import FUTURE_SLACK, PointReader
from watchdog.sources.base.times import epoch_seconds

log = logging.getLogger("watchdog.sources.alayanew")

FRESH = 600.0
"""Seconds: a job without a stated state runs while its newest point is younger than this."""
_THREADS = 4
_OVERLAP = 300.0
"""Seconds read again at each poll, for samples that come late."""
_FEW = 5
"""Samples of a series from which no step is derived."""
_GONE_AFTER = 2
"""Polls in a row in which a job must be unknown before it is gone."""
_PASSING = frozenset({SourceErrorKind.UNAVAILABLE, SourceErrorKind.RATE_LIMITED, SourceErrorKind.MALFORMED})


@dataclass(frozen=True, slots=True)
class _Task:
    """One job to read."""

    known: Job
    """As the list or the engine has it, else only its id."""
    stated: bool
    """Whether ``known.status`` is the provider's word, or was a moment ago."""
    newest: float | None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How reading one job ended; ``errors`` are those of the types that could not be read."""

    task: _Task
    reading: JobReading
    errors: tuple[SourceError, ...]

    @property
    def failed(self) -> bool:
        """Whether no type could be read."""
        return len(self.errors) == len(METRICS)

    @property
    def not_found(self) -> bool:
        """Whether the provider does not know the job."""
        return self.failed and all(error.kind is SourceErrorKind.NOT_FOUND for error in self.errors)


class AlayaNewSource:
    """An Alaya NeW account; see ``ports.Source``."""

    provider = PROVIDER

    def __init__(self, config: AlayaNewConfig, context: BuildContext) -> None:
        self.name = config.name
        self._config = config
        self.step = config.step
        self._named = config.jobs
        self._discover = config.discover
        self._zone = zone_of(config.timezone)
        self._interval = context.interval
        self._clock = context.clock
        self._api = AlayaNewApi(config, context)
        self._listed_before: frozenset[str] | None = None
        self._missing: dict[str, int] = {}
        self._behind: dict[str, dict[str, float | None]] = {}
        """By job and type that failed at the last poll: up to when it was read; the other types go on meanwhile."""
        self._step_checked = False

    def poll(self, request: PollRequest) -> Poll:
        """Read the account once; see ``ports.Source``."""
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
        listing = self._list(deadline)
        if isinstance(listing, SourceError) and self._discover:
            return self._failed(Poll(self.name, started, self._clock()), listing)
        jobs, absent = self._jobs(request, listing)
        waiting = [JobReading(task.known) for task in jobs if _waits(task)]
        tasks = sorted((task for task in jobs if not _waits(task)), key=lambda task: task.newest or 0.0)

        def read(task: _Task) -> _Outcome:
            return self._read(task, request, deadline)

        outcomes = [item for item in run_all(read, tasks, _THREADS, self._api.http.stopped) if item is not None]
        self._forget_others(tasks)
        self._check_step(outcomes, request.now)
        # One that the list still has is not gone, whatever its metrics say.
        lost = [item.task.known.job for item in outcomes if item.not_found and not item.task.stated]
        answered = isinstance(listing, JobList) or any(not item.failed for item in outcomes)
        gone = self._count_missing([*absent, *lost]) if answered else []
        unlisted = [unread(job, "not in the job list") for id_, job in absent.items() if id_ not in gone]
        readings = [item.reading for item in outcomes if self._tells(item, request, gone)]
        known_gone = tuple(job for job in gone if job in request.watched)
        poll = Poll(self.name, started, self._clock(), (*waiting, *readings, *unlisted), gone=known_gone)
        error = _all_failed(outcomes) or (None if answered else _nothing_found(outcomes))
        return poll if error is None else self._failed(poll, error)

    def _failed(self, poll: Poll, error: SourceError) -> Poll:
        wait = slow_retry(error, self._interval)
        return replace(poll, error=str(error), error_kind=error.kind.value, retry_after=wait)

    def _list(self, deadline: float) -> JobList | SourceError:
        """Return the job list, or why there is none: the API document does not describe it."""
        try:
            return self._api.jobs(deadline)
        except SourceError as error:
            log.debug("no job list", extra={"source": self.name, "error": str(error)})
            return error

    def _jobs(self, request: PollRequest, listing: JobList | SourceError) -> tuple[list[_Task], dict[str, Job]]:
        """Return the jobs to tell of, and watched ones that a complete list does not have."""
        tasks: list[_Task] = []
        absent: dict[str, Job] = {}
        rows = listing.rows if isinstance(listing, JobList) else {}
        complete = isinstance(listing, JobList) and listing.complete
        named = dict.fromkeys(self._named)
        for id_ in {**named, **dict.fromkeys(request.watched), **(rows if self._discover else {})}:
            watched = request.watched.get(id_)
            newest = watched.newest_sample if watched else None
            if id_ in rows:
                known = job_of(rows[id_], self.name, self._zone)
                if watched or not known.status.terminal or self._is_new(id_):
                    tasks.append(_Task(known, stated=True, newest=newest))
            elif watched and complete and id_ not in named:
                absent[id_] = watched.job
            else:
                passing = isinstance(listing, SourceError) and listing.kind in _PASSING
                bare = Job(self.name, PROVIDER, id_, JobStatus.UNKNOWN)
                known = watched.job if watched else bare
                tasks.append(_Task(known, stated=passing and watched is not None, newest=newest))
        if isinstance(listing, JobList):
            self._listed_before = frozenset(rows)
        return tasks, absent

    def _is_new(self, job: str) -> bool:
        """Whether a listed job was not in the list of the poll before: it lived between the two."""
        return self._listed_before is not None and job not in self._listed_before

    def _read(self, task: _Task, request: PollRequest, deadline: float) -> _Outcome:
        now = request.now
        job = task.known.job
        behind = self._behind.get(job, {})
        periods = {kind: _period(behind.get(kind, task.newest), request) for kind in METRICS}
        longest = max(length for _, length in periods.values())
        reader = PointReader(epoch_seconds, now - longest - FUTURE_SLACK, now + FUTURE_SLACK)
        read: dict[str, TypeReading] = {}
        errors: dict[str, SourceError] = {}
        for kind in METRICS:
            try:
                data = self._api.metrics(job, kind, periods[kind][0], deadline)
                read[kind] = type_reading(data, kind, reader)
            except SourceError as error:
                errors[kind] = error
        self._behind[job] = {kind: behind.get(kind, task.newest) for kind in errors}
        reading = JobReading(
            job=_described(task, read, now),
            points=tuple(points for part in read.values() for points in part.points),
            failed_metrics=frozenset(METRICS[kind] for kind in errors),
            error=str(next(iter(errors.values()), "")),
            dropped=reader.dropped,
        )
        return _Outcome(task, reading, tuple(errors.values()))

    def _forget_others(self, tasks: Sequence[_Task]) -> None:
        """Forget what was behind of jobs that are not read any more."""
        jobs = {task.known.job for task in tasks}
        self._behind = {job: types for job, types in self._behind.items() if job in jobs}

    def _check_step(self, outcomes: Sequence[_Outcome], now: float) -> None:
        """Say once if samples come more slowly than ``step``: coverage is then too low for rules to be judged."""
        recent = [
            item.reading for item in outcomes if item.task.newest is not None and item.task.newest > now - _OVERLAP
        ]
        times = [points.times for reading in recent for points in reading.points if len(points.times) > _FEW]
        if self._step_checked or not times:
            return
        self._step_checked = True
        seen = min(median(after - before for before, after in pairwise(series)) for series in times)
        if seen > 1.5 * self.step:
            text = f'samples come every {seen:g} s; write step = "{seen:g}s" for this source, or its coverage looks low'
            log.warning(text, extra={"source": self.name})

    def _tells(self, outcome: _Outcome, request: PollRequest, gone: Sequence[str]) -> bool:
        """Whether a reading says anything: not of a job that is gone, nor of a named one that never was."""
        job = outcome.task.known.job
        if job in gone:
            return False
        unheard_of = outcome.not_found and job not in request.watched and not outcome.task.stated
        if unheard_of and self._missing.get(job) == 1:
            log.warning("no such job, or not for this key", extra={"source": self.name, "job": job})
        return not unheard_of

    def _count_missing(self, missing: Sequence[str]) -> list[str]:
        """Return the jobs that were not known twice in a row."""
        self._missing = {job: self._missing.get(job, 0) + 1 for job in missing}
        return [job for job, times in self._missing.items() if times >= _GONE_AFTER]


def _waits(task: _Task) -> bool:
    return task.stated and task.known.status is JobStatus.PENDING


def _described(task: _Task, read: dict[str, TypeReading], now: float) -> Job:
    """Return the job with what its metrics say of it, where nothing else does."""
    job = task.known
    fresh = {
        dict(points.labels)["node"] for part in read.values() for points in part.points if _newest(points) > now - FRESH
    }
    if not task.stated and read:
        recent = task.newest is not None and task.newest > now - FRESH
        job = replace(job, status=JobStatus.RUNNING if fresh or recent else JobStatus.UNKNOWN, provider_status="")
    on_gpu = [read[kind] for kind in ("gpu", "vram") if kind in read]
    if job.gpus is None and fresh and on_gpu:
        # Only of pods that report: those of a pod that was replaced stay in the window for a while.
        gpus = max(sum(part.gpus.get(pod, 0) for pod in fresh) for part in on_gpu)
        job = replace(job, gpus=gpus, nodes=len(fresh))
    return replace(job, gpu_type=job.gpu_type or next((part.gpu_type for part in on_gpu), ""))


def _period(newest: float | None, request: PollRequest) -> tuple[str, float]:
    """Return the shortest period that reaches back to ``newest``, or over the window, with its length."""
    since = request.window if newest is None else request.now - newest + _OVERLAP
    return period_for(min(since, max(request.window, 900.0)))


def _newest(points: Points) -> float:
    return points.times[-1]


def _nothing_found(outcomes: Sequence[_Outcome]) -> SourceError | None:
    """Return the error of a source that answers "not found" to everything: an outage, and no job is gone by it."""
    if not any(outcome.not_found for outcome in outcomes):
        return None
    text = "no job was found, nor a job list; if this lasts, check base_url and path_prefix, and the ids in jobs"
    return SourceError(SourceErrorKind.UNAVAILABLE, text)


def _all_failed(outcomes: Sequence[_Outcome]) -> SourceError | None:
    """Return the error of an account whose metrics could not be read at all; a job that is not there is none."""
    failed = [outcome for outcome in outcomes if outcome.failed and not outcome.not_found]
    if not failed or len(failed) < len(outcomes):
        return None
    errors = [error for outcome in failed for error in outcome.errors]
    wait = max((error.retry_after for error in errors if error.retry_after is not None), default=None)
    return SourceError(errors[0].kind, f"no metrics of any job: {errors[0]}", retry_after=wait)
