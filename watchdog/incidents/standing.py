"""How the alerts that one receiver is told of stand, and what is noted of having told it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from watchdog.incidents.decide import PINGS, Standing
from watchdog.incidents.routing import Destination
from watchdog.incidents.severity import highest
from watchdog.incidents.views import is_firing
from watchdog.model import Alert, AlertState, Conversation, Reason

DATA_LOST_AFTER = 300.0
"""Seconds without data after which an incident is said to be unknown; a failed poll or two is not news."""


def known_to(told: Conversation | None) -> frozenset[str]:
    """Return the alerts that a receiver has heard of."""
    return frozenset() if told is None else frozenset((*told.firing, *told.resolved))


def withheld(
    members: Iterable[Alert], told: Conversation | None, muted: Collection[str], flapping: Collection[str]
) -> frozenset[str]:
    """Return the alerts that a receiver has not heard of and shall not: those that are muted.

    What was muted and is over stays withheld, an event too; what was muted and fires without it is news.
    """
    heard = known_to(told)
    before = {*(told.muted if told else ())} - {*muted} - heard
    over = {alert.fingerprint for alert in members if alert.fingerprint in before and not _open(alert, flapping)}
    return frozenset({*muted, *over} - heard)


def standing_of(
    alerts: Iterable[Alert], muted: Collection[str], flapping: Collection[str], told: Conversation | None, now: float
) -> Standing:
    """Return how the shown alerts stand at ``now``."""
    alerts = list(alerts)
    lost = now - DATA_LOST_AFTER
    heard = frozenset(told.firing if told else ())
    firing = [a for a in alerts if _open(a, flapping) and (a.fingerprint not in muted or a.fingerprint in heard)]
    events = [alert for alert in alerts if alert.event]
    over = [a for a in alerts if not a.event and a.state is AlertState.INACTIVE and a.fingerprint not in flapping]
    return Standing(
        firing=[alert.fingerprint for alert in firing],
        resolved=[alert.fingerprint for alert in over],
        unknown=[a.fingerprint for a in firing if a.unknown_since is not None and a.unknown_since <= lost],
        events=[alert.fingerprint for alert in events],
        severity=highest(alert.severity for alert in (*firing, *events)),
        muted=tuple(muted),
        flapping=[alert.fingerprint for alert in firing if alert.fingerprint in flapping],
    )


def _open(alert: Alert, flapping: Collection[str]) -> bool:
    return is_firing(alert) or (alert.fingerprint in flapping and not alert.event)


def conversation_of(  # the fields of one record
    told: Conversation | None, terms: Destination, standing: Standing, reason: Reason, sequence: int, now: float
) -> Conversation:
    """Return the record of having told a receiver how things stand."""
    pinged = now if reason in PINGS or told is None else told.pinged_at
    return Conversation(
        receiver=terms.receiver,
        sequence=sequence,
        notified_at=now,
        pinged_at=pinged,
        firing=tuple(standing.firing),
        resolved=(*standing.resolved, *standing.events),
        severity=standing.severity,
        repeat_interval=terms.repeat_interval,
        unknown=tuple(standing.unknown),
        muted=tuple(standing.muted),
        flapping=tuple(standing.flapping),
    )


def changed_since(told: Conversation | None, standing: Standing) -> tuple[str, ...]:
    """Return the alerts that are not as they were told; for a reminder, all that fire."""
    if told is None:
        return (*standing.firing, *standing.events)
    was = _states(told.resolved, told.firing, told.unknown, told.muted, told.flapping)
    over = (*standing.resolved, *standing.events)
    is_ = _states(over, standing.firing, standing.unknown, standing.muted, standing.flapping)
    heard = {*over, *standing.firing}
    changed = tuple(key for key, state in is_.items() if key in heard and was.get(key) != state)
    return changed or tuple(standing.firing)


def _states(*stages: Collection[str]) -> dict[str, int]:
    """Return for each alert the last of these lists that it is in."""
    return {key: number for number, keys in enumerate(stages) for key in keys}
