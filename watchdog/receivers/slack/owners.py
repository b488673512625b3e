"""Finds the Slack user of a job's owner by e-mail, so that a ping can reach them. Best effort."""

from __future__ import annotations

from watchdog.errors import DeliveryError
from watchdog.ports import Clock
from watchdog.receivers.slack.api import SlackApi

PATIENCE = 2.0
"""Seconds that a look-up may keep a message waiting."""
_FINAL = frozenset({"users_not_found", "user_not_found", "user_not_visible"})
_KEPT = 86400.0
"""Seconds for which an answer is remembered: people join and leave."""
_PAUSE = 300.0
"""Seconds without a look-up after one that failed: the messages of an outage shall not each wait for it."""


class Owners:
    """Remembers who was found and who was not; asks no more once the scope turns out to be missing."""

    def __init__(self, api: SlackApi, clock: Clock) -> None:
        """``api``: with a timeout of ``PATIENCE`` at most."""
        self._api = api
        self._clock = clock
        self._mentions: dict[str, tuple[str, float]] = {}
        """By e-mail address: the mention, and until when it holds."""
        self._next = 0.0
        self._asks = True

    def mention(self, owner: str) -> str:
        """Return ``<@U…>`` for an e-mail address that Slack knows, else an empty string. Never raises."""
        if "@" not in owner or " " in owner:
            return ""
        now = self._clock()
        known = self._mentions.get(owner)
        if (known is None or known[1] <= now) and self._asks and self._next <= now:
            self._look_up(owner, now)
        return self._mentions.get(owner, ("", 0.0))[0]

    def _look_up(self, owner: str, now: float) -> None:
        try:
            user = self._api.read("users.lookupByEmail", {"email": owner})["user"]["id"]
        except DeliveryError as error:
            self._asks = error.reason != "missing_scope"
            if error.reason not in _FINAL:
                self._next = now + _PAUSE
                return
            found = ""
        except (KeyError, TypeError):
            found = ""
        else:
            found = f"<@{user}>"
        self._mentions[owner] = (found, now + _KEPT)
