"""When did it begin? The first sample of what an alert is about, looked up in the recording."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from watchdog.alerts.program import CompiledRule
from watchdog.model import JobKey, Labels
from watchdog.replay.recording import RecordedJob, RecordedSeries, Recording


class Onsets:
    """Looks up onsets in one recording."""

    def __init__(self, recording: Recording) -> None:
        self._jobs = recording.jobs
        self._by_key = {job.job.key: job for job in recording.jobs}

    def of(self, rule: CompiledRule, instance: Labels, held: float) -> float:
        """Return the onset of an alert whose expression has held since the tick at ``held``.

        That is the first sample, of the series that the rule reads of this instance, in the time of which the
        expression proves that it was so already. An expression that proves nothing beyond its moment: the newest
        sample at that tick. Where there is no such sample, the time itself.
        """
        edge = held - rule.proves
        times = [time for one in self._times(rule, dict(instance)) if (time := _pick(one, edge, held)) is not None]
        if not times:
            return edge
        return min(times) if edge < held else max(times)

    def _times(self, rule: CompiledRule, labels: dict[str, str]) -> Iterator[np.ndarray]:
        for job in self._jobs_of(labels):
            if "job_status" in rule.query.metrics:
                yield np.array([since for since, _ in job.states])
            for one in job.every():
                if one.metric in rule.query.metrics and _speaks_of(one, labels):
                    yield one.times

    def _jobs_of(self, labels: dict[str, str]) -> Iterator[RecordedJob]:
        if "source" in labels and "job" in labels:
            job = self._by_key.get(JobKey(labels["source"], labels["job"]))
            yield from () if job is None else (job,)
            return
        for job in self._jobs:
            own = dict(job.job.labels)
            if all(own.get(name, value) == value for name, value in labels.items()):
                yield job


def _pick(times: np.ndarray, edge: float, held: float) -> float | None:
    """Return the first time after ``edge``; with no span between the two, the newest that is not after ``held``."""
    if edge == held:
        position = int(np.searchsorted(times, held, side="right")) - 1
        return float(times[position]) if position >= 0 else None
    position = int(np.searchsorted(times, edge, side="right"))
    found = float(times[position]) if position < len(times) else math.inf
    return found if found <= held else None


def _speaks_of(series: RecordedSeries, labels: dict[str, str]) -> bool:
    own = dict(series.labels)
    return all(labels.get(name, value) == value for name, value in own.items())
