"""Incidents as receivers show them: a full picture in one frozen value, so that nothing is looked up later."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from watchdog.incidents.severity import highest, rank
from watchdog.jobs.registry import Registry
from watchdog.model import Alert, AlertState, AlertView, Incident, IncidentView, Job, JobKey, Labels, labels_of
from watchdog.rules.model import Rule


def group_labels_of(labels: Mapping[str, str], group_by: Iterable[str]) -> Labels:
    """Return the labels that an alert's group is made of."""
    return labels_of({name: labels.get(name, "") for name in group_by})


def group_key_of(group_labels: Labels) -> str:
    """Return the key of a group, in Alertmanager's form: ``{}:{job="a", source="b"}``."""
    inner = ", ".join(f'{name}="{_escape(value)}"' for name, value in group_labels)
    return "{}:{" + inner + "}"


def incident_id(group_key: str, opened_at: float) -> str:
    """Return an id that the same opening of the same group always gets, also after a crash."""
    return hashlib.sha256(f"{group_key}@{opened_at!r}".encode()).hexdigest()[:12]


def is_firing(alert: Alert) -> bool:
    """Whether an alert keeps its incident open; an event never does."""
    return alert.state is AlertState.FIRING and not alert.event


@dataclass(frozen=True, slots=True)
class Marks:
    """What is known of alerts beside themselves."""

    rules: Mapping[str, Rule]
    """By name."""
    now: float
    muted: Mapping[str, str] = field(default_factory=dict)
    """By alert: what mutes it."""
    flips: Mapping[str, int] = field(default_factory=dict)
    """By alert that flaps: its changes."""


def view_of(incident: Incident, members: Iterable[Alert], marks: Marks, registry: Registry) -> IncidentView:
    """Return the incident as one receiver may show it; ``members`` are the alerts that it is told of."""
    shown = sorted(members, key=_order)
    firing = [alert for alert in shown if is_firing(alert) or alert.fingerprint in marks.flips]
    return IncidentView(
        id=incident.id,
        group_key=incident.group_key,
        group_labels=incident.group_labels,
        status="firing" if firing else "resolved",
        severity=highest(alert.severity for alert in firing or shown),
        opened_at=incident.opened_at,
        closed_at=None if firing else incident.closed_at,
        alerts=tuple(_alert_view(alert, marks) for alert in shown),
        job=_job_of(incident, registry),
    )


def _alert_view(alert: Alert, marks: Marks) -> AlertView:
    flips = marks.flips.get(alert.fingerprint, 0)
    rule = marks.rules.get(alert.rule)
    open_ = alert.state is AlertState.FIRING or flips > 0
    return AlertView(
        fingerprint=alert.fingerprint,
        name=alert.rule,
        status="firing" if open_ or alert.event else "resolved",
        severity=alert.severity,
        labels=alert.labels,
        summary=alert.summary,
        description=alert.description,
        runbook_url=alert.runbook_url,
        starts_at=alert.active_at,
        ends_at=None if open_ else alert.resolved_at,
        value=alert.value,
        worst=alert.worst,
        unknown=alert.unknown_since is not None,
        event=alert.event,
        end_reason="" if alert.event else alert.end_reason,
        expr=rule.expr if rule else "",
        muted=marks.muted.get(alert.fingerprint, ""),
        flips=flips,
        proves=rule.proves if rule and not alert.no_data else 0.0,
        value_at_fire=alert.value_at_fire,
        held=is_firing(alert) and alert.last_seen_at is not None and alert.last_seen_at < marks.now,
        forecast=rule is not None and rule.predicts,
        waste=rule is not None and rule.waste,
        unknown_since=alert.unknown_since,
    )


def _order(alert: Alert) -> tuple[bool, int, float, str]:
    return (not is_firing(alert), -rank(alert.severity), alert.active_at, alert.fingerprint)


def _job_of(incident: Incident, registry: Registry) -> Job | None:
    labels = dict(incident.group_labels)
    if "job" not in labels or "source" not in labels:
        return None
    record = registry.get(JobKey(labels["source"], labels["job"]))
    return record.job if record else None


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
