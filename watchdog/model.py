"""What crosses the borders between stages: jobs, samples, polls, alerts, incidents, notifications.

Times are unix seconds (UTC, float). Ratios are 0..1, sizes are bytes. A value that is not known is
absent or None, never zero. Everything here is frozen; a change is a new object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

Labels = tuple[tuple[str, str], ...]
"""A label set: (name, value) pairs sorted by name, no empty value."""


def labels_of(mapping: Mapping[str, str]) -> Labels:
    """Return ``mapping`` as a label set: sorted, empty values left out (as Prometheus does)."""
    return tuple(sorted((name, value) for name, value in mapping.items() if value))


# --- jobs -----------------------------------------------------------------------------------------


class JobStatus(StrEnum):
    """The normalized state of a job; the provider's own word is kept beside it."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    UNKNOWN = "unknown"

    @property
    def terminal(self) -> bool:
        """Whether the job has ended (it may still be resumed under the same id)."""
        return self in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.STOPPED)


@dataclass(frozen=True, slots=True, order=True)
class JobKey:
    """What identifies a job for ever: the source's name in the rules file and the provider's id."""

    source: str
    job: str


@dataclass(frozen=True, slots=True)
class Job:
    """One training job as its provider describes it. Empty strings and None mean: not known."""

    source: str
    provider: str
    job: str
    status: JobStatus
    provider_status: str = ""
    project: str = ""
    project_name: str = ""
    job_name: str = ""
    owner: str = ""
    gpu_type: str = ""
    gpus: int | None = None
    """All GPUs of the job, over all its nodes; 0 for a CPU job."""
    nodes: int | None = None
    created_at: float | None = None
    started_at: float | None = None
    """When the user's code began to run, where the provider says so."""
    ended_at: float | None = None
    cost_usd_per_hour: float | None = None
    """List price of the whole job (an estimate), where known."""
    url: str = ""
    """The provider's own page of the job."""
    error: str = ""
    """The provider's error text; not by itself proof of failure."""

    @property
    def key(self) -> JobKey:
        """The job's identity."""
        return JobKey(self.source, self.job)

    @property
    def labels(self) -> Labels:
        """The labels that every series of the job carries (design, section 2)."""
        return labels_of(
            {
                "source": self.source,
                "provider": self.provider,
                "project": self.project,
                "project_name": self.project_name,
                "job": self.job,
                "job_name": self.job_name,
                "owner": self.owner,
                "gpu_type": self.gpu_type,
            }
        )

    @property
    def project_labels(self) -> Labels:
        """The labels of what the jobs of a project share (the cache): no job in them."""
        return labels_of(
            {
                "source": self.source,
                "provider": self.provider,
                "project": self.project,
                "project_name": self.project_name,
            }
        )


# --- samples and polls ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Points:
    """Samples of one series as a source read them: any order, repeats allowed, all values finite.

    ``labels`` are those beside the job's (or project's) own, sorted: ``(("gpu", "0"), ("node", "a"))``.
    ``times`` and ``values`` have equal length; times are unix seconds.
    """

    metric: str
    labels: Labels
    times: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class JobReading:
    """What one poll learnt about one job."""

    job: Job
    points: tuple[Points, ...] = ()
    project_points: tuple[Points, ...] = ()
    """Series that belong to the job's project (the cache)."""
    failed_metrics: frozenset[str] = frozenset()
    """Metrics that could not be read this time: they are unknown, not absent."""
    error: str = ""
    """Why metrics could not be read, for people; empty when all were."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Points left out, counted by reason (``null``, ``nan``, ``bad_timestamp``, ``unit``, …)."""


@dataclass(frozen=True, slots=True)
class Watched:
    """An active job as the engine knows it; tells a source how much of it to read."""

    job: Job
    newest_sample: float | None
    """Time of the newest sample in the history; None asks for the whole window again (backfill)."""


@dataclass(frozen=True, slots=True)
class PollRequest:
    """What the engine asks of a source."""

    now: float
    watched: Mapping[str, Watched]
    """Active jobs of this source by provider id. One that is no longer listed gets a last read."""
    window: float
    """Seconds of history that the longest rule needs: how far a backfill reaches."""


@dataclass(frozen=True, slots=True)
class Poll:
    """The outcome of one poll of one source."""

    source: str
    started_at: float
    finished_at: float
    readings: tuple[JobReading, ...] = ()
    gone: tuple[str, ...] = ()
    """Ids of watched jobs that the provider no longer knows (twice in a row)."""
    error: str = ""
    """Why the source as a whole could not be read; empty when it could. Readings may be partial."""
    error_kind: str = ""
    """A SourceErrorKind value, beside ``error``."""
    retry_after: float | None = None
    """Seconds to wait before the next poll, when the source asks for more than its interval."""

    @property
    def up(self) -> bool:
        """Whether the source answered; becomes ``source_up``."""
        return not self.error


# --- alerts ---------------------------------------------------------------------------------------


class AlertState(StrEnum):
    """Prometheus's states; ``unknown`` is a flag beside them."""

    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"


@dataclass(frozen=True, slots=True)
class Alert:
    """One instance of a rule: its identity, its timers and what it has seen."""

    rule: str
    """The rule's name (``alert =`` in the rules file)."""
    fingerprint: str
    """Identity: the rule's name and the identifying labels; neither value nor annotations."""
    labels: Labels
    """With ``alertname`` and the rule's own labels."""
    instance: Labels
    """The labels of the series that the rule found, without the rule's own; identifying ones only."""
    state: AlertState
    active_at: float
    """Since when the condition has held without a break (frozen time not counted)."""
    fired_at: float | None = None
    resolved_at: float | None = None
    keep_firing_since: float | None = None
    unknown_since: float | None = None
    """Set while the alert is frozen because its data is stale or its source is down."""
    last_seen_at: float | None = None
    """The last evaluation at which the condition held."""
    value: float | None = None
    value_at_fire: float | None = None
    worst: float | None = None
    summary: str = ""
    description: str = ""
    runbook_url: str = ""
    end_reason: str = ""
    """Why a closed alert closed: ``resolved``, ``job completed``, ``rule removed``, …"""
    no_data: bool = False
    """True when it fires because data is missing (``no_data = "alert"``)."""
    event: bool = False
    """Said once, never resolved."""

    @property
    def severity(self) -> str:
        """The ``severity`` label, or an empty string."""
        return dict(self.labels).get("severity", "")

    @property
    def label_map(self) -> dict[str, str]:
        """The labels as a dictionary."""
        return dict(self.labels)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job and what the engine remembers of it over restarts."""

    job: Job
    first_seen: float
    running_since: float | None = None
    status_since: float | None = None
    newest_sample: float | None = None
    """Newest sample when the record was last written; the live figure is in the history."""
    ended_at: float | None = None
    end_reason: str = ""
    """``job completed``, ``job failed``, ``stopped by its user`` or ``gone``."""

    @property
    def active(self) -> bool:
        """Whether the job is still being watched."""
        return self.ended_at is None


# --- incidents and notifications ------------------------------------------------------------------


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

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.jobs or self.alerts or self.forgotten_alerts or self.incidents or self.outbox or self.meta)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a restart finds in the store."""

    jobs: tuple[JobRecord, ...] = ()
    alerts: tuple[Alert, ...] = ()
    incidents: tuple[Incident, ...] = ()
    """Open ones, and closed ones whose alerts may still matter."""
    meta: Mapping[str, str] = field(default_factory=dict)


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
