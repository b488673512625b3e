"""Incidents, and what receivers are told of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from watchdog.model.alerts import Alert
from watchdog.model.jobs import Job
from watchdog.model.labels import Labels


class Reason(StrEnum):
    """Why a notification goes out: branch, log field, metric label and test oracle in one.

    The first five are Alertmanager's (its notification reasons).
    """

    FIRST = "first notification"
    NEW_ALERTS = "new alerts added"
    SOME_RESOLVED = "some alerts resolved"
    ALL_RESOLVED = "all alerts resolved"
    REPEAT = "repeat interval elapsed"
    SEVERITY = "severity raised"
    REFIRED = "fired again"
    EVENT = "event"
    UNKNOWN = "data lost"
    KNOWN = "data back"
    MUTED = "silenced"
    UNMUTED = "no longer silenced"
    FLAPPING = "flapping"
    STEADY = "flapping ended"
    CHANGED = "details changed"


@dataclass(frozen=True, slots=True)
class AlertView:
    """An alert as a receiver shows it."""

    fingerprint: str
    name: str
    status: str
    """``firing`` or ``resolved``."""
    severity: str
    labels: Labels
    summary: str
    description: str
    runbook_url: str
    starts_at: float
    ends_at: float | None
    value: float | None
    worst: float | None
    unknown: bool
    event: bool
    end_reason: str
    expr: str
    muted: str = ""
    """What mutes it (a silence, another alert, a mute time); empty if nothing does."""
    flips: int = 0
    """How often it changed lately, while it flaps; 0 while it does not."""
    proves: float = 0.0
    """Seconds before ``starts_at`` of which the expression says that it was so already (its window)."""
    value_at_fire: float | None = None
    held: bool = False
    """Whether ``value`` is an old one: the expression no longer holds, and the alert is kept firing."""
    forecast: bool = False
    """Whether the value is a prediction."""
    waste: bool = False
    """Whether what it is about is paid for nothing while it fires."""
    unknown_since: float | None = None
    """Since when its data is missing; None where ``unknown`` is false, and in rows of older versions."""

    @property
    def since(self) -> float:
        """Since when it is known to have been so: for people; ``starts_at`` is when the expression began to hold."""
        return self.starts_at - self.proves


@dataclass(frozen=True, slots=True)
class IncidentView:
    """An incident as one receiver may show it: everything a message needs, and nothing to look up."""

    id: str
    group_key: str
    """Alertmanager-style: ``{}:{job="a", source="b"}``."""
    group_labels: Labels
    status: str
    """``firing`` or ``resolved``."""
    severity: str
    """The highest severity among the firing alerts, or of all when none fires."""
    opened_at: float
    closed_at: float | None
    alerts: tuple[AlertView, ...]
    """Firing ones first, by severity, then by start; resolved ones since the incident was opened."""
    job: Job | None
    """Facts of the job, when the group is one job."""


@dataclass(frozen=True, slots=True)
class Notification:
    """One transition of an incident on its way to one receiver: a row of the outbox."""

    id: str
    """Stable over retries and restarts; the webhook-id header."""
    incident: str
    receiver: str
    sequence: int
    """1, 2, 3 … per incident and receiver."""
    reason: Reason
    ping: bool
    """Whether a person should look now (first, higher severity, reminder, fired again)."""
    created_at: float
    """When the transition happened; a delivery more than two minutes later is marked late."""
    changed: tuple[str, ...]
    """Fingerprints of the alerts that this transition is about."""
    view: IncidentView


Receipt = Mapping[str, str]
"""What a receiver wants back at the next delivery of the same incident, such as Slack's channel and ts."""


@dataclass(frozen=True, slots=True)
class Incident:
    """A group of alerts that is told as one story; the engine's own record of it."""

    id: str
    group_key: str
    group_labels: Labels
    opened_at: float
    closed_at: float | None = None
    members: tuple[Alert, ...] = ()
    """Every alert that has fired in this incident, open or closed, newest form."""
    conversations: tuple[Conversation, ...] = ()
    flips: tuple[tuple[str, tuple[float, ...]], ...] = ()
    """Alerts, and when each began to fire or was over, as far back as flapping looks."""
    flapping: tuple[str, ...] = ()
    """Alerts that change too often for each change to be news; they stay open."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one receiver has been told of one incident (the notification log entry)."""

    receiver: str
    sequence: int
    notified_at: float
    """When the last notification was put into the outbox."""
    pinged_at: float
    firing: tuple[str, ...]
    resolved: tuple[str, ...]
    severity: str
    repeat_interval: float
    unknown: tuple[str, ...] = ()
    muted: tuple[str, ...] = ()
    """Firing alerts that are muted: told ones are not reminded of, others not told at all."""
    flapping: tuple[str, ...] = ()
