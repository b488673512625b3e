"""What an incident has cost: GPU-hours of the GPUs that it is about, and their money at list price.

Only rules with ``waste = true`` name money: GPUs that idle are paid for nothing, while a job whose disk fills up
still works, and one that failed is not billed any more. Where the price is not known there is no sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from watchdog.model import AlertView, IncidentView, Job, JobStatus

Span = tuple[float, float]
_NOT_BILLED = (JobStatus.PENDING, JobStatus.STARTING)


@dataclass(frozen=True, slots=True)
class Waste:
    """What was paid for nothing."""

    gpu_hours: float
    usd: float | None
    """At list price; None where the price is not known."""
    usd_per_hour: float | None
    """What each further hour adds; None where it is over, or the price is not known."""


def wasted(view: IncidentView, now: float) -> Waste | None:
    """Return what was wasted until ``now``; None where no rule speaks of waste, or the GPUs are not known."""
    job = view.job
    wasteful = [alert for alert in view.alerts if alert.waste and not alert.event]
    if job is None or not job.gpus or job.status in _NOT_BILLED or not wasteful:
        return None
    hours = gpu_hours(wasteful, job, now)
    if hours is None:
        return None
    cost = job.cost_usd_per_hour
    price = cost / job.gpus if cost is not None and math.isfinite(cost) else None
    live = [alert for alert in wasteful if alert.status == "firing" and not alert.unknown]
    gpus = min(job.gpus, sum({_place(alert): _gpus(alert, job) or 0 for alert in live}.values()))
    return Waste(
        gpu_hours=hours,
        usd=None if price is None else hours * price,
        usd_per_hour=None if price is None or not live else gpus * price,
    )


def gpu_hours(alerts: Sequence[AlertView], job: Job, now: float) -> float | None:
    """Return the GPU-hours that alerts of a job are about; None if it is not known how many GPUs those are.

    Time that several alerts share counts once per GPU, and time since data is missing does not count.
    """
    spans: dict[tuple[str, str], list[Span]] = {}
    gpus: dict[tuple[str, str], int] = {}
    for alert in alerts:
        count = _gpus(alert, job)
        if count is None or job.gpus is None:
            return None
        gpus[_place(alert)] = count
        spans.setdefault(_place(alert), []).append(_span(alert, now))
    each = sum(gpus[place] * _covered(found) for place, found in spans.items())
    most = (job.gpus or 0) * _covered(span for found in spans.values() for span in found)
    return min(each, most) / 3600


def _place(alert: AlertView) -> tuple[str, str]:
    labels = dict(alert.labels)
    return labels.get("node", ""), labels.get("gpu", "")


def _gpus(alert: AlertView, job: Job) -> int | None:
    """Return how many GPUs an alert is about: one, those of a node, or all of the job."""
    node, gpu = _place(alert)
    if gpu:
        return 1
    if not node or job.nodes == 1:
        return job.gpus
    if job.gpus is None or not job.nodes or job.gpus % job.nodes:
        return None
    return job.gpus // job.nodes


def _span(alert: AlertView, now: float) -> Span:
    """Return from when to when an alert is known to have held."""
    end = now if alert.ends_at is None else alert.ends_at
    if alert.unknown_since is not None:
        end = min(end, alert.unknown_since)
    return alert.since, max(alert.since, end)


def _covered(spans: Iterable[Span]) -> float:
    """Return the seconds that spans cover together."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
