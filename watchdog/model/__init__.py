"""What crosses the borders between stages: jobs, samples, polls, alerts, incidents, notifications.

Times are unix seconds (UTC, float). Ratios are 0..1, sizes are bytes. A value that is not known is
absent or None, never zero. Everything here is frozen; a change is a new object.
"""

from watchdog.model.alerts import Alert, AlertState
from watchdog.model.changes import Changes, Pending, Snapshot
from watchdog.model.incidents import AlertView, Conversation, Incident, IncidentView, Notification, Reason, Receipt
from watchdog.model.jobs import Job, JobKey, JobRecord, JobStatus
from watchdog.model.labels import Labels, labels_of
from watchdog.model.polls import JobReading, OwnRow, Points, Poll, PollRequest, Watched
from watchdog.model.remarks import TLS_REMEDY, Level, Remark
from watchdog.model.silences import Silence, SilenceState

__all__ = [
    "TLS_REMEDY",
    "Alert",
    "AlertState",
    "AlertView",
    "Changes",
    "Conversation",
    "Incident",
    "IncidentView",
    "Job",
    "JobKey",
    "JobReading",
    "JobRecord",
    "JobStatus",
    "Labels",
    "Level",
    "Notification",
    "OwnRow",
    "Pending",
    "Points",
    "Poll",
    "PollRequest",
    "Reason",
    "Receipt",
    "Remark",
    "Silence",
    "SilenceState",
    "Snapshot",
    "Watched",
    "labels_of",
]
