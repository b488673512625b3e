"""The only place that speaks with Slack's Web API: paced, without retries, every failure a DeliveryError."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from watchdog.receivers.base import ReceiverContext, is_printable_ascii
from watchdog.receivers.slack.errors import Answer, from_answer, from_exception, limited, malformed_token

GAPS = {"chat.postMessage": 1.1, "chat.update": 1.2, "conversations.list": 3.0}
"""Seconds between two calls; Slack allows about 1 post a second and channel, 50 updates and 20 lists a minute."""

quiet = logging.getLogger("watchdog.receivers.slack.sdk")
quiet.setLevel(logging.CRITICAL)
"""The SDK's debug lines hold bodies and the webhook's address, and its errors become DeliveryErrors here."""

NO_ANSWER = (OSError, HTTPException, ValueError, AttributeError)
"""What the SDK lets through for a broken connection; AttributeError for JSON that is not an object."""


class SlackApi:
    """Calls Slack's methods for one channel. Raises DeliveryError, whose text names the channel only."""

    def __init__(  # one value per thing that a call needs
        self, *, token: Callable[[], str], base_url: str, timeout: float, where: str, context: ReceiverContext
    ) -> None:
        self._token = token
        self._where = where
        self._pacer = context.pacer
        self._clock = context.clock
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

    def headers_too(self, method: str) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """Call a method without arguments; return its answer, and the headers by their names in lower case."""
        response = self._respond(method, params={})
        headers = {name.lower(): value for name, value in response.headers.items()}
        return response.data if isinstance(response.data, Mapping) else {}, headers

    def _call(self, method: str, **arguments: Any) -> Mapping[str, Any]:
        data = self._respond(method, **arguments).data
        return data if isinstance(data, Mapping) else {}

    def _respond(self, method: str, **arguments: Any) -> SlackResponse:
        token = self._token()
        if not is_printable_ascii(token):
            raise malformed_token(self._where)
        self._client.token = token
        kind = (token, self._where, method)
        wait = self._pacer.held(kind)
        if wait:
            raise limited(self._where, wait)
        self._pacer.wait(kind, GAPS.get(method, 0.0))
        try:
            return self._client.api_call(method, **arguments)
        except SlackApiError as error:
            found = from_answer(_answer(error, self._clock()), self._where)
            if found.retry_after is not None:
                self._pacer.hold(kind, found.retry_after)
            raise found from None
        except NO_ANSWER as error:
            raise from_exception(error, self._where) from None


def _answer(error: SlackApiError, at: float) -> Answer:
    response = error.response
    word = response.data.get("error") if isinstance(response.data, dict) else None
    return Answer(status=response.status_code, code=code_of(word), headers=response.headers, at=at)


def code_of(word: object) -> str:
    """Return ``word`` if it looks like one of Slack's codes; a proxy's page or an error text is none."""
    return word if isinstance(word, str) and re.fullmatch(r"[a-z][a-z0-9_]{1,60}", word) else ""
