"""The words of a message, without the markup of any service: what Slack and the console both say.

Everything is bounded: a name that has 300 characters or an incident that has 1,000 alerts is summed up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from watchdog.model import IncidentView, Job, JobStatus, Notification, Reason
from watchdog.receivers.text.findings import NAME, SENTENCE, Finding, clean, findings
from watchdog.receivers.text.quantities import duration, quantity

LATE_AFTER = 120.0
"""Seconds after which a delivery says that it is late (design, section 5)."""


class Look(StrEnum):
    """How an incident presents itself."""

    FIRING = "firing"
    UNKNOWN = "unknown"
    """It fires, as far as is known: all its alerts lack data."""
    RESOLVED = "resolved"
    EVENT = "event"
    """Only things that happened once; there is nothing to resolve."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what it is: a text (perhaps with a link), or a time."""

    name: str
    text: str = ""
    url: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One transition, as a line of history."""

    at: float
    what: str
    late: str
    """``late by 12 min``; empty when in time."""


def look(view: IncidentView) -> Look:
    """Return how the incident presents itself."""
    firing = [alert for alert in view.alerts if alert.status == "firing" and not alert.event]
    if not firing and any(alert.event for alert in view.alerts):
        return Look.EVENT  # a job that failed closes its other alerts too: the failure is the news, not their end
    if view.status == "resolved":
        return Look.RESOLVED
    return Look.UNKNOWN if firing and all(alert.unknown for alert in firing) else Look.FIRING


def subject(view: IncidentView) -> str:
    """Return what the incident is about: a job, a project, a source."""
    group = dict(view.group_labels)
    labels = {**(dict(view.alerts[0].labels) if view.alerts else {}), **group}
    if view.job is not None:
        return clean(view.job.job_name, NAME) or clean(view.job.job, NAME)
    if "job" in group:
        return clean(labels.get("job_name") or labels["job"], NAME)
    if "project" in group:
        return "project " + clean(labels.get("project_name") or labels["project"], NAME)
    if "source" in group:
        return "source " + clean(group["source"], NAME)
    return clean(", ".join(f"{name} {value}" for name, value in view.group_labels), NAME) or "all jobs"


def headline(view: IncidentView) -> str:
    """Return the incident as one sentence, fit for a push notification."""
    shown = look(view)
    found = findings(view.alerts, view.job)
    if shown is Look.RESOLVED:
        names = _listed([_name(item) for item in found], "; ")
        return f"Resolved{_lasted(view)}: {names or 'all alerts'} on {subject(view)}{_ending(found)}"
    live = [item for item in found if item.firing]
    severity = clean(view.severity, 30).capitalize() or "Alert"
    prefix = f"{severity}, data missing" if shown is Look.UNKNOWN else severity
    if not live:
        return f"{prefix}: {subject(view)}"
    first = live[0].summary or f"{_name(live[0])} on {subject(view)}"
    more = f" (and {_count(len(live) - 1, 'more rule')}: {_listed([i.rule for i in live[1:]])})" if live[1:] else ""
    return f"{prefix}: {first}{more}"


def facts(view: IncidentView, now: float) -> list[Fact]:
    """Return what a person wants to know before opening anything; unknown things are left out."""
    job = view.job
    end = view.closed_at
    found = _job_facts(job) if job else _place_facts(view)
    found.append(Fact("Since", at=_since(view)))
    if end is not None and look(view) is Look.RESOLVED:
        found += [Fact("Until", at=end), Fact("Lasted", duration(end - _since(view)))]
    spent = "" if look(view) is Look.EVENT else _spent(job, _since(view), now if end is None else end)
    return [*found, Fact("Cost of the job since", spent)] if spent else found


def change(notification: Notification, now: float) -> Change:
    """Return one transition as a line: what happened, to what, and how late this is said."""
    view = notification.view
    changed = set(notification.changed)
    about = findings((alert for alert in view.alerts if alert.fingerprint in changed), view.job)
    told = _listed([_told(item) for item in about], "; ", 4) or subject(view)
    return Change(notification.created_at, f"{_phrase(notification)}: {told}", lateness(notification, now))


def lateness(notification: Notification, now: float) -> str:
    """Return ``late by 12 min`` when more than two minutes have passed since the transition."""
    late = now - notification.created_at
    if late <= LATE_AFTER:
        return ""
    return f"late by {late // 60:.0f} min" if late < 3600 else f"late by {duration(late)}"


def _told(item: Finding) -> str:
    note = f" ({item.note})" if item.note not in ("", "resolved") else ""
    return (item.summary if item.firing and item.summary else _name(item)) + note


def _name(item: Finding) -> str:
    return f"{item.rule}, {item.where}" if item.where else item.rule


def _phrase(notification: Notification) -> str:
    view = notification.view
    phrases = {
        Reason.FIRST: clean(view.severity, 30).capitalize() or "Alert",
        Reason.NEW_ALERTS: "New alerts",
        Reason.SOME_RESOLVED: "Some alerts resolved",
        Reason.ALL_RESOLVED: f"Resolved{_lasted(view)}",
        Reason.REPEAT: f"Still firing after {duration(notification.created_at - _since(view))}",
        Reason.SEVERITY: f"Severity raised to {clean(view.severity, 30)}",
        Reason.REFIRED: "Fired again",
        Reason.EVENT: clean(view.severity, 30).capitalize() or "Event",
        Reason.UNKNOWN: "Data lost, so this is not judged until data is back",
        Reason.KNOWN: "Data is back",
        Reason.MUTED: "Silenced",
        Reason.UNMUTED: "No longer silenced, and still firing",
        Reason.FLAPPING: "Flapping, so single changes are not said until it is steady",
        Reason.STEADY: "Steady again, and firing",
        Reason.CHANGED: "Details changed",
    }
    return phrases[notification.reason]


def _lasted(view: IncidentView) -> str:
    return f" after {duration(view.closed_at - _since(view))}" if view.closed_at is not None else ""


def _ending(found: Iterable[Finding]) -> str:
    reasons = dict.fromkeys(item.note for item in found if item.note not in ("", "resolved"))
    return f" ({', '.join(list(reasons)[:3])})" if reasons else ""


def _since(view: IncidentView) -> float:
    return min((alert.since for alert in view.alerts), default=view.opened_at)


def _job_facts(job: Job) -> list[Fact]:
    name = clean(job.job_name, NAME) or clean(job.job, NAME)
    project = clean(job.project_name, NAME) or clean(job.project, NAME)
    place = " · ".join(part for part in (clean(job.provider, NAME), project) if part)
    known = job.status is not JobStatus.UNKNOWN
    status = job.status.value if known else clean(job.provider_status, NAME) or job.status.value
    found = [
        Fact("Job", name, url=job.url.strip()),
        Fact("Provider", place),
        Fact("Owner", clean(job.owner, NAME)),
        Fact("GPUs", _hardware(job)),
        Fact("Status", status),
        Fact("Error", clean(job.error, SENTENCE) if job.status is JobStatus.FAILED else ""),
    ]
    return [fact for fact in found if fact.text]


def _place_facts(view: IncidentView) -> list[Fact]:
    """Return where it is, when it is not about one job: what all alerts have in common."""
    every = [set(alert.labels) for alert in view.alerts]
    common = dict(set.intersection(*every)) if every else {}
    project = common.get("project_name") or common.get("project", "")
    place = " · ".join(clean(part, NAME) for part in (common.get("provider", ""), project) if part)
    return [Fact("Provider", place)] if place else []


def _hardware(job: Job) -> str:
    kind = clean(job.gpu_type, NAME)
    if job.gpus is None:
        return kind
    count = f"{job.gpus} × {kind}" if kind else str(job.gpus)
    return f"{count} on {job.nodes} nodes" if job.nodes is not None and job.nodes > 1 else count


def _spent(job: Job | None, since: float, until: float) -> str:
    """Return the list price of the job over that time; a job that waits for its GPUs is not billed."""
    waiting = (JobStatus.PENDING, JobStatus.STARTING)
    if job is None or job.cost_usd_per_hour is None or job.status in waiting:
        return ""
    total = max(0.0, until - since) / 3600 * job.cost_usd_per_hour
    return f"about ${total:,.2f} at {quantity(job.cost_usd_per_hour, 'usd_per_hour')} (list price)"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listed(parts: Sequence[str], separator: str = ", ", most: int = 3) -> str:
    """Return the first parts and how many are left out."""
    left = len(parts) - most
    return separator.join(parts[:most]) + (f" and {left} more" if left > 0 else "")
