"""Finds the Slack user of a job's owner by e-mail, so that a ping can reach them. Best effort."""

from __future__ import annotations

from watchdog.errors import DeliveryError
from watchdog.receivers.slack.api import SlackApi

_FINAL = frozenset({"users_not_found", "user_not_found", "user_not_visible"})


class Owners:
    """Remembers who was found and who was not; asks no more once the scope turns out to be missing."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._mentions: dict[str, str] = {}
        self._asks = True

    def mention(self, owner: str) -> str:
        """Return ``<@U…>`` for an e-mail address that Slack knows, else an empty string. Never raises."""
        if "@" not in owner or " " in owner:
            return ""
        if owner not in self._mentions and self._asks:
            self._look_up(owner)
        return self._mentions.get(owner, "")

    def _look_up(self, owner: str) -> None:
        try:
            user = self._api.read("users.lookupByEmail", {"email": owner})["user"]["id"]
        except DeliveryError as error:
            self._asks = error.reason != "missing_scope"
            if error.reason in _FINAL:
                self._mentions[owner] = ""
        except (KeyError, TypeError):
            self._mentions[owner] = ""
        else:
            self._mentions[owner] = f"<@{user}>"
