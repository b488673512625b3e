"""What to do after a delivery that failed: one pure decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.waiting import MAX_RETRY_AFTER

Random = Callable[[], float]
"""Returns a number in [0, 1)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient a sender is; seconds."""

    first_wait: float = 1.0
    longest_wait: float = 300.0
    first_blind_wait: float = 60.0
    """After a try that may have arrived while nothing can tell whether it did: each further one may be a copy."""
    longest_blind_wait: float = 3600.0
    unsure_tries: int = 10
    """Tries of a message that is answered with a word that nobody knows, before that counts as permanent."""
    probe_wait: float = 600.0
    """Between tries of a receiver that refuses for good."""
    quota_wait: float = 600.0
    idle_wait: float = 30.0
    """The longest a sender goes without a look into the outbox, should a wake-up get lost."""
    batch: int = 100
    """Rows fetched at a time."""


@dataclass(frozen=True, slots=True)
class Try:
    """The delivery that failed."""

    attempts: int
    """Tries of this message before it."""
    failures: int
    """Tries of this receiver that have failed in a row before it, whatever the message."""
    plain: bool
    """Whether it was sent as plain text."""


class Action(Enum):
    """What becomes of the message and its receiver."""

    RETRY = auto()
    PLAIN = auto()
    """Try again at once, as plain text."""
    PARK = auto()
    STOP = auto()
    """The receiver refuses for good: keep everything, look again now and then."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, and when (unix seconds)."""

    action: Action
    not_before: float
    """When this message may be tried again."""
    resume_at: float
    """When anything may be sent to this receiver again."""
    hold: bool = False
    """The receiver itself named ``resume_at``: it must be obeyed after a restart too."""


def decide(error: DeliveryError, tried: Try, now: float, policy: Policy, random: Random) -> Decision:
    """Return what to do after ``error``, which came back at ``now``.

    The message and its receiver back off apart: one that always fails at a sound receiver waits longer and
    longer without delaying the others, and a receiver that is down is asked once in a while, not once for each.
    """
    if error.kind is DeliveryErrorKind.CONTENT:
        return Decision(Action.PARK if tried.plain else Action.PLAIN, now, now)
    hold = error.retry_after is not None
    # "after 0 s" must not become a hot loop, nor a slip of the other side silence it for years
    asked = now + min(MAX_RETRY_AFTER, max(policy.first_wait, error.retry_after or 0.0))
    given_up = error.unsure and tried.attempts + 1 >= policy.unsure_tries
    if error.kind is DeliveryErrorKind.PERMANENT or given_up:
        return Decision(Action.STOP, now, max(asked, now + policy.probe_wait), hold)
    if error.kind is DeliveryErrorKind.QUOTA:
        resume_at = max(asked, now + policy.quota_wait)
        return Decision(Action.RETRY, resume_at, resume_at, hold)
    mine, its = backoff(tried.attempts, policy, random), backoff(tried.failures, policy, random)
    if error.blind:
        mine = min(policy.longest_blind_wait, policy.first_blind_wait * 2.0 ** min(tried.attempts, 32))
    if hold:
        return Decision(Action.RETRY, max(asked, now + mine) if error.blind else asked, asked, hold)
    return Decision(Action.RETRY, now + mine, now + its)


def backoff(failures: int, policy: Policy, random: Random) -> float:
    """Return seconds to wait after ``failures`` earlier failures in a row.

    Doubles from ``first_wait`` to ``longest_wait``; from the second on, up to half of it is left out at random.
    """
    wait = min(policy.longest_wait, policy.first_wait * 2.0 ** min(failures, 32))
    return max(policy.first_wait, wait * (1.0 - random() / 2))
