"""Receivers: where people and programs are told. One module (or package) per service, one line here."""

from __future__ import annotations

from collections.abc import Callable

from watchdog.ports import Receiver
from watchdog.receivers import console, slack, webhook
from watchdog.receivers.base import Pacer, ReceiverContext, ReceiverType

__all__ = ["RECEIVER_TYPES", "Pacer", "ReceiverContext", "ReceiverType", "console_receiver"]

RECEIVER_TYPES: dict[str, ReceiverType] = {
    "console": ReceiverType(console.ConsoleConfig, console.build),
    "slack": ReceiverType(slack.SlackConfig, slack.build),
    "webhook": ReceiverType(webhook.WebhookConfig, webhook.build),
}
"""By the ``type`` of a ``[[receivers]]`` table."""


def console_receiver(name: str, write: Callable[[str], None]) -> Receiver:
    """Return a receiver that prints what ``name`` would be told: for dry runs, without any secret."""
    return console.ConsoleReceiver(name, write)
