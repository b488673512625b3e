"""A webhook: Alertmanager's body, version 4, signed as Standard Webhooks has it when a secret is set.

Fields: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config (and ``routeLabels`` and
``notification_reason`` of Alertmanager's code). Signature: the Standard Webhooks specification.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

import httpx
from pydantic import Field

from watchdog.config import Duration, EnvRef, ReceiverConfig
from watchdog.errors import DeliveryError, DeliveryErrorKind, UsageError
from watchdog.model import TLS_REMEDY, AlertView, Level, Notification, Receipt, Remark
from watchdog.ports import Delivery
from watchdog.receivers.base import ReceiverContext, retry_after, secret_or_raise

NEVER = "0001-01-01T00:00:00Z"
"""Go's zero time: how Alertmanager writes the end of an alert that still fires."""
DEADLINE = 30.0
"""Real seconds for one request and its answer, whatever the receiving side does; or ``timeout`` if that is longer."""
MAX_ANSWER = 64 * 1024
"""Bytes of an answer that are read, for the connection to be kept; nothing in them matters."""
FEW = 10
"""Alerts in a body after a larger one was too large (413)."""
_TOO_LARGE = 413
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class WebhookConfig(ReceiverConfig):
    """Any program that takes Alertmanager's webhooks."""

    url: Annotated[str, Field(pattern=r"^https?://\S+$")] | EnvRef
    """The address, or ``{ env = "NAME" }`` when it holds a secret."""
    signing_secret: EnvRef | None = None
    """``whsec_…`` (base64) or any text; adds the header ``webhook-signature``."""
    timeout: Duration = 10.0
    max_alerts: Annotated[int, Field(ge=0)] = 0
    """The most alerts in one body; 0: all."""
    external_url: str = ""
    """An address of watchdog for people, as the body's ``externalURL``."""


