"""What is known at this tick: may an alert be judged, or does it have to wait for data?

Missing data, a failed poll or an outage of the provider never fires and never resolves an alert. This
module decides, for one alert at a time, whether its evaluation can be believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from watchdog.alerts.program import CompiledRule
from watchdog.alerts.reads import Sum
from watchdog.jobs.registry import Registry
from watchdog.jobs.series import over
from watchdog.jobs.sources import Sources
from watchdog.labels import LabelColumns
from watchdog.model import Job, JobKey, JobRecord, JobStatus, Labels
from watchdog.promql.storage import Matcher, MatchOp, Storage
from watchdog.vocabulary import METRICS, RESOURCE_METRICS, Scope

_SCOPE_LABELS = {
    Scope.GPU: ("source", "job", "node", "gpu"),
    Scope.NODE: ("source", "job", "node"),
    Scope.JOB: ("source", "job"),
    Scope.PROJECT: ("source", "project"),
    Scope.SOURCE: ("source",),
}


ALWAYS_THERE = "gpu_utilization"
"""What every source has of a job with GPUs; of other metrics it depends on the source."""


class Doubt(Enum):
    """Why an alert cannot be judged now."""

    SOURCE = auto()
    """Its source is down: one SourceDown incident stands for all of it."""
    JOB = auto()
    """Its job does not run, or is in a state that is not known."""
    DATA = auto()
    """Samples are missing: ``no_data`` of the rule decides."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A doubt, and what to tell people."""

    doubt: Doubt
    reason: str
    partial: bool = False
    """Some of the data is there: not enough to judge, and too much to say that there is none."""


