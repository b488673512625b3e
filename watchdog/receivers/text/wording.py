"""The words of a message, without the markup of any service: what Slack and the console both say.

Everything is bounded: a name that has 300 characters or an incident that has 1,000 alerts is summed up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchdog.model import IncidentView, Notification, Reason
from watchdog.receivers.text.facts import since_of
from watchdog.receivers.text.findings import NAME, Finding, clean, findings
from watchdog.receivers.text.looks import Look, ends, is_over, last_ends, look
from watchdog.receivers.text.quantities import duration, gpu_hours, usd
from watchdog.receivers.text.waste import gpu_hours as hours_of
from watchdog.receivers.text.waste import wasted

_KNOWN_BY_NAME = frozenset({Reason.UNKNOWN, Reason.KNOWN, Reason.MUTED, Reason.UNMUTED, Reason.FLAPPING, Reason.STEADY})
"""Changes beside the matter itself: the rule's name will do, its sentence has been said."""
LATE_AFTER = 120.0
"""Seconds after which a delivery says that it is late (design, section 5)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One transition, as a line of history."""

    at: float
    what: str
    late: str
    """``late by 12 min``; empty when in time."""


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
    if is_over(view):
        names = _listed([_name(item) for item in found], "; ")
        return f"{_over(view)}: {names or 'all alerts'} on {subject(view)}"
    live = [item for item in found if item.firing]
    severity = clean(view.severity, 30).capitalize() or "Alert"
    prefix = f"{severity}, data missing" if shown is Look.UNKNOWN else severity
    if not live:
        return f"{prefix}: {subject(view)}"
    first = live[0].summary or f"{_name(live[0])} on {subject(view)}"
    more = f" (and {_count(len(live) - 1, 'more rule')}: {_listed([i.rule for i in live[1:]])})" if live[1:] else ""
    return f"{prefix}: {first}{more}"


def change(notification: Notification, now: float) -> Change:
    """Return one transition as a line: what happened, to what, and how late this is said."""
    view = notification.view
    changed = set(notification.changed)
    about = findings((alert for alert in view.alerts if alert.fingerprint in changed), view.job)
    told = _listed([_told(item, notification.reason) for item in about], "; ", 4) or subject(view)
    return Change(notification.created_at, f"{_phrase(notification)}: {told}", lateness(notification, now))


def closing(view: IncidentView) -> str:
    """Return the sum of an incident that is over: how long, the worst value, GPU-hours and money; else nothing."""
    if not is_over(view) or view.closed_at is None:
        return ""
    found = findings(view.alerts, view.job)
    named = len({item.rule for item in found}) > 1
    worst = [f"{item.rule} {item.worst}" if named else item.worst for item in found if item.worst]
    parts = [duration(view.closed_at - since_of(view)), f"worst {_listed(worst)}" if worst else "", _spent(view)]
    return f"In all: {', '.join(part for part in parts if part)}."


def _spent(view: IncidentView) -> str:
    """Return the GPU-hours that the incident was about, and their money where they were wasted."""
    end = view.closed_at or since_of(view)
    waste = wasted(view, end)
    if waste is not None:
        text = f"{gpu_hours(waste.gpu_hours)} wasted"
        return text if waste.usd is None else f"{text} (about {usd(waste.usd)} at list price)"
    affected = [alert for alert in view.alerts if not alert.event]
    hours = hours_of(affected, view.job, end) if view.job and view.job.gpus else None
    return f"{gpu_hours(hours)} affected" if hours else ""


def lateness(notification: Notification, now: float) -> str:
    """Return ``late by 12 min`` when more than two minutes have passed since the transition."""
    late = now - notification.created_at
    if late <= LATE_AFTER:
        return ""
    return f"late by {late // 60:.0f} min" if late < 3600 else f"late by {duration(late)}"


def _told(item: Finding, reason: Reason) -> str:
    if not item.firing:
        return _name(item)  # why it is over stands in front
    note = "" if reason is Reason.UNKNOWN and item.note == "data missing" else item.note
    what = item.summary if item.summary and reason not in _KNOWN_BY_NAME else _name(item)
    return f"{what} ({note})" if note else what


def _name(item: Finding) -> str:
    return f"{item.rule}, {item.where}" if item.where else item.rule


def _phrase(notification: Notification) -> str:
    view = notification.view
    phrases = {
        Reason.FIRST: clean(view.severity, 30).capitalize() or "Alert",
        Reason.NEW_ALERTS: "New alerts",
        Reason.SOME_RESOLVED: _some_over(notification),
        Reason.ALL_RESOLVED: _over(view),
        Reason.REPEAT: f"Still firing after {duration(notification.created_at - since_of(view))}",
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


def _over(view: IncidentView) -> str:
    """Return ``Resolved after 30m``, or what else closed it: an end of the job does not mean that all is well."""
    lasted = f" after {duration(view.closed_at - since_of(view))}" if view.closed_at is not None else ""
    causes = [clean(text, NAME) for text in last_ends(view)]
    return f"Closed{lasted} because {_listed(causes, ' and ')}" if causes else f"Resolved{lasted}"


def _some_over(notification: Notification) -> str:
    changed = set(notification.changed)
    over = [a for a in notification.view.alerts if a.fingerprint in changed and a.status != "firing"]
    causes = [clean(text, NAME) for text in ends(over)]
    return f"Some alerts closed because {_listed(causes, ' and ')}" if causes else "Some alerts resolved"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listed(parts: Sequence[str], separator: str = ", ", most: int = 3) -> str:
    """Return the first parts and how many are left out."""
    left = len(parts) - most
    return separator.join(parts[:most]) + (f" and {left} more" if left > 0 else "")
