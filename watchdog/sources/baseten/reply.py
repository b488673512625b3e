"""Baseten's metrics reply as a reading. Pure, and fast: it runs for each job at each poll.

Units and limits are stated in the provider's API document, but for the limits' meaning, which is
inferred (reference, section 2): GPU memory per GPU, sizes in MiB, 1000 millicpu for a core.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.model import Job, JobReading, Labels, Points
from watchdog.sources.base.numbers import RATIO_MOST, number
from watchdog.sources.base.points import EMPTY, PointReader, Series
from watchdog.sources.base.times import iso_seconds
from watchdog.sources.baseten.job import Prices, job_of, table

LEADER = "leader"
"""The ``node`` of a reply's top-level series: "that of the leader node" (API document)."""
_MIB = 1048576.0
_ANY = math.inf

_Against = tuple[str, str, float]
"""The metrics of a limit and of usage / limit, and the highest ratio that is believed."""
_GPU_MEMORY: _Against = ("gpu_memory_limit_bytes", "gpu_memory_utilization", RATIO_MOST)
_MEMORY: _Against = ("memory_limit_bytes", "memory_utilization", RATIO_MOST)
_CPU: _Against = ("cpu_limit_cores", "cpu_utilization", _ANY)
"""Cores may exceed their limit when bursting, by any factor."""

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "gpu_utilization": ("gpu_utilization",),
    "gpu_memory_usage_bytes": ("gpu_memory_usage_bytes", "gpu_memory_limit_bytes", "gpu_memory_utilization"),
    "cpu_usage": ("cpu_usage_cores", "cpu_limit_cores", "cpu_utilization"),
    "cpu_memory_usage_bytes": ("memory_usage_bytes", "memory_limit_bytes", "memory_utilization"),
    "ephemeral_storage": ("ephemeral_storage_usage_bytes", "ephemeral_storage_utilization"),
    "cache": ("cache_usage_bytes", "cache_utilization"),
}
"""The reply's fields, and the metrics that are unknown when one of them cannot be read."""


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """What a reply does not say about itself."""

    source: str
    prices: Prices
    oldest: float
    newest: float
    """Unix seconds between which points are believed."""


def reading_of(reply: object, known: Job | None, context: ReplyContext) -> JobReading:
    """Return what a metrics reply says of a job.

    The job's state is the reply's own, else ``known``. Raises SourceError (malformed) for a reply that
    holds no metrics at all, or no job where none is known.
    """
    if not isinstance(reply, dict) or not _FIELDS.keys() & reply.keys():
        raise SourceError(SourceErrorKind.MALFORMED, "metrics: an answer without any of the metrics' fields")
    entries = reply.get("per_node_metrics")
    nodes = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    raw = table(reply.get("training_job"))
    job = job_of(raw, context.source, context.prices, max(1, len(nodes))) if raw.get("id") else known
    if job is None:
        raise SourceError(SourceErrorKind.MALFORMED, "metrics: an answer without its job")
    reader = _ReplyReader(table(raw.get("instance_type")), context)
    for position, entry in enumerate(nodes):
        reader.node(str(entry.get("node_id") or position), table(entry.get("metrics")))
    if not reader.points:
        # No nodes, or none with a sample: the leader's series may be filled all the same.
        reader.failed.clear()
        reader.node(LEADER, reply)
    reader.cache(reply.get("cache"))
    failed = sorted(reader.failed)
    return JobReading(
        job=job,
        points=tuple(reader.points),
        project_points=tuple(reader.project_points),
        failed_metrics=frozenset(metric for field in failed for metric in _FIELDS[field]),
        error=f"the answer lacks {', '.join(failed)}, or has them in an unknown form" if failed else "",
        dropped=reader.reader.dropped,
    )


class _ReplyReader:
    """Collects the points of one reply."""

    def __init__(self, instance: Mapping[str, Any], context: ReplyContext) -> None:
        self.reader = PointReader(iso_seconds, context.oldest, context.newest)
        self.points: list[Points] = []
        self.project_points: list[Points] = []
        self.failed: set[str] = set()
        self._gpu_memory = _limit(instance.get("gpu_memory_limit_mib"), _MIB)
        self._memory = _limit(instance.get("memory_limit_mib"), _MIB)
        self._cores = _limit(instance.get("millicpu_limit"), 0.001)

    def node(self, node: str, metrics: Mapping[str, Any]) -> None:
        """Read the series of one node."""
        add = self.points.append
        for rank, series in self._ranks(metrics, "gpu_utilization", RATIO_MOST):
            add(Points("gpu_utilization", (("gpu", rank), ("node", node)), *series))
        for rank, series in self._ranks(metrics, "gpu_memory_usage_bytes", _ANY):
            labels = (("gpu", rank), ("node", node))
            add(Points("gpu_memory_usage_bytes", labels, *series))
            self._against(_GPU_MEMORY, self._gpu_memory, labels, series)
        self._of_node(metrics, (("node", node),))

    def cache(self, raw: object) -> None:
        """Read the cache of the project; null means that it has none."""
        if raw is not None:
            self._storage(raw, "cache", (), self.project_points)

    def _of_node(self, metrics: Mapping[str, Any], labels: Labels) -> None:
        for field, usage, against, limit in (
            ("cpu_usage", "cpu_usage_cores", _CPU, self._cores),
            ("cpu_memory_usage_bytes", "memory_usage_bytes", _MEMORY, self._memory),
        ):
            series = self._series(metrics.get(field), field, _ANY)
            if series[0]:
                self.points.append(Points(usage, labels, *series))
                self._against(against, limit, labels, series)
        self._storage(metrics.get("ephemeral_storage"), "ephemeral_storage", labels, self.points)

    def _ranks(self, metrics: Mapping[str, Any], field: str, most: float) -> Iterator[tuple[str, Series]]:
        found = metrics.get(field)
        if not isinstance(found, dict):
            self.failed.add(field)
            return
        for rank, raw in found.items():
            series = self._series(raw, field, most)
            if series[0]:
                yield rank, series

    def _storage(self, raw: object, field: str, labels: Labels, into: list[Points]) -> None:
        found = table(raw)
        for part, most in (("usage_bytes", _ANY), ("utilization", RATIO_MOST)):
            series = self._series(found.get(part), field, most)
            if series[0]:
                into.append(Points(f"{field}_{part}", labels, *series))

    def _series(self, raw: object, field: str, most: float) -> Series:
        if isinstance(raw, list):
            return self.reader.read(raw, most)
        self.failed.add(field)
        return EMPTY

    def _against(self, against: _Against, limit: float | None, labels: Labels, series: Series) -> None:
        """Add limit and ratio beside a usage series, where the limit is stated and the ratio can be believed."""
        if limit is None:
            return
        limit_metric, ratio_metric, most = against
        times, ratios = self.reader.ratios(series, limit, most)
        if times:
            self.points.append(Points(limit_metric, labels, times, [limit] * len(times)))
            self.points.append(Points(ratio_metric, labels, times, ratios))


def _limit(raw: object, scale: float) -> float | None:
    """Return a limit in base units; None when it is not stated, or 0."""
    found = number(raw)
    return found * scale if isinstance(found, float) and found > 0 else None
