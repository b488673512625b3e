"""What Slack's answers mean for the sender: one table, from Slack's documentation of its error codes."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import InvalidURL
from urllib.error import URLError

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.receivers.base import retry_after

PERMANENT, CONTENT = DeliveryErrorKind.PERMANENT, DeliveryErrorKind.CONTENT
TRANSIENT, QUOTA = DeliveryErrorKind.TRANSIENT, DeliveryErrorKind.QUOTA

_PERMANENT = """
    access_denied account_inactive cannot_reply_to_message channel_not_found ekm_access_denied invalid_auth
    is_archived messages_tab_disabled method_deprecated missing_scope no_permission not_allowed_token_type
    not_authed not_in_channel token_expired token_revoked user_is_restricted

    action_prohibited channel_is_archived invalid_token no_active_hooks no_channel no_service no_service_id
    no_team posting_to_general_channel_denied team_disabled
"""
"""The second paragraph are answers of incoming webhooks."""
_CONTENT = """
    attachment_payload_limit_exceeded block_mismatch invalid_arg_name invalid_arguments invalid_attachments
    invalid_blocks invalid_blocks_format invalid_metadata_format is_inactive metadata_too_large
    msg_blocks_too_long msg_too_long no_text too_many_attachments

    invalid_payload user_not_found
"""
_TRANSIENT = """
    external_channel_migrating fatal_error internal_error org_login_required rate_limited ratelimited
    request_timeout service_unavailable team_added_to_org update_failed

    rollup_error
"""
KINDS: Mapping[str, DeliveryErrorKind] = {
    **dict.fromkeys(_PERMANENT.split(), PERMANENT),
    **dict.fromkeys(_CONTENT.split(), CONTENT),
    **dict.fromkeys(_TRANSIENT.split(), TRANSIENT),
    "message_limit_exceeded": QUOTA,
}
PARENT_LOST = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
"""The parent cannot be edited any more: a new one takes its place."""
_AMBIGUOUS_CODES = frozenset({"fatal_error", "internal_error"})
"""Some part may have succeeded."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the HTTP status, Slack's own word (empty for none), and the headers."""

    status: int
    code: str
    headers: Mapping[str, str]
    at: float
    """When it came (unix seconds)."""


def kind_of(code: str) -> DeliveryErrorKind:
    """Return the class of one of Slack's codes; one that is not known is transient, and unsure."""
    return PERMANENT if code.startswith("restricted_action") else KINDS.get(code, TRANSIENT)


def is_known(code: str) -> bool:
    """Whether Slack's documentation says what the code means."""
    return code in KINDS or code in PARENT_LOST or code.startswith("restricted_action")


def will_pass(error: DeliveryError) -> bool:
    """Whether waiting helps for certain: transient by a known word or a status, not for want of a better class."""
    known = KINDS.get(error.reason) is TRANSIENT or error.reason in ("network", "timeout")
    return error.kind is TRANSIENT and (known or error.reason.startswith("http_"))


def malformed(where: str) -> DeliveryError:
    """Return the error for a success that does not say where the message is: it may well be there."""
    error = _error(TRANSIENT, where, "malformed_answer", ambiguous=True)
    error.unsure = True
    return error


def limited(where: str, wait: float) -> DeliveryError:
    """Return the error for a call that was not made: Slack asked for silence for that long."""
    return _error(TRANSIENT, where, "ratelimited", wait=wait)


def malformed_token(where: str) -> DeliveryError:
    """Return the error for a token that cannot be sent at all."""
    return _error(PERMANENT, where, "malformed_token")


def from_answer(answer: Answer, where: str) -> DeliveryError:
    """Return the error for an answer that is not a success; ``where`` names the channel, never a URL."""
    status, code = answer.status, answer.code
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return _error(TRANSIENT, where, "ratelimited", wait=retry_after(answer.headers, answer.at))
    if status >= 500:
        wait = retry_after(answer.headers, answer.at)
        return _error(TRANSIENT, where, code or f"http_{status}", wait=wait, ambiguous=status != 503)
    if code and (status == 200 or code in KINDS):
        error = _error(kind_of(code), where, code, ambiguous=code in _AMBIGUOUS_CODES)
        error.unsure = not is_known(code)
        return error
    # A page at 200 may come from a proxy after Slack has taken the message.
    return _error(_kind_of_status(status), where, f"http_{status}", ambiguous=status == 200)


def from_exception(error: Exception, where: str) -> DeliveryError:
    """Return the error for a request without an answer. The exception's own text may hold the URL: not used.

    Ambiguous unless it failed while connecting: then nothing has been sent.
    """
    if isinstance(error, InvalidURL):
        return _error(PERMANENT, where, "invalid_url")
    cause = error.reason if isinstance(error, URLError) else error
    connecting = isinstance(error, URLError) and isinstance(
        cause, (ConnectionRefusedError, TimeoutError, socket.gaierror, ssl.SSLError)
    )
    reason = "timeout" if isinstance(cause, TimeoutError) else "network"
    return _error(TRANSIENT, where, reason, ambiguous=not connecting, detail=type(cause).__name__)


def _kind_of_status(status: int) -> DeliveryErrorKind:
    """Return the class of an answer without a known word: 408 and a page at 200 pass, the rest does not."""
    return TRANSIENT if status in (200, 408) else CONTENT if status in (400, 413) else PERMANENT


def _error(  # one place for the text of every error
    kind: DeliveryErrorKind,
    where: str,
    reason: str,
    *,
    wait: float | None = None,
    ambiguous: bool = False,
    detail: str = "",
) -> DeliveryError:
    text = f"{where}: {reason} ({detail})" if detail else f"{where}: {reason}"
    return DeliveryError(kind, text + _REMEDIES.get(reason, ""), reason=reason, retry_after=wait, ambiguous=ambiguous)


_REMEDIES = {
    "channel_not_found": "; check the channel, and invite the app to it if it is private",
    "not_in_channel": "; invite the app to the channel, or give it the scope chat:write.public",
    "is_archived": "; the channel is archived: choose another one",
    "channel_is_archived": "; the channel is archived: make a webhook for another one",
    "missing_scope": "; add the scope chat:write to the app and install it again",
    "invalid_auth": "; the bot token is not valid: set a new one",
    "token_revoked": "; the bot token was revoked: set a new one",
    "malformed_answer": "; what answers is not Slack's Web API: check base_url",
    "malformed_token": "; the bot token holds characters that no token has: copy it again",
    "invalid_url": "; the address is not one: copy it again from the app's settings",
    "invalid_token": "; the webhook is no longer valid: make a new one",
    "no_service": "; the webhook is no longer valid: make a new one",
}
