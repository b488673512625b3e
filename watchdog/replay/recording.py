"""What is known of the past: jobs with their samples and states, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from watchdog.model import Job, JobStatus, Labels
from watchdog.promql.storage import Floats


@dataclass(frozen=True, slots=True)
class RecordedSeries:
    """One series of a job or of its project: ascending times (unix seconds), finite values of equal number."""

    metric: str
    labels: Labels
    """Those beside the job's or project's own."""
    times: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class RecordedJob:
    """A job and all that is recorded of it."""

    job: Job
    """With what is known of it at its end; its status at a time is in ``states``."""
    states: tuple[tuple[float, JobStatus], ...]
    """From when on it had which status, ascending; nothing is known of it before the first."""
    end: float | None
    """After this nothing is known of it, and it counts as gone. None: it ended in a state, or the record does first."""
    series: tuple[RecordedSeries, ...] = ()
    shared: tuple[RecordedSeries, ...] = ()
    """Series of its project."""

    def every(self) -> Iterator[RecordedSeries]:
        """Yield all series."""
        yield from self.series
        yield from self.shared


@dataclass(frozen=True)
class Recording:
    """Everything that is replayed."""

    jobs: tuple[RecordedJob, ...]
    ups: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    """By source: times and values of ``source_up``, where they are recorded."""

    @cached_property
    def span(self) -> tuple[float, float]:
        """The times of the first and the last thing that is known."""
        times = [time for job in self.jobs for time, _ in job.states]
        for job in self.jobs:
            times += [float(time) for one in job.every() for time in (one.times[0], one.times[-1])]
        times += [float(time) for ups, _ in self.ups.values() for time in (ups[0], ups[-1])]
        return min(times), max(times)

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return sum(len(one.times) for job in self.jobs for one in job.every())

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the jobs, in order of their names."""
        return tuple(sorted({job.job.source for job in self.jobs}))
