"""What goes into the store and comes back out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from watchdog.model.alerts import Alert
from watchdog.model.incidents import Incident, Notification
from watchdog.model.jobs import JobRecord
from watchdog.model.silences import Silence


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything one tick changed; committed in one transaction."""

    at: float
    jobs: tuple[JobRecord, ...] = ()
    alerts: tuple[Alert, ...] = ()
    """New or changed ones; an inactive one with ``resolved_at`` is kept for a while, then collected."""
    forgotten_alerts: tuple[str, ...] = ()
    """Fingerprints to delete (pending ones that came to nothing)."""
    incidents: tuple[Incident, ...] = ()
    outbox: tuple[Notification, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    silences: tuple[Silence, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        rows = (self.jobs, self.alerts, self.forgotten_alerts, self.incidents, self.outbox, self.meta, self.silences)
        return not any(rows)

    def then(self, later: Changes) -> Changes:
        """Return both as one: of what changed twice, the later form."""
        gone = set(later.forgotten_alerts)
        again = {alert.fingerprint for alert in later.alerts}
        alerts = {alert.fingerprint: alert for alert in (*self.alerts, *later.alerts) if alert.fingerprint not in gone}
        forgotten = dict.fromkeys((*self.forgotten_alerts, *later.forgotten_alerts))
        return Changes(
            at=later.at,
            jobs=tuple({record.job.key: record for record in (*self.jobs, *later.jobs)}.values()),
            alerts=tuple(alerts.values()),
            forgotten_alerts=tuple(key for key in forgotten if key in gone or key not in again),
            incidents=tuple({incident.id: incident for incident in (*self.incidents, *later.incidents)}.values()),
            outbox=(*self.outbox, *later.outbox),
            meta={**self.meta, **later.meta},
            silences=tuple({silence.id: silence for silence in (*self.silences, *later.silences)}.values()),
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a restart finds in the store."""

    jobs: tuple[JobRecord, ...] = ()
    alerts: tuple[Alert, ...] = ()
    incidents: tuple[Incident, ...] = ()
    """Open ones, and closed ones whose alerts may still matter."""
    meta: Mapping[str, str] = field(default_factory=dict)
    silences: tuple[Silence, ...] = ()
    at: float | None = None
    """When it was written last; None for an empty store."""


@dataclass(frozen=True, slots=True)
class Pending:
    """An outbox row that waits for delivery, as a sender sees it."""

    notification: Notification
    attempts: int = 0
    not_before: float = 0.0
    plain: bool = False
    """True once the receiver refused its content: send it as plain text."""
    maybe_sent: bool = False
    """True when the last try was ambiguous: the receiver may already have it."""