class WebhookReceiver:
    """Posts one body per notification, over one kept connection."""

    coalesces = False

    def __init__(self, config: WebhookConfig, context: ReceiverContext) -> None:
        self.name = config.name
        self._config = config
        self._secrets = context.secrets
        self._clock = context.clock
        self._client = _client(config)

    def deliver(self, delivery: Delivery) -> Receipt:
        """Post the notification, with the incident as it stood then; see ``ports.Receiver``."""
        for notification in delivery.notifications:
            response = self._send(notification, delivery.now, self._config)
            if response.status_code == _TOO_LARGE and self._shown(notification) > FEW:
                fewer = self._config.model_copy(update={"max_alerts": FEW})
                response = self._send(notification, delivery.now, fewer)
            if not response.is_success:
                raise self._refused(response)
        return {}

    def try_out(self) -> Sequence[Remark]:
        """Ask which methods the address takes: nothing is posted; see ``ports.Triable``."""
        try:
            if self._config.signing_secret is not None:
                signature(secret_or_raise(self._secrets, self._config.signing_secret, self.name), "", "", b"")
            response = self._request("OPTIONS", b"", {"user-agent": "watchdog"})
        except DeliveryError as error:
            said = str(error).removeprefix(f'webhook "{self.name}": ')
            remedy = TLS_REMEDY if "SSL" in said else "check url, the network and HTTPS_PROXY"
            return [Remark(Level.FAILED, said, remedy if error.kind is DeliveryErrorKind.TRANSIENT else "")]
        return [answered(response.request.url.host, response.status_code)]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _headers(self, notification: Notification, now: float, content: bytes) -> dict[str, str]:
        identity = {"webhook-id": notification.id, "webhook-timestamp": str(int(now))}
        if self._config.signing_secret is not None:
            secret = secret_or_raise(self._secrets, self._config.signing_secret, self.name)
            identity["webhook-signature"] = signature(secret, notification.id, identity["webhook-timestamp"], content)
        return {"content-type": "application/json", "user-agent": "watchdog", **identity}

    def _shown(self, notification: Notification) -> int:
        return len(body_of(notification, self._config)["alerts"])

    def _send(self, notification: Notification, now: float, config: WebhookConfig) -> httpx.Response:
        content = json.dumps(body_of(notification, config), ensure_ascii=False).encode(errors="replace")
        return self._request("POST", content, self._headers(notification, now, content))

    def _request(self, method: str, content: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """Return the answer's status and headers; what it says is of no interest."""
        url = self._config.url
        address = url if isinstance(url, str) else secret_or_raise(self._secrets, url, self.name)
        if self._client.is_closed:
            self._client = _client(self._config)
        # A read times out after a silence; only this ends an answer that comes byte by byte.
        overdue = threading.Timer(max(DEADLINE, self._config.timeout), self._client.close)
        overdue.daemon = True
        overdue.start()
        try:
            with self._client.stream(method, address, content=content, headers=dict(headers)) as response:
                _drain(response)
                return response
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            text = f'webhook "{self.name}": its url is no web address; it begins with https://'
            raise DeliveryError(DeliveryErrorKind.PERMANENT, text, reason="invalid_url") from None
        except httpx.HTTPError as error:
            raise self._unanswered(error) from None
        finally:
            overdue.cancel()

    def _unanswered(self, error: httpx.HTTPError) -> DeliveryError:
        timeout = isinstance(error, httpx.TimeoutException) or self._client.is_closed
        return DeliveryError(
            DeliveryErrorKind.TRANSIENT,
            f'webhook "{self.name}": no answer ({_why(error)})',
            reason="contextDeadlineExceeded" if timeout else "other",
            ambiguous=not isinstance(error, _NOT_SENT),
        )

    def _refused(self, response: httpx.Response) -> DeliveryError:
        status = response.status_code
        return DeliveryError(
            kind_of(status),
            f'webhook "{self.name}": HTTP {status}',
            reason=reason_of(status),
            retry_after=retry_after(response.headers, self._clock()),
            ambiguous=status in (500, 502, 504),
        )


def _why(error: httpx.HTTPError) -> str:
    """Return what went wrong; only the text of a failed connection names neither address nor secret."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, httpx.ConnectError) and str(error) else name


def _client(config: WebhookConfig) -> httpx.Client:
    return httpx.Client(timeout=config.timeout, follow_redirects=False)


def _drain(response: httpx.Response) -> None:
    """Read a short answer to its end; the status is known already, so that a broken one does no harm."""
    size = 0
    with suppress(httpx.HTTPError):
        for part in response.iter_raw():
            size += len(part)
            if size > MAX_ANSWER:
                return


def build(config: WebhookConfig, context: ReceiverContext) -> WebhookReceiver:
    """Return the receiver. Raises UsageError when a secret that its section names is not set."""
    for ref in (config.url, config.signing_secret):
        if isinstance(ref, EnvRef) and not context.secrets.find(ref.env):
            raise UsageError(f'receiver "{config.name}": {ref.env} is not set; set it, or {ref.env}_FILE')
    for name in ("httpx", "httpcore"):  # below warning they log the address, which may hold a secret
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))
    return WebhookReceiver(config, context)


def kind_of(status: int) -> DeliveryErrorKind:
    """Return what an HTTP status means for the sender; 3xx and 4xx need somebody to act.

    There is no plainer form of the body, so a body that is refused (400, 422) is refused for good too.
    """
    transient = status >= 500 or status in (408, 429)
    return DeliveryErrorKind.TRANSIENT if transient else DeliveryErrorKind.PERMANENT


def reason_of(status: int) -> str:
    """Return Alertmanager's failure reason for an HTTP status."""
    if status in (401, 403):
        return "authError"
    if status == 429:
        return "rateLimited"
    if status >= 500:
        return "serverError"
    return "clientError" if status >= 400 else "other"


def answered(host: str, status: int) -> Remark:
    """Return what the answer to a request other than POST tells: only some statuses make one doubt."""
    remedies = {401: "see whether url needs credentials", 429: "try again later"}
    remedies |= dict.fromkeys((404, 410), "check the path of url") | {403: remedies[401]}
    remedies |= dict.fromkeys((502, 503, 504), remedies[429])
    remedies |= dict.fromkeys(range(300, 400), "write the address that it leads to: redirects are not followed")
    text = f"{host} answers HTTP {status} to OPTIONS"
    if status not in remedies:
        return Remark(Level.OK, text)
    return Remark(Level.NOTE, f"{text}, and nothing was posted", f"{remedies[status]}, or use send-test")


def signature(secret: str, message_id: str, timestamp: str, content: bytes) -> str:
    """Return ``v1,<base64 of HMAC-SHA256>`` over id, timestamp and body, joined with full stops.

    A secret that begins with ``whsec_`` is base64 after that; any other is taken as it is. Raises a
    permanent DeliveryError for base64 that is none.
    """
    try:
        prefixed = secret.startswith("whsec_")
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True) if prefixed else secret.encode()
    except binascii.Error:
        text = "the signing secret begins with whsec_ but is not base64 after that; copy it again"
        raise DeliveryError(DeliveryErrorKind.PERMANENT, text, reason="invalid_secret") from None
    signed = b".".join((message_id.encode(), timestamp.encode(), content))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def body_of(notification: Notification, config: WebhookConfig) -> dict[str, Any]:
    """Return Alertmanager's webhook body, version 4, for one notification."""
    view = notification.view
    told = [item for item in view.alerts if config.send_resolved or item.status == "firing"]
    url = view.job.url if view.job else ""
    shown = told[: config.max_alerts] if config.max_alerts else told
    return {
        "version": "4",
        "groupKey": view.group_key,
        "truncatedAlerts": len(told) - len(shown),
        "status": "firing" if any(item.status == "firing" for item in told) else "resolved",
        "receiver": config.name,
        "groupLabels": dict(view.group_labels),
        "commonLabels": _common([dict(item.labels) for item in told]),
        "commonAnnotations": _common([_annotations(item) for item in told]),
        "routeLabels": {},
        "externalURL": config.external_url,
        "notification_reason": notification.reason.value,
        "alerts": [_alert(item, url) for item in shown],
    }


def _alert(alert: AlertView, url: str) -> dict[str, Any]:
    ended = alert.ends_at if alert.status == "resolved" else None
    return {
        "status": alert.status,
        "labels": dict(alert.labels),
        "annotations": _annotations(alert),
        "startsAt": _rfc3339(alert.starts_at),
        "endsAt": NEVER if ended is None else _rfc3339(ended),
        "generatorURL": url,
        "fingerprint": alert.fingerprint,
    }


def _annotations(alert: AlertView) -> dict[str, str]:
    texts = {"summary": alert.summary, "description": alert.description, "runbook_url": alert.runbook_url}
    return {name: text for name, text in texts.items() if text}


def _common(sets: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the pairs that all the sets share."""
    if not sets:
        return {}
    return dict(sorted(set(sets[0].items()).intersection(*_pairs(sets[1:]))))


def _pairs(sets: Iterable[Mapping[str, str]]) -> Iterable[set[tuple[str, str]]]:
    return (set(item.items()) for item in sets)


def _rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