class Knowledge:
    """Answers for one tick, before anything else changes. Looks only at the series that it is asked about."""

    def __init__(self, storage: Storage, registry: Registry, sources: Sources, now: float) -> None:
        self._storage = storage
        self._registry = registry
        self._sources = sources
        self._now = now
        self._found: dict[tuple[str, tuple[tuple[str, str], ...]], np.ndarray] = {}
        """Times that were looked up at this tick."""

    def record(self, labels: Mapping[str, str]) -> JobRecord | None:
        """Return the record of the job that these labels name."""
        if "job" not in labels or "source" not in labels:
            return None
        return self._registry.get(JobKey(labels["source"], labels["job"]))

    def doubt(
        self, rule: CompiledRule, instance: Labels, uncovered: LabelColumns | None, *, holds: bool
    ) -> Unknown | None:
        """Return why this alert cannot be judged; None when it can.

        ``uncovered`` are series whose windows hold too few samples; ``holds`` says whether the
        expression claims to hold for this instance.
        """
        labels = dict(instance)
        return (
            self._source_doubt(rule, labels)
            or self._job_doubt(rule, labels)
            or self._stale_doubt(rule, labels, holds=holds)
            or self._coverage_doubt(labels, uncovered)
            or self._part_doubt(rule, labels)
        )

    def vanished(self, rule: CompiledRule, labels: Mapping[str, str]) -> bool:
        """Whether no series of this alert is left while the same job has fresh samples of the same metric."""
        whole = {name: labels[name] for name in ("source", "job") if name in labels}
        if len(whole) < 2 or whole == dict(labels):
            return False
        limit = self._sources.stale_after(labels["source"])
        for name in rule.required:
            scope = METRICS[name].scope
            if not self._newest(name, scope, labels).size:
                others = self._newest(name, scope, whole)
                wanted = _expected(scope, self.record(labels), whole)
                fresh = int(np.count_nonzero(self._now - others < limit))
                return fresh >= (wanted if np.isfinite(wanted) else 1)
        return False

    def _source_doubt(self, rule: CompiledRule, labels: Mapping[str, str]) -> Unknown | None:
        record = self.record(labels)
        ended = record is not None and record.end_untold and rule.rule.event
        if rule.about_source or (ended and not rule.reads_resources):
            return None  # the end of a job was read, and stays true whatever else could not be read
        name = labels.get("source")
        if name is None:
            down = self._sources.any_down()
            return Unknown(Doubt.SOURCE, "a source is down") if down else None
        return Unknown(Doubt.SOURCE, f"source {name} is down") if self._sources.down(name) else None

    def _job_doubt(self, rule: CompiledRule, labels: Mapping[str, str]) -> Unknown | None:
        record = self.record(labels)
        if record is None or not record.active:
            return None
        status = record.job.status
        if status is JobStatus.UNKNOWN:
            return Unknown(Doubt.JOB, "the state of the job is not known")
        if rule.reads_resources and status is not JobStatus.RUNNING:
            return Unknown(Doubt.JOB, f"the job is {status.value}")
        return None

    def _coverage_doubt(self, labels: Mapping[str, str], uncovered: LabelColumns | None) -> Unknown | None:
        if uncovered is None:
            return None
        mask = np.ones(uncovered.size, dtype=np.bool_)
        for name, value in labels.items():
            codes = uncovered.columns.get(name)
            if codes is not None:
                mask &= (codes == 0) | (codes == uncovered.table.code(value))
        return Unknown(Doubt.DATA, "the window holds too few samples", partial=True) if mask.any() else None

    def _stale_doubt(self, rule: CompiledRule, labels: Mapping[str, str], *, holds: bool) -> Unknown | None:
        record = self.record(labels)
        for name in sorted(rule.metrics - rule.only_missed):
            metric = METRICS.get(name)
            if metric is None:
                continue
            if record is not None and over(name, record.job.status):
                continue
            newest = self._newest(name, metric.scope, labels)
            reason = self._stale_reason(name, metric.scope, newest, record, labels)
            if reason is None and not newest.size and self._is_missing(rule, name, record, holds=holds):
                reason = f"there is no sample of {name}"
            if reason is not None:
                return Unknown(Doubt.DATA, reason)
        return None

    def _is_missing(self, rule: CompiledRule, name: str, record: JobRecord | None, *, holds: bool) -> bool:
        """Whether the absence of a metric is a gap, and not that its source never has it."""
        if name in rule.required:
            return not holds
        if record is None or record.job.status is not JobStatus.RUNNING or name not in RESOURCE_METRICS:
            return False
        scope = METRICS[name].scope
        if scope is Scope.GPU and not record.job.gpus:
            return False
        return name == ALWAYS_THERE or self._newest(name, scope, {"source": record.job.source}).size > 0

    def _part_doubt(self, rule: CompiledRule, labels: Mapping[str, str]) -> Unknown | None:
        """Doubt a rule that sums up GPUs or nodes while fewer of them report than their job has."""
        if not rule.sums:
            return None
        record = self.record(labels)
        records = [record] if record is not None else self._registry.active()
        for one in records:
            if one.job.status is JobStatus.RUNNING and _speaks_of(labels, one.job):
                for part in sorted(rule.sums):
                    reason = self._lacking(part, one.job, labels)
                    if reason:
                        return Unknown(Doubt.DATA, reason, partial=True)
        return None

    def _lacking(self, part: Sum, job: Job, labels: Mapping[str, str]) -> str:
        """Return how many of a job's GPUs or nodes report, if it should be more; empty if it is enough."""
        scope = METRICS[part.metric].scope
        wanted = job.gpus if scope is Scope.GPU else job.nodes
        where = {"source": job.source, "job": job.job}
        if part.per_node and "node" in labels:
            wanted = job.gpus // job.nodes if job.gpus and job.nodes and job.gpus % job.nodes == 0 else None
            where["node"] = labels["node"]
        newest = self._newest(part.metric, scope, where)
        fresh = int(np.count_nonzero(self._now - newest < self._sources.stale_after(job.source)))
        if not wanted or not newest.size or fresh >= wanted:
            return ""
        return f"{fresh} of {wanted} {'GPUs' if scope is Scope.GPU else 'nodes'} send {part.metric}"

    def _newest(self, name: str, scope: Scope, labels: Mapping[str, str]) -> np.ndarray:
        """Return the time of the newest sample of each series that this alert may speak of."""
        where = tuple((key, labels[key]) for key in _SCOPE_LABELS[scope] if key in labels)
        found = self._found.get((name, where))
        if found is None:
            matchers = [Matcher(key, MatchOp.EQUAL, value) for key, value in (("__name__", name), *where)]
            times = [selection.latest(-np.inf, self._now)[0] for selection in self._storage.select(matchers)]
            joined = np.concatenate(times) if times else np.zeros(0)
            found = self._found[name, where] = joined[~np.isnan(joined)]
        return found

    def _stale_reason(
        self, name: str, scope: Scope, newest: np.ndarray, record: JobRecord | None, labels: Mapping[str, str]
    ) -> str | None:
        limit = self._sources.stale_after(labels.get("source"))
        fresh = int(np.count_nonzero(self._now - newest < limit))  # strictly: at the limit a selector takes it no more
        if fresh == 0 and newest.size:
            return f"{name} has had no new sample for {self._now - float(newest.max()):.0f} s"
        if fresh == 0:
            failed = record is not None and name in self._registry.failed_metrics(record.job.key)
            return f"{name} could not be read" if failed else None
        if fresh == newest.size or fresh >= _expected(scope, record, labels):
            return None
        return f"{newest.size - fresh} of {newest.size} series of {name} have had no new sample for over {limit:.0f} s"


def _expected(scope: Scope, record: JobRecord | None, labels: Mapping[str, str]) -> float:
    """How many series of the job should be fresh; infinite when that is not known.

    A pod that was replaced leaves stale series behind while all its GPUs report under a new name:
    as many fresh ones as the job has is enough.
    """
    if record is None or "node" in labels or scope not in (Scope.GPU, Scope.NODE):
        return np.inf
    count = record.job.gpus if scope is Scope.GPU else record.job.nodes
    return np.inf if count is None else float(count)


def _speaks_of(labels: Mapping[str, str], job: Job) -> bool:
    """Whether an alert with these labels may speak of a job: they agree in every label that both have."""
    own = dict(job.labels)
    return all(labels[name] == value for name, value in own.items() if name in labels)
