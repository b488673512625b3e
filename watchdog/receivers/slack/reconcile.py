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
PAGES = 30
"""Of Slack's list of channels that are read at most."""
NAME = "name"
"""Key of a receipt: the channel's name in the rules file, which stands for the receipt's ID."""


def metadata(incident: str, sequence: int, kind: Kind) -> dict[str, Any]:
    """Return the metadata of a message; a bot sees it, people do not."""
    payload = {"incident": incident, "sequence": sequence, "kind": kind}
    return {"event_type": EVENT_TYPE, "event_payload": payload}


class History:
    """Looks for our own messages. Knows the channel by its ID, because Slack reads a history by nothing else."""

    def __init__(self, api: SlackApi, channel: str) -> None:
        self._api = api
        self._name = channel
        self._id = channel if channel[0] in "CG" and channel.isupper() else ""
        self._refused = False
        """Whether Slack would not show a history: a scope is missing."""

    def learn(self, channel: str) -> None:
        """Take down the ID of the channel, which an answer has told."""
        self._id = channel

    def can_look(self, delivery: Delivery) -> bool:
        """Whether a message of this delivery could be found again, as far as is known without asking Slack."""
        return bool(self._known(delivery)) and not self._refused and not delivery.plain

    def channel(self, delivery: Delivery) -> str:
        """Return the channel's ID: as given, from a receipt, or from Slack's list; empty if none of them tells.

        Raises a DeliveryError that is still ambiguous when Slack cannot be asked at the moment.
        """
        if not self._known(delivery):
            self._id = self._listed("public_channel") or self._listed("private_channel")
        return self._id

    def find(self, delivery: Delivery, kind: Kind, channel: str, thread: str = "") -> tuple[str, int] | None:
        """Return ``(ts, sequence)`` of our newest message of this incident; None if there is none or no scope.

        Looks in the thread of ``thread``, else in the channel. Raises a DeliveryError that is still ambiguous
        when Slack cannot be asked at the moment.
        """
        oldest = delivery.notifications[0].created_at - SKEW
        where = {"channel": channel, "ts": thread} if thread else {"channel": channel}
        method = "conversations.replies" if thread else "conversations.history"
        answer = self._ask(method, {**where, "oldest": f"{oldest:.6f}", "include_all_metadata": True, "limit": 999})
        self._refused = answer is None
        messages = (answer or {}).get("messages", [])
        found = [item for message in messages if (item := _ours(message, delivery.current.id, kind))]
        return max(found, key=lambda item: item[1], default=None)

    def _known(self, delivery: Delivery) -> str:
        """Return the ID if it was given or told, by this process or by an earlier one."""
        if not self._id:
            receipt = delivery.recent() or {}
            self._id = receipt["channel"] if receipt.get(NAME) == self._name else ""
        return self._id

    def _listed(self, kind: str) -> str:
        """Return the ID from Slack's list of channels of one kind; empty if it is not there or no scope."""
        params: dict[str, Any] = {"types": kind, "exclude_archived": True, "limit": 999}
        for _ in range(PAGES):
            answer = self._ask("conversations.list", params) or {}
            for channel in answer.get("channels") or []:
                if channel.get("name") == self._name.removeprefix("#"):
                    return str(channel["id"])
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            params = {**params, "cursor": cursor}
        return ""

    def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return Slack's answer; None if it refuses, such as for want of a scope."""
        try:
            return self._api.read(method, params)
        except DeliveryError as error:
            if not will_pass(error):
                return None
            raise DeliveryError(
                error.kind, str(error), reason=error.reason, retry_after=error.retry_after, ambiguous=True
            ) from None


def _ours(message: Mapping[str, Any], incident: str, kind: Kind) -> tuple[str, int] | None:
    data = message.get("metadata") or {}
    payload = data.get("event_payload") or {}
    wanted = data.get("event_type") == EVENT_TYPE and payload.get("incident") == incident
    return (message["ts"], int(payload["sequence"])) if wanted and payload.get("kind") == kind else None
