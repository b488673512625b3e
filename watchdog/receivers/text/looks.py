"""How an incident presents itself, and what ended it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from watchdog.model import AlertView, IncidentView

RESOLVED = "resolved"
"""The end of an alert whose condition is over; every other end says nothing about that."""
_CAUSES = {
    "job completed": "the job completed",
    "job failed": "the job failed",
    "stopped by its user": "its user stopped the job",
    "gone": "what it was about is gone",
    "source removed": "its source was removed from the rules",
    "rule removed": "its rule was removed",
    "no data": "there is no data any more",
}


class Look(StrEnum):
    """How an incident presents itself."""

    FIRING = "firing"
    UNKNOWN = "unknown"
    """It fires, as far as is known: all its alerts lack data."""
    RESOLVED = "resolved"
    ENDED = "ended"
    """Closed for another reason than that it is fine: the job ended, the rule was removed, …"""
    EVENT = "event"
    """Only things that happened once; there is nothing to resolve."""


def look(view: IncidentView) -> Look:
    """Return how the incident presents itself."""
    firing = [alert for alert in view.alerts if alert.status == "firing" and not alert.event]
    if not firing and any(alert.event for alert in view.alerts):
        return Look.EVENT  # a job that failed closes its other alerts too: the failure is the news, not their end
    if view.status == "resolved":
        return Look.ENDED if ends(_last(view)) else Look.RESOLVED
    return Look.UNKNOWN if firing and all(alert.unknown for alert in firing) else Look.FIRING


def is_over(view: IncidentView) -> bool:
    """Whether nothing of the incident asks for anybody any more."""
    return look(view) in (Look.RESOLVED, Look.ENDED)


def ends(alerts: Iterable[AlertView]) -> list[str]:
    """Return what closed these alerts (``the job completed``), each once; empty if any of them is just fine again."""
    reasons = dict.fromkeys(alert.end_reason for alert in alerts)
    if not reasons or RESOLVED in reasons or "" in reasons:
        return []
    return [cause(reason) for reason in reasons]


def cause(reason: str) -> str:
    """Return the end reason of an alert as a clause that follows "because"."""
    return _CAUSES.get(reason, reason)


def last_ends(view: IncidentView) -> list[str]:
    """Return what closed the incident; empty when it is resolved."""
    return ends(_last(view))


def _last(view: IncidentView) -> list[AlertView]:
    """Return the alerts that were the last to end: their end is that of the incident."""
    last = max((alert.ends_at or 0.0 for alert in view.alerts), default=0.0)
    return [alert for alert in view.alerts if (alert.ends_at or 0.0) == last]
