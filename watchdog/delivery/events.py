"""What a sender tells the log and the metrics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

LATE_AFTER = 120.0
"""Seconds after its transition beyond which a message is late."""


class EventKind(StrEnum):
    """What happened."""

    SENT = "sent"
    RETRY = "retry"
    """A try failed; there will be another."""
    PARKED = "parked"
    """Given up: the receiver refused the content, as plain text too."""
    STOPPED = "stopped"
    """The receiver refuses for good; its rows wait until somebody repairs it. Said once."""
    RECOVERED = "recovered"
    """A receiver that was stopped takes messages again."""


@dataclass(frozen=True, slots=True)
class SenderEvent:
    """One event of one sender."""

    kind: EventKind
    receiver: str
    ids: tuple[str, ...]
    """The notifications it is about."""
    reason: str = ""
    """The receiver's word for what is wrong (Slack's code, …); empty when nothing is."""
    attempts: int = 1
    """Tries made so far for these notifications, this one included."""
    late_seconds: float | None = None
    """Age of the oldest transition among them, when that is more than ``LATE_AFTER``; else None."""
    age_seconds: float = 0.0
    """Age of the oldest transition among them."""
    held_until: float | None = None
    """Unix seconds until which nothing goes to this receiver, because it asked for that; else None."""


def late_seconds(created_at: float, now: float) -> float | None:
    """Return how late a message is; None when it is not."""
    age = now - created_at
    return age if age > LATE_AFTER else None
