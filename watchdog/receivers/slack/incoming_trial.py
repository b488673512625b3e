"""A try of an incoming webhook: the form of its address, and an empty message, which Slack refuses without posting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from watchdog.errors import DeliveryError
from watchdog.model import Level, Remark
from watchdog.receivers.slack.trial import failed

_PATH = re.compile(r"/services/T\w+/B\w+/\w+")
_SLACKS = ("hooks.slack.com", "hooks.slack-gov.com")
_REFUSALS = frozenset({"invalid_payload", "no_text"})
"""Slack's words for a message without content: the webhook was found, and nothing was posted."""
_FORM = "https://hooks.slack.com/services/T…/B…/…"
_USE_SEND_TEST = "use send-test"


def try_out(url: str, variable: str, send: Callable[[Mapping[str, Any]], None]) -> list[Remark]:
    """Return what was found; see ``ports.Triable``. ``send`` posts a body and raises DeliveryError."""
    try:
        parts = urlsplit(url)
    except ValueError:  # half of an IPv6 address
        parts = urlsplit("")
    if not _PATH.fullmatch(parts.path):
        # Another service may well post an empty message, so it is not sent one.
        text = f"the address in {variable} has not the form of Slack's ({_FORM}): it cannot be tried without posting"
        return [Remark(Level.NOTE, text, f"copy it again, or {_USE_SEND_TEST} if it belongs to another service")]
    remarks = [_answer(variable, send)]
    if parts.hostname not in _SLACKS or parts.scheme != "https":
        text = f"the address in {variable} does not begin with https://hooks.slack.com/"
        remarks.append(Remark(Level.NOTE, text, "copy it again, unless it is a proxy's"))
    return remarks


def _answer(variable: str, send: Callable[[Mapping[str, Any]], None]) -> Remark:
    try:
        send({})
    except DeliveryError as error:
        if error.reason in _REFUSALS:
            return Remark(Level.OK, f"the webhook is there: it refuses an empty message ({error.reason}), as it should")
        return failed(error, variable)
    return Remark(Level.NOTE, "the webhook takes an empty message, as Slack's does not", _USE_SEND_TEST)
