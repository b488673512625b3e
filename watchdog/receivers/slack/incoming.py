"""Slack through an incoming webhook: new posts only, because a webhook gives no handle to edit or thread."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPException, InvalidURL
from typing import Any

from slack_sdk.webhook import WebhookClient, WebhookResponse

from watchdog.errors import DeliveryError
from watchdog.model import Notification, Receipt, Remark
from watchdog.ports import Delivery
from watchdog.receivers.base import TOLD, ReceiverContext, is_printable_ascii, not_yet_told, secret_or_raise
from watchdog.receivers.slack import incoming_trial
from watchdog.receivers.slack.api import GAPS, code_of, quiet
from watchdog.receivers.slack.config import SlackConfig
from watchdog.receivers.slack.errors import Answer, from_answer, from_exception, limited
from watchdog.receivers.slack.render import Calls, Message, first_note, is_critical, parent, reply, should_ping
from watchdog.receivers.slack.trial import failed
from watchdog.receivers.text.looks import is_over


class SlackIncomingReceiver:
    """A webhook's channel. The receipt holds only what has been told."""

    coalesces = True

    def __init__(self, config: SlackConfig, context: ReceiverContext) -> None:
        self.name = config.name
        self._where = f'Slack webhook of receiver "{config.name}"'
        self._config = config
        self._secrets = context.secrets
        self._pacer = context.pacer
        self._clock = context.clock

    def deliver(self, delivery: Delivery) -> Receipt:
        """Post the incident at its first delivery, and what changed at each later one; see ``ports.Receiver``."""
        told = int((delivery.receipt or {}).get(TOLD, "0"))
        news = not_yet_told(delivery.notifications, told)
        if delivery.receipt is None:
            note = first_note(delivery.notifications, delivery.current, delivery.now)
            calls = Calls(self._mention(delivery, news))
            self._post(parent(delivery.current, delivery.now, plain=delivery.plain, note=note, calls=calls))
            delivery.keep({TOLD: str(news[0].sequence)})
            news = [] if is_over(delivery.current) else news[1:]
        if news:
            mention = "" if delivery.receipt is None else self._mention(delivery, news)
            self._post(Message(reply(news, delivery.current, delivery.now, mention=mention, named=True)))
        return {TOLD: str(max(told, delivery.notifications[-1].sequence))}

    def _mention(self, delivery: Delivery, news: Sequence[Notification]) -> str:
        calls = is_critical(delivery.current) and should_ping(news, delivery.current)
        return (self._config.mention or "") if calls else ""

    def close(self) -> None:
        """Nothing is kept open between two posts."""

    def try_out(self) -> Sequence[Remark]:
        """Try the address with a message that is refused; see ``ports.Triable``."""
        try:
            url = self._url()
        except DeliveryError as error:
            return [failed(error, self._config.webhook_url.env)]
        return incoming_trial.try_out(url, self._config.webhook_url.env, self._send)

    def _url(self) -> str:
        """Return the address as it is now. Raises DeliveryError for what is none."""
        url = secret_or_raise(self._secrets, self._config.webhook_url, self.name)
        if not (url.startswith(("https://", "http://")) and is_printable_ascii(url)):
            raise from_exception(InvalidURL(), self._where)
        return url

    def _post(self, message: Message) -> None:
        self._send({**message.body(), "unfurl_links": False, "unfurl_media": False})

    def _send(self, body: Mapping[str, Any]) -> None:
        where, url = self._where, self._url()
        wait = self._pacer.held(url)
        if wait:
            raise limited(where, wait)
        self._pacer.wait(url, GAPS["chat.postMessage"])
        client = WebhookClient(url, logger=quiet, retry_handlers=[])
        client.timeout = self._config.timeout  # type: ignore[assignment]  # urllib takes fractions of a second
        client.proxy = None  # urllib reads the proxy variables, NO_PROXY among them
        try:
            response = client.send_dict(dict(body))
        except (OSError, HTTPException, ValueError) as error:
            raise _blind(from_exception(error, where)) from None
        if not _accepted(response):
            found = from_answer(_answer(response, self._clock()), where)
            if found.retry_after is not None:
                self._pacer.hold(url, found.retry_after)
            raise _blind(found)


def _blind(error: DeliveryError) -> DeliveryError:
    """Mark that nothing can be looked up: a webhook's channel cannot be read."""
    error.blind = error.ambiguous
    return error


def _accepted(response: WebhookResponse) -> bool:
    """Whether the message was taken: the word ``ok``, or an object that says so (compatible services)."""
    body = response.body.strip()
    data = _json(body)
    return response.status_code == 200 and (body == "ok" or data.get("ok", data.get("success")) is True)


def _answer(response: WebhookResponse, at: float) -> Answer:
    word = _json(response.body).get("error") or response.body.strip()
    return Answer(status=response.status_code, code=code_of(word), headers=dict(response.headers.items()), at=at)


def _json(body: str) -> dict[str, object]:
    try:
        data = json.loads(body)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
