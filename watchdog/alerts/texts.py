"""The words of an alert: its labels and texts, rendered from the rule's templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from watchdog import templates
from watchdog.alerts.program import CompiledRule
from watchdog.model import Alert, JobRecord, labels_of


def render_labels(rule: CompiledRule, labels: Mapping[str, str], value: float) -> dict[str, str]:
    """Return the rule's own labels for a series; they are part of the alert's identity."""
    if not rule.labels:
        return {}
    data = {"labels": dict(labels), "value": value, "duration": 0.0, "job": {}, "threshold": rule.rule.threshold}
    return {name: templates.render_or_explain(template, data) for name, template in rule.labels.items()}


def describe(
    rule: CompiledRule, alert: Alert, labels: Mapping[str, str], record: JobRecord | None, now: float
) -> Alert:
    """Return the alert with its labels and texts as they read now."""
    value = float("nan") if alert.value is None else alert.value + 0.0  # minus zero reads as zero
    own = render_labels(rule, labels, value)
    plain = {name: text for name, text in labels.items() if name != "__name__"}
    full = {**plain, **own, "alertname": rule.rule.name}
    data: dict[str, Any] = {
        "labels": full,
        "value": value,
        "duration": now - alert.active_at + (0.0 if alert.no_data else rule.proves),
        "job": job_facts(record),
        "threshold": rule.rule.threshold,
    }
    summary = templates.render_or_explain(rule.summary, data, blank=False)
    if alert.no_data:
        summary = f"{rule.rule.name} cannot be judged: the data it needs is missing"
    return replace(
        alert,
        labels=labels_of(full),
        summary=summary,
        description=templates.render_or_explain(rule.description, data),
        runbook_url=templates.render_or_explain(rule.runbook_url, data),
    )


def job_facts(record: JobRecord | None) -> dict[str, object]:
    """Return what a template may say of the job; empty when the alert is not about one."""
    if record is None:
        return {}
    job = record.job
    return {
        "id": job.job,
        "name": job.job_name or job.job,
        "status": job.status.value,
        "url": job.url,
        "owner": job.owner,
        "gpus": job.gpus,
        "gpu_type": job.gpu_type,
        "cost_usd_per_hour": job.cost_usd_per_hour,
        "error": job.error,
    }
