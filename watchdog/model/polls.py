"""Samples, and what one poll of a source learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from watchdog.model.jobs import Job
from watchdog.model.labels import Labels


@dataclass(frozen=True, slots=True)
class Points:
    """Samples of one series as a source read them: any order, repeats allowed, all values finite.

    ``labels`` are those beside the job's (or project's) own, sorted: ``(("gpu", "0"), ("node", "a"))``.
    ``times`` and ``values`` have equal length; times are unix seconds.
    """

    metric: str
    labels: Labels
    times: Sequence[float]
    values: Sequence[float]


class OwnRow(NamedTuple):
    """One sample of one of watchdog's own series; a tuple, because a tick makes thousands of them."""

    base: Labels
    metric: str
    extra: Labels
    """The labels beside the base."""
    value: float


@dataclass(frozen=True, slots=True)
class JobReading:
    """What one poll learnt about one job."""

    job: Job
    points: tuple[Points, ...] = ()
    project_points: tuple[Points, ...] = ()
    """Series that belong to the job's project (the cache)."""
    failed_metrics: frozenset[str] = frozenset()
    """Metrics that could not be read this time: they are unknown, not absent."""
    error: str = ""
    """Why metrics could not be read, for people; empty when all were."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Points left out, counted by reason (``null``, ``nan``, ``bad_timestamp``, ``unit``, …)."""


@dataclass(frozen=True, slots=True)
class Watched:
    """An active job as the engine knows it; tells a source how much of it to read."""

    job: Job
    newest_sample: float | None
    """Time of the newest sample in the history; None asks for the whole window again (backfill)."""


@dataclass(frozen=True, slots=True)
class PollRequest:
    """What the engine asks of a source."""

    now: float
    watched: Mapping[str, Watched]
    """Active jobs of this source by provider id. One that is no longer listed gets a last read."""
    window: float
    """Seconds of history that the longest rule needs: how far a backfill reaches."""


@dataclass(frozen=True, slots=True)
class Poll:
    """The outcome of one poll of one source."""

    source: str
    started_at: float
    finished_at: float
    readings: tuple[JobReading, ...] = ()
    gone: tuple[str, ...] = ()
    """Ids of watched jobs that the provider no longer knows (twice in a row)."""
    error: str = ""
    """Why the source as a whole could not be read; empty when it could. Readings may be partial."""
    error_kind: str = ""
    """A SourceErrorKind value, beside ``error``."""
    retry_after: float | None = None
    """Seconds to wait before the next poll, when the source asks for more than its interval."""

    @property
    def up(self) -> bool:
        """Whether the source answered; becomes ``source_up``."""
        return not self.error
