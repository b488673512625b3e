"""From the outbox to the receivers: one sender per receiver, in order, with backoff, at least once."""

from watchdog.delivery.decide import Action, Decision, Policy, Try, backoff, decide
from watchdog.delivery.drain import drain
from watchdog.delivery.events import LATE_AFTER, EventKind, SenderEvent
from watchdog.delivery.handing import SenderDelivery
from watchdog.delivery.sender import Sender
from watchdog.delivery.thread import SenderThread

__all__ = [
    "LATE_AFTER",
    "Action",
    "Decision",
    "EventKind",
    "Policy",
    "Sender",
    "SenderDelivery",
    "SenderEvent",
    "SenderThread",
    "Try",
    "backoff",
    "decide",
    "drain",
]
