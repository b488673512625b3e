"""Puts what files say together into jobs: which series is whose, which state a job had when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from watchdog.errors import UsageError
from watchdog.files import FileItem, FileJob, FileSeries, samples_of
from watchdog.labels import METRIC_NAME
from watchdog.model import Job, JobKey, JobStatus, Labels, labels_of
from watchdog.promql.storage import Floats
from watchdog.replay.recording import RecordedJob, RecordedSeries, Recording
from watchdog.replay.states import facts_of, states_of
from watchdog.rules.problems import nearest
from watchdog.vocabulary import METRICS, RESOURCE_METRICS, Scope

_OF_JOB = frozenset({"source", "provider", "project", "project_name", "job", "job_name", "owner", "gpu_type"})
SOURCE = "history"
"""The source of what names neither source nor provider."""
_SLACK = 300.0
"""Seconds before the end of the whole record in which the last sample of a job that goes on may lie."""

_Key = tuple[str, Labels]
"""Metric, and the labels beside the job's."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a series is called that does not say so itself."""

    job: str = ""
    """The job of series without one; empty: that of the file's name, up to the first dot."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """By provider: the name of its source."""

    def source_of(self, labels: Mapping[str, str]) -> str:
        """Return the source of a series or job."""
        provider = labels.get("provider", "")
        return labels.get("source") or self.sources.get(provider) or provider or SOURCE

    def job_of(self, labels: Mapping[str, str], file: str) -> str:
        """Return the job of a series that belongs to one."""
        return labels.get("job") or self.job or Path(file).name.partition(".")[0]


@dataclass(slots=True)
class _Draft:
    """One job so far."""

    labels: dict[str, str] = field(default_factory=dict)
    said: list[FileJob] = field(default_factory=list)
    parts: dict[_Key, list[FileSeries]] = field(default_factory=lambda: defaultdict(list))


_Drafts = dict[JobKey, _Draft]
_Shared = dict[tuple[str, str], dict[_Key, list[FileSeries]]]
"""By source and project."""


def gather(items: Iterable[FileItem], names: Names) -> Recording:
    """Return what the items say, as jobs.

    Raises UsageError for a metric that is not of the vocabulary, for two values of a series at one time, and where
    there is no sample at all.
    """
    drafts: _Drafts = defaultdict(_Draft)
    shared: _Shared = defaultdict(lambda: defaultdict(list))
    ups: dict[str, list[FileSeries]] = defaultdict(list)
    for item in items:
        if isinstance(item, FileJob):
            _take_job(item, names, drafts)
        else:
            _take_series(item, names, drafts, shared, ups)
    jobs = [job for key, draft in drafts.items() if (job := _job(key, draft)) is not None]
    if not jobs:
        raise UsageError("the history holds no sample of a job; name files or a period with some")
    projects = {(source, project): tuple(_series(parts)) for (source, project), parts in shared.items()}
    _check_projects(jobs, shared)
    last = max(_last(job) for job in jobs)
    found = [_with_end(_with_project(job, projects), last) for job in jobs]
    return Recording(tuple(found), {source: _finite(pieces) for source, pieces in ups.items()})


def _take_job(said: FileJob, names: Names, drafts: _Drafts) -> None:
    labels = dict(said.job.labels)
    key = JobKey(names.source_of(labels), names.job_of(labels, said.file))
    drafts[key].said.append(said)
    drafts[key].labels |= {name: value for name, value in labels.items() if not drafts[key].labels.get(name)}


def _take_series(
    item: FileSeries, names: Names, drafts: _Drafts, shared: _Shared, ups: dict[str, list[FileSeries]]
) -> None:
    labels = dict(item.labels)
    metric = labels.pop(METRIC_NAME)
    if metric not in METRICS:
        raise _unknown(item, metric)
    source, scope = names.source_of(labels), METRICS[metric].scope
    if scope is Scope.SOURCE:
        if metric == "source_up":
            ups[source].append(item)
        return
    own = {name: value for name, value in labels.items() if name in _OF_JOB}
    beside = (metric, labels_of({name: value for name, value in labels.items() if name not in _OF_JOB}))
    if scope is Scope.PROJECT and "job" not in labels and "project" in labels:
        shared[source, labels["project"]][beside].append(item)
        return
    draft = drafts[JobKey(source, names.job_of(labels, item.file))]
    draft.parts[beside].append(item)
    draft.labels |= {name: value for name, value in own.items() if not draft.labels.get(name)}


def _job(key: JobKey, draft: _Draft) -> RecordedJob | None:
    """Return the job; None of one without any sample."""
    series = {(one.metric, one.labels): one for one in _series(draft.parts)}
    measured = [one for one in series.values() if one.metric in RESOURCE_METRICS]
    if not series:
        return None
    job = facts_of(_described(key, draft.labels), draft.said, list(series.values()))
    first = min(float(one.times[0]) for one in series.values())
    last = max(float(one.times[-1]) for one in series.values())
    states = states_of(job, list(series.values()), first, last)
    until = max([last, *(said.as_of for said in draft.said if said.as_of is not None)])
    return RecordedJob(
        job=job,
        states=states,
        end=None if states[-1][1].terminal else until,
        series=tuple(one for one in measured if METRICS[one.metric].scope is not Scope.PROJECT),
        shared=tuple(one for one in measured if METRICS[one.metric].scope is Scope.PROJECT),
    )


def _described(key: JobKey, labels: Mapping[str, str]) -> Job:
    return Job(
        source=key.source,
        provider=labels.get("provider", ""),
        job=key.job,
        status=JobStatus.UNKNOWN,
        project=labels.get("project", ""),
        project_name=labels.get("project_name", ""),
        job_name=labels.get("job_name", ""),
        owner=labels.get("owner", ""),
        gpu_type=labels.get("gpu_type", ""),
    )


def _series(parts: Mapping[_Key, Sequence[FileSeries]]) -> Iterator[RecordedSeries]:
    for (metric, labels), pieces in parts.items():
        times, values = _finite(pieces)
        if len(times):
            yield RecordedSeries(metric, labels, times, values)


def _finite(pieces: Sequence[FileSeries]) -> tuple[Floats, Floats]:
    """Return times and values without those that are no numbers: a value that is missing."""
    times, values = samples_of(pieces)
    there = np.isfinite(values)
    return times[there], values[there]


def _with_project(job: RecordedJob, projects: Mapping[tuple[str, str], tuple[RecordedSeries, ...]]) -> RecordedJob:
    return replace(job, shared=job.shared + projects.get((job.job.source, job.job.project), ()))


def _check_projects(jobs: Iterable[RecordedJob], shared: _Shared) -> None:
    there = {(job.job.source, job.job.project) for job in jobs}
    for (source, project), parts in shared.items():
        if (source, project) not in there:
            file = next(iter(parts.values()))[0].file
            text = f'{file}: the cache of project "{project}" of source "{source}" has no job'
            raise UsageError(f"{text}; add the samples of a job with these labels")


def _last(job: RecordedJob) -> float:
    return max(job.states[-1][0], job.end or 0.0)


def _with_end(job: RecordedJob, last: float) -> RecordedJob:
    """Let a job go on whose samples reach to the end of the record."""
    return replace(job, end=None) if job.end is not None and job.end >= last - _SLACK else job


def _unknown(item: FileSeries, metric: str) -> UsageError:
    place = f"{item.file}:{item.lines[0]}" if len(item.lines) and item.lines[0] else item.file
    remedy = f"rename it, or leave it out: {nearest(metric, METRICS)}"
    return UsageError(f'{place}: "{metric}" is no metric that a rule can read (docs/metrics.md); {remedy}')
