"""The only place that speaks with Slack's Web API: paced, without retries, every failure a DeliveryError."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from watchdog.ports import Clock
from watchdog.receivers.slack.errors import Answer, from_answer, from_exception

GAPS = {"chat.postMessage": 1.1, "chat.update": 1.2}
"""Seconds between two calls; Slack allows about 1 post a second and channel, and 50 updates a minute."""

quiet = logging.getLogger("watchdog.receivers.slack.sdk")
quiet.setLevel(logging.CRITICAL)
"""The SDK's debug lines hold bodies and the webhook's address, and its errors become DeliveryErrors here."""

NO_ANSWER = (OSError, HTTPException, ValueError, AttributeError)
"""What the SDK lets through for a broken connection; AttributeError for JSON that is not an object."""


class Pacer:
    """Keeps calls of one kind apart, so that Slack has no reason to say 429."""

    def __init__(self, clock: Clock, sleep: Callable[[float], None]) -> None:
        self._clock = clock
        self._sleep = sleep
        self._last: dict[str, float] = {}

    def wait(self, kind: str, gap: float) -> None:
        """Wait until ``gap`` seconds have passed since the last call of this kind; never longer than that."""
        last = self._last.get(kind)
        if last is not None:
            left = min(gap, last + gap - self._clock())
            if left > 0:
                self._sleep(left)
        self._last[kind] = self._clock()


class SlackApi:
    """Calls Slack's methods for one channel. Raises DeliveryError, whose text names the channel only."""

    def __init__(  # one value per thing that a call needs
        self, *, token: Callable[[], str], base_url: str, timeout: float, where: str, pacer: Pacer
    ) -> None:
        self._token = token
        self._where = where
        self._pacer = pacer
        self._client = WebClient(base_url=base_url, logger=quiet, retry_handlers=[])
        self._client.timeout = timeout  # type: ignore[assignment]  # urllib takes fractions of a second
        # The SDK's own reading of the proxy variables ignores NO_PROXY; urllib's does not.
        self._client.proxy = None

    def write(self, method: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a method that takes JSON; the token is read anew, so that it can be rotated."""
        return self._call(method, json=dict(body))

    def read(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a method that takes form fields."""
        return self._call(method, params=dict(params))

    def _call(self, method: str, **arguments: Any) -> Mapping[str, Any]:
        self._client.token = self._token()
        self._pacer.wait(method, GAPS.get(method, 0.0))
        try:
            data = self._client.api_call(method, **arguments).data
        except SlackApiError as error:
            raise from_answer(_answer(error), self._where) from None
        except NO_ANSWER as error:
            raise from_exception(error, self._where) from None
        return data if isinstance(data, Mapping) else {}


def _answer(error: SlackApiError) -> Answer:
    response = error.response
    word = response.data.get("error") if isinstance(response.data, dict) else None
    return Answer(status=response.status_code, code=code_of(word), headers=response.headers)


def code_of(word: object) -> str:
    """Return ``word`` if it looks like one of Slack's codes; a proxy's page or an error text is none."""
    return word if isinstance(word, str) and re.fullmatch(r"[a-z][a-z0-9_]{1,60}", word) else ""
