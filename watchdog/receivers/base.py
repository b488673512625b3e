"""What every receiver is built from, and how the registry lists it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchdog.config import EnvRef, ReceiverConfig
from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.model import Notification
from watchdog.ports import Clock, Receiver, Secrets
from watchdog.waiting import MAX_RETRY_AFTER, seconds_to_wait

_LONGEST_QUEUE = 10
"""Calls of one kind that may wait for their turn; a longer queue is a clock that went back."""


class Pacer:
    """Keeps calls of one kind apart, over all receivers of a process; thread-safe.

    A kind is whatever a service counts by, such as token, channel and method.
    """

    def __init__(self, clock: Clock, sleep: Callable[[float], None], permit: Callable[[], None] = lambda: None) -> None:
        """``permit`` is asked right before each call, and raises when this process may not speak any more."""
        self._clock = clock
        self._sleep = sleep
        self._permit = permit
        self._last: dict[Hashable, float] = {}
        self._held: dict[Hashable, float] = {}
        self._lock = threading.Lock()

    def wait(self, kind: Hashable, gap: float) -> None:
        """Wait until ``gap`` seconds have passed since the last call of this kind, or since that which waits last."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._last.get(kind, now - gap) + gap)
            if turn > now + _LONGEST_QUEUE * gap:  # the clock went back
                turn = now + gap
            self._last[kind] = turn
        if turn > now:
            self._sleep(turn - now)
        self._permit()

    def hold(self, kind: Hashable, seconds: float) -> None:
        """Note that the service wants no call of this kind for so long."""
        with self._lock:
            self._held[kind] = self._clock() + seconds

    def held(self, kind: Hashable) -> float:
        """Return for how many seconds no call of this kind may be made; 0 if one may."""
        with self._lock:
            left = self._held.get(kind, 0.0) - self._clock()
        return min(MAX_RETRY_AFTER, left) if left > 0 else 0.0


@dataclass(frozen=True, slots=True)
class ReceiverContext:
    """What the composition root gives to a receiver."""

    secrets: Secrets
    clock: Clock
    sleep: Callable[[float], None]
    """Waits this many seconds of ``clock``."""
    write: Callable[[str], None]
    """Prints one text for people, where a receiver does so."""
    pacer: Pacer
    """Shared by all receivers of the process."""


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


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds of a Retry-After header (a number or an HTTP date), at most an hour; None if there is none."""
    found = next((value for name, value in headers.items() if name.lower() == "retry-after"), None)
    return seconds_to_wait(found, now)


def is_printable_ascii(secret: str) -> bool:
    """Whether a secret can be sent in a header or an address: no line break, no letter that HTTP has not."""
    return secret.isascii() and secret.isprintable() and " " not in secret


TOLD = "told"
"""Key of a receipt: the sequence of the newest notification that the receiver has taken."""


def not_yet_told(notifications: Sequence[Notification], told: int) -> list[Notification]:
    """Return those that a crash or an ambiguous try has not already delivered."""
    return [notification for notification in notifications if notification.sequence > told]
