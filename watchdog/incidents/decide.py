"""Why notify? One pure decision per incident and receiver, from what was told and what is so now."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from watchdog.incidents.severity import rank
from watchdog.model import Conversation, Reason

PINGS = frozenset(
    {Reason.FIRST, Reason.SEVERITY, Reason.REPEAT, Reason.REFIRED, Reason.EVENT, Reason.UNMUTED, Reason.STEADY}
)
"""Reasons for which a person should look now; all others only edit and add to the thread."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the alerts of an incident that one receiver is told of stand now (fingerprints)."""

    firing: Collection[str]
    resolved: Collection[str]
    unknown: Collection[str] = ()
    """Those of ``firing`` that are frozen for want of data."""
    events: Collection[str] = ()
    """Said once, never resolved; neither in ``firing`` nor in ``resolved``."""
    severity: str = ""
    """The highest among the firing and the events."""
    muted: Collection[str] = ()
    """Alerts that fire and are muted: those told before are in ``firing`` too, the others are withheld."""
    flapping: Collection[str] = ()
    """Those of ``firing`` whose changes are too many to be news; some may not fire at this moment."""


def why_notify(
    told: Conversation | None, standing: Standing, now: float, repeat_interval: float, *, send_resolved: bool = True
) -> Reason | None:
    """Return the reason for a notification, or None when there is nothing to say.

    The order of the questions is Alertmanager's, with severity, events and lost data added. As there,
    "all resolved" is decided even for a receiver that is not told of it, so that its log is cleared.
    """
    firing, resolved = set(standing.firing), set(standing.resolved)
    told_firing = set(told.firing) if told else set()
    told_resolved = set(told.resolved) if told else set()
    new_events = set(standing.events) - told_firing - told_resolved
    if told is None or not told_firing:
        if firing - told_firing:
            return Reason.FIRST
        return Reason.EVENT if new_events else None
    return (
        _unmuted(told, standing)
        or _flapping(told, standing)
        or _something_new(told, standing, firing - told_firing, new_events, told_resolved)
        or _something_over(firing, resolved - told_resolved if send_resolved else set())
        or _data_changed(told, set(standing.unknown))
        or (Reason.MUTED if set(standing.muted) & firing - set(told.muted) else None)
        or _reminder(told, standing, now, repeat_interval)
    )


def _unmuted(told: Conversation, standing: Standing) -> Reason | None:
    """A silence that ends while its alert still fires is worth a ping, once."""
    return Reason.UNMUTED if (set(told.muted) - set(standing.muted)) & set(standing.firing) else None


def _flapping(told: Conversation, standing: Standing) -> Reason | None:
    flapping = set(standing.flapping)
    if flapping - set(told.flapping):
        return Reason.FLAPPING
    return Reason.STEADY if (set(told.flapping) - flapping) & set(standing.firing) else None


def _something_new(
    told: Conversation, standing: Standing, new: set[str], new_events: set[str], told_resolved: set[str]
) -> Reason | None:
    if not new:
        return Reason.EVENT if new_events else None
    if rank(standing.severity) > rank(told.severity):
        return Reason.SEVERITY
    return Reason.REFIRED if new & told_resolved else Reason.NEW_ALERTS


def _something_over(firing: set[str], newly_resolved: set[str]) -> Reason | None:
    if not firing:
        return Reason.ALL_RESOLVED
    return Reason.SOME_RESOLVED if newly_resolved else None


def _data_changed(told: Conversation, unknown: set[str]) -> Reason | None:
    if unknown - set(told.unknown):
        return Reason.UNKNOWN
    return Reason.KNOWN if set(told.unknown) - unknown else None


def _reminder(told: Conversation, standing: Standing, now: float, repeat_interval: float) -> Reason | None:
    """A reminder is due only while something is known to be wrong."""
    known = set(standing.firing) - set(standing.unknown) - set(standing.muted)
    return Reason.REPEAT if known and now - told.notified_at >= repeat_interval else None
