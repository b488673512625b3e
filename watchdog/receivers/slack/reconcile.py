"""After a timeout: did the message arrive? Slack has no idempotency key, so messages carry metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from watchdog.errors import DeliveryError
from watchdog.ports import Delivery
from watchdog.receivers.slack.api import SlackApi
from watchdog.receivers.slack.errors import will_pass

EVENT_TYPE = "watchdog_notification"
Kind = Literal["parent", "reply"]
SKEW = 120.0
"""Seconds by which Slack's clock and ours may differ."""


def metadata(incident: str, sequence: int, kind: Kind) -> dict[str, Any]:
    """Return the metadata of a message; a bot sees it, people do not."""
    payload = {"incident": incident, "sequence": sequence, "kind": kind}
    return {"event_type": EVENT_TYPE, "event_payload": payload}


def find(api: SlackApi, delivery: Delivery, kind: Kind, channel: str, thread: str = "") -> tuple[str, int] | None:
    """Return ``(ts, sequence)`` of our newest message of this incident; None if there is none or no scope.

    Looks in the thread of ``thread``, else in the channel. Raises a DeliveryError that is still ambiguous
    when Slack cannot be asked at the moment.
    """
    oldest = delivery.notifications[0].created_at - SKEW
    where = {"channel": channel, "ts": thread} if thread else {"channel": channel}
    method = "conversations.replies" if thread else "conversations.history"
    params = {**where, "oldest": f"{oldest:.6f}", "include_all_metadata": True, "limit": 999}
    try:
        messages = api.read(method, params).get("messages", [])
    except DeliveryError as error:
        if not will_pass(error):
            return None
        raise DeliveryError(
            error.kind, str(error), reason=error.reason, retry_after=error.retry_after, ambiguous=True
        ) from None
    found = [item for message in messages if (item := _ours(message, delivery.current.id, kind))]
    return max(found, key=lambda item: item[1], default=None)


def _ours(message: Mapping[str, Any], incident: str, kind: Kind) -> tuple[str, int] | None:
    data = message.get("metadata") or {}
    payload = data.get("event_payload") or {}
    wanted = data.get("event_type") == EVENT_TYPE and payload.get("incident") == incident
    return (message["ts"], int(payload["sequence"])) if wanted and payload.get("kind") == kind else None
