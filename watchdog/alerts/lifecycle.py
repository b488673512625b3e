"""The life of one alert, as a pure function of what is seen at each evaluation.

Prometheus's machine (inactive, pending, firing; ``for``; ``keep_firing_for``) with three differences:
what is not known freezes an alert with its timers, instead of resolving it; a clear condition may be
stricter than "the expression no longer holds"; and an event is said once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from watchdog.model import Alert, AlertState
from watchdog.rules.model import Rule


class Verdict(Enum):
    """What one evaluation says of one alert."""

    HOLDS = auto()
    CLEAR = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A verdict and the value behind it (None when the condition holds for want of a clear sign)."""

    verdict: Verdict
    value: float | None = None
    reason: str = ""
    """Why it is unknown, for people."""


def begin(alert: Alert, rule: Rule, now: float) -> Alert:
    """Return the first state of an alert whose condition has begun to hold at ``alert.active_at``."""
    return _mature(alert, rule, now)


def advance(alert: Alert, sighting: Sighting, rule: Rule, now: float, *, below: bool) -> Alert | None:
    """Return the alert after this evaluation; None when a pending one came to nothing.

    ``below`` tells which extreme is the worst value. A closed alert comes back with state inactive,
    ``resolved_at`` and ``end_reason`` set, once.
    """
    if sighting.verdict is Verdict.UNKNOWN:
        return alert if alert.unknown_since is not None else replace(alert, unknown_since=now)
    alert = _thaw(alert, now)
    if sighting.verdict is Verdict.HOLDS:
        seen = replace(alert, keep_firing_since=None)
        if sighting.value is not None or alert.no_data:
            seen = _see(replace(seen, last_seen_at=now), sighting.value, below=below)
        return _mature(seen, rule, now)
    return _miss(alert, rule, now)


def close(alert: Alert, reason: str, now: float) -> Alert | None:
    """End an alert for a reason outside its rule; None if it had not fired yet."""
    if alert.state is not AlertState.FIRING:
        return None
    return replace(
        alert, state=AlertState.INACTIVE, resolved_at=now, end_reason=reason, unknown_since=None, keep_firing_since=None
    )


def _mature(alert: Alert, rule: Rule, now: float) -> Alert:
    if alert.state is AlertState.PENDING and now - alert.active_at >= rule.for_seconds:
        return replace(alert, state=AlertState.FIRING, fired_at=now, value_at_fire=alert.value)
    return alert


def _miss(alert: Alert, rule: Rule, now: float) -> Alert | None:
    if alert.state is not AlertState.FIRING:
        return None
    since = alert.keep_firing_since if alert.keep_firing_since is not None else now
    if now - since < rule.keep_firing_for:
        return replace(alert, keep_firing_since=since)
    return close(alert, "resolved", now)


def _thaw(alert: Alert, now: float) -> Alert:
    """Let the timers go on where they stopped: time in which nothing was known does not count.

    A clock that was set meanwhile makes them neither run ahead nor wait for a time that is still to come.
    """
    if alert.unknown_since is None:
        return alert
    frozen = max(0.0, now - alert.unknown_since)
    pending = alert.state is AlertState.PENDING
    kept = alert.keep_firing_since
    return replace(
        alert,
        unknown_since=None,
        active_at=min(now, alert.active_at + frozen) if pending else alert.active_at,
        keep_firing_since=None if kept is None else min(now, kept + frozen),
    )


def _see(alert: Alert, value: float | None, *, below: bool) -> Alert:
    if value is None:
        return alert
    worst = value
    if alert.worst is not None:
        worst = min(alert.worst, value) if below else max(alert.worst, value)
    return replace(alert, value=value, worst=worst, no_data=False)
