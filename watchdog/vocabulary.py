"""The normalized metrics: names, units, scopes. The contract between sources and rules (docs/metrics.md).

Prometheus naming, base units, ratios 0..1. A missing value is never written.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a series of the metric belongs to; decides its labels."""

    GPU = "gpu"
    """The job's labels, ``node`` and ``gpu``."""
    NODE = "node"
    """The job's labels and ``node``."""
    JOB = "job"
    PROJECT = "project"
    """``source``, ``provider``, ``project``, ``project_name``: shared by the project's jobs."""
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the vocabulary."""

    name: str
    unit: str
    """``ratio``, ``bytes``, ``cores``, ``seconds``, ``watts``, ``celsius``, ``count``, ``bool``, …"""
    scope: Scope
    help: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that its series may have (docs/metrics.md)."""
        return (*_LABELS[self.scope], "status") if self.name == "job_status" else _LABELS[self.scope]


_PROJECT = ("source", "provider", "project", "project_name")
_JOB = (*_PROJECT, "job", "job_name", "owner", "gpu_type")
_LABELS: dict[Scope, tuple[str, ...]] = {
    Scope.GPU: (*_JOB, "node", "gpu"),
    Scope.NODE: (*_JOB, "node"),
    Scope.JOB: _JOB,
    Scope.PROJECT: _PROJECT,
    Scope.SOURCE: ("source",),
}

_RESOURCE = (
    Metric("gpu_utilization", "ratio", Scope.GPU, "Share of time in which a kernel was resident on the GPU."),
    Metric("gpu_memory_usage_bytes", "bytes", Scope.GPU, "GPU memory in use."),
    Metric("gpu_memory_limit_bytes", "bytes", Scope.GPU, "GPU memory there is."),
    Metric("gpu_memory_utilization", "ratio", Scope.GPU, "GPU memory in use / limit."),
    Metric("gpu_power_watts", "watts", Scope.GPU, "Power drawn by the GPU."),
    Metric("gpu_temperature_celsius", "celsius", Scope.GPU, "Temperature of the GPU."),
    Metric("gpu_tensor_active", "ratio", Scope.GPU, "Share of time in which tensor cores were active."),
    Metric("gpu_sm_active", "ratio", Scope.GPU, "Share of time in which a streaming multiprocessor had a warp."),
    Metric("cpu_usage_cores", "cores", Scope.NODE, "CPU in use."),
    Metric("cpu_limit_cores", "cores", Scope.NODE, "CPU that the node may use."),
    Metric("cpu_utilization", "ratio", Scope.NODE, "CPU in use / limit; above 1 when bursting."),
    Metric("memory_usage_bytes", "bytes", Scope.NODE, "Main memory in use."),
    Metric("memory_limit_bytes", "bytes", Scope.NODE, "Main memory that the node may use."),
    Metric("memory_utilization", "ratio", Scope.NODE, "Main memory in use / limit."),
    Metric("ephemeral_storage_usage_bytes", "bytes", Scope.NODE, "Local disk in use."),
    Metric("ephemeral_storage_utilization", "ratio", Scope.NODE, "Local disk in use / size."),
    Metric("cache_usage_bytes", "bytes", Scope.PROJECT, "Project cache in use."),
    Metric("cache_utilization", "ratio", Scope.PROJECT, "Project cache in use / size."),
)
"""What sources measure while a job runs."""

_STATE = (
    Metric("job_status", "bool", Scope.JOB, "State set: 1 for the job's status, 0 for the others (label status)."),
    Metric("job_pending_seconds", "seconds", Scope.JOB, "How long the job has waited for GPUs; only while it waits."),
    Metric("job_running_seconds", "seconds", Scope.JOB, "How long the job has run; only while it runs."),
    Metric("job_gpus", "count", Scope.JOB, "GPUs of the job over all its nodes."),
    Metric("job_cost_usd_per_hour", "usd_per_hour", Scope.JOB, "List price of the whole job (an estimate)."),
    Metric(
        "job_sample_age_seconds",
        "seconds",
        Scope.JOB,
        "Age of the job's newest sample, or its time running without any.",
    ),
    Metric("source_up", "bool", Scope.SOURCE, "1 if the last poll of the source succeeded, else 0."),
    Metric("source_poll_seconds", "seconds", Scope.SOURCE, "How long the last poll took."),
    Metric("source_last_success_timestamp_seconds", "timestamp", Scope.SOURCE, "When the source was last polled well."),
)
"""What watchdog itself knows."""

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*_RESOURCE, *_STATE)}
RESOURCE_METRICS: frozenset[str] = frozenset(metric.name for metric in _RESOURCE)
"""Metrics that sources measure; rules on them apply only while the job runs."""
