"""What every receiver is built from, and how the registry lists it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchdog.config import EnvRef, ReceiverConfig
from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.model import Notification
from watchdog.ports import Clock, Receiver, Secrets


@dataclass(frozen=True, slots=True)
class ReceiverContext:
    """What the composition root gives to a receiver."""

    secrets: Secrets
    clock: Clock
    sleep: Callable[[float], None]
    """Waits this many seconds of ``clock``."""
    write: Callable[[str], None]
    """Prints one text for people, where a receiver does so."""


@dataclass(frozen=True, slots=True)
class ReceiverType:
    """One kind of receiver: the model of its section in the rules file, and what builds it."""

    config: type[ReceiverConfig]
    build: Callable[[Any, ReceiverContext], Receiver]
    """Takes an instance of ``config`` and the context. Raises UsageError for a secret that is not set."""


def secret_or_raise(secrets: Secrets, ref: EnvRef, receiver: str) -> str:
    """Return the secret that ``ref`` names. Raises a permanent DeliveryError naming the variable."""
    found = secrets.find(ref.env)
    if not found:
        message = f'receiver "{receiver}": {ref.env} is not set; set it, or {ref.env}_FILE'
        raise DeliveryError(DeliveryErrorKind.PERMANENT, message, reason="not_configured")
    return found


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header; None if there is none or it is a date."""
    found = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    return float(found) if found.isascii() and found.isdigit() else None


TOLD = "told"
"""Key of a receipt: the sequence of the newest notification that the receiver has taken."""


def not_yet_told(notifications: Sequence[Notification], told: int) -> list[Notification]:
    """Return those that a crash or an ambiguous try has not already delivered."""
    return [notification for notification in notifications if notification.sequence > told]
