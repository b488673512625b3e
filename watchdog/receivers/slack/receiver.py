"""Slack with a bot token: one message per incident, edited as it changes, with its history in a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchdog.errors import DeliveryError
from watchdog.model import Notification, Receipt, Remark
from watchdog.ports import Delivery
from watchdog.receivers.base import TOLD, ReceiverContext, not_yet_told, secret_or_raise
from watchdog.receivers.slack import trial
from watchdog.receivers.slack.api import SlackApi
from watchdog.receivers.slack.config import SlackConfig
from watchdog.receivers.slack.errors import PARENT_LOST, malformed
from watchdog.receivers.slack.owners import PATIENCE, Owners
from watchdog.receivers.slack.reconcile import NAME, History, metadata
from watchdog.receivers.slack.render import NOBODY, Calls, Message, first_note, is_critical, parent, reply, should_ping
from watchdog.receivers.text.looks import is_over

_AS_WRITTEN = {"parse": "none", "link_names": False}
"""Slack shall find no names and no addresses of its own in a text."""
_NO_PREVIEWS = {"unfurl_links": False, "unfurl_media": False}


class SlackReceiver:
    """A channel. The receipt holds its ID, the parent's ts, and what has been told."""

    coalesces = True

    def __init__(self, config: SlackConfig, channel: str, context: ReceiverContext) -> None:
        self.name = config.name
        self._config = config
        self._channel = channel
        self._where = f"Slack channel {channel}"
        self._api = self._open(context, config.timeout)
        self._history = History(self._api, channel)
        self._owners = Owners(self._open(context, min(config.timeout, PATIENCE)), context.clock)

    def _open(self, context: ReceiverContext, timeout: float) -> SlackApi:
        return SlackApi(
            token=lambda: secret_or_raise(context.secrets, self._config.bot_token, self.name),
            base_url=self._config.base_url,
            timeout=timeout,
            where=self._where,
            context=context,
        )

    def deliver(self, delivery: Delivery) -> Receipt:
        """Edit (or post) the parent, then reply with what is new; see ``ports.Receiver``.

        The edit comes first because it may be repeated at will. The parent's receipt is kept as soon as
        there is one, so that a crash before the reply posts no second parent.
        """
        known = self._reconciled(delivery) if delivery.maybe_sent else delivery.receipt
        receipt = self._first(delivery) if known is None else self._edit(delivery, known)
        news = not_yet_told(delivery.notifications, int(receipt.get(TOLD, "0")))
        if news:
            self._reply(delivery, receipt, news, fresh=known is None)
        return _told(receipt, delivery.notifications)

    def try_out(self) -> Sequence[Remark]:
        """Try the token and the channel; see ``ports.Triable``."""
        return trial.try_out(self._config, self._channel, self._api)

    def close(self) -> None:
        """Nothing is kept open between two calls."""

    def _reconciled(self, delivery: Delivery) -> Receipt | None:
        """Return the receipt with what the ambiguous try did after all, as far as it can be found out."""
        receipt = delivery.receipt
        if receipt is not None:
            thread = receipt["ts"] if self._config.thread else ""
            found = self._history.find(delivery, "reply", receipt["channel"], thread)
            if found is None or found[1] <= int(receipt.get(TOLD, "0")):
                return receipt
            receipt = {**receipt, TOLD: str(found[1])}
        else:
            channel = self._history.channel(delivery)
            found = self._history.find(delivery, "parent", channel) if channel else None
            if found is None:
                return None
            receipt = self._receipt(channel, found[0], found[1])
        delivery.keep(receipt)
        return receipt

    def _first(self, delivery: Delivery) -> Receipt:
        """Post the parent. One that is already over, or has happened once, says everything by itself."""
        done = delivery.notifications if is_over(delivery.current) else delivery.notifications[:1]
        note = first_note(delivery.notifications, delivery.current, delivery.now)
        calls = NOBODY
        if should_ping(delivery.notifications, delivery.current):
            calls = Calls(self._mention(delivery, delivery.notifications), self._owner(delivery))
        message = parent(delivery.current, delivery.now, plain=delivery.plain, note=note, calls=calls)
        return self._post_parent(delivery, message, done[-1].sequence)

    def _edit(self, delivery: Delivery, receipt: Receipt) -> Receipt:
        """Bring the parent up to date; a parent that is lost is replaced by a new one."""
        if self._update(delivery, receipt):
            return receipt
        successor = self._successor(delivery, receipt)
        if successor is not None and self._update(delivery, successor):
            return successor
        message = parent(delivery.current, delivery.now, plain=delivery.plain)
        return self._post_parent(delivery, message, int(receipt.get(TOLD, "0")))

    def _update(self, delivery: Delivery, receipt: Receipt) -> bool:
        """Edit the parent; return False if it cannot be edited any more."""
        calls = Calls(owner=self._owner(delivery))
        message = parent(delivery.current, delivery.now, plain=delivery.plain, calls=calls)
        target = {"channel": receipt["channel"], "ts": receipt["ts"], **_AS_WRITTEN}
        body = self._body(delivery, message, int(receipt.get(TOLD, "0")), "parent")
        try:
            self._api.write("chat.update", {**target, **body})
        except DeliveryError as error:
            if error.reason not in PARENT_LOST:
                raise
            return False
        return True

    def _successor(self, delivery: Delivery, lost: Receipt) -> Receipt | None:
        """Return the new parent that an ambiguous try may have posted already in place of the lost one."""
        found = self._history.find(delivery, "parent", lost["channel"]) if delivery.maybe_sent else None
        if found is None or found[0] == lost["ts"]:
            return None
        receipt = {**lost, "ts": found[0]}
        delivery.keep(receipt)
        return receipt

    def _post_parent(self, delivery: Delivery, message: Message, told: int) -> Receipt:
        body = self._body(delivery, message, told, "parent")
        answer = self._post(delivery, {"channel": self._channel, **body})
        self._history.learn(str(answer["channel"]))
        receipt = self._receipt(str(answer["channel"]), str(answer["ts"]), told)
        delivery.keep(receipt)
        return receipt

    def _receipt(self, channel: str, ts: str, told: int) -> Receipt:
        """Return a receipt; it says to which name the ID belongs, for a channel that is given by name."""
        name = {} if channel == self._channel else {NAME: self._channel}
        return {"channel": channel, "ts": ts, TOLD: str(told), **name}

    def _reply(self, delivery: Delivery, receipt: Receipt, news: Sequence[Notification], *, fresh: bool) -> None:
        """Say what changed: in the thread, and in the channel as well when a person should look now."""
        mention = "" if fresh else self._mention(delivery, news)
        ping = not fresh and should_ping(news, delivery.current)
        over = is_over(delivery.current)
        if not (self._config.thread or ping or over):
            return
        named = ping or not self._config.thread
        message = Message(reply(news, delivery.current, delivery.now, mention=mention, named=named))
        place: dict[str, Any] = {"channel": receipt["channel"]}
        if self._config.thread:
            place |= {"thread_ts": receipt["ts"], "reply_broadcast": ping}
        body = self._body(delivery, message, news[-1].sequence, "reply")
        self._post(delivery, {**place, **body})

    def _post(self, delivery: Delivery, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Post; an error says whether the next try will be able to look for what this one may have posted."""
        try:
            return self._posted(body)
        except DeliveryError as error:
            error.blind = error.ambiguous and not self._history.can_look(delivery)
            raise

    def _posted(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self._api.write("chat.postMessage", {**body, **_AS_WRITTEN, **_NO_PREVIEWS})
        if not (answer.get("channel") and answer.get("ts")):
            raise malformed(self._where)
        return answer

    def _body(self, delivery: Delivery, message: Message, sequence: int, kind: Any) -> dict[str, Any]:
        """Return the arguments for a message; the plain form leaves out all that could be refused."""
        data = {} if delivery.plain else {"metadata": metadata(delivery.current.id, sequence, kind)}
        return {**message.body(), **data}

    def _mention(self, delivery: Delivery, news: Sequence[Notification]) -> str:
        """Return whom to call: the job's owner at every ping, the configured group at critical ones."""
        if not should_ping(news, delivery.current):
            return ""
        group = self._config.mention if is_critical(delivery.current) else None
        return " ".join(part for part in (self._owner(delivery), group) if part)

    def _owner(self, delivery: Delivery) -> str:
        """Return the mention of the job's owner, as far as Slack knows them."""
        job = delivery.current.job
        return self._owners.mention(job.owner) if job else ""


def _told(receipt: Mapping[str, str], notifications: Sequence[Notification]) -> Receipt:
    told = max(int(receipt.get(TOLD, "0")), notifications[-1].sequence)
    return {**receipt, TOLD: str(told)}
