"""A try of a Slack channel with a bot token: whose token it is, what it may do, whether the channel takes posts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchdog.errors import DeliveryError, DeliveryErrorKind
from watchdog.model import TLS_REMEDY, Level, Remark
from watchdog.receivers.slack.api import SlackApi
from watchdog.receivers.slack.config import SlackConfig
from watchdog.receivers.slack.errors import malformed

OPTIONAL: Mapping[frozenset[str], str] = {
    frozenset({"channels:history", "groups:history"}): "finding out after a timeout whether a message arrived",
    frozenset({"channels:read", "groups:read"}): "finding the ID of a channel that is given by name",
    frozenset({"users:read.email"}): "mentioning the owner of a job",
}
"""Scopes that make deliveries better, any one of each set, and what for."""
PAGES = 5
"""Of Slack's list of channels that are read at most: Slack allows few a minute."""
_LISTED = {"channels:read": "public_channel", "groups:read": "private_channel"}
_BAD_TOKEN = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "malformed_token",
        "not_allowed_token_type",
        "not_authed",
        "token_expired",
        "token_revoked",
    }
)
_ADD = "add it to the app and install the app again"
_ASK_PEOPLE = "use send-test"

Found = Mapping[str, Any]
Scopes = frozenset[str] | None
"""None if Slack did not say."""


def try_out(config: SlackConfig, channel: str, api: SlackApi) -> list[Remark]:
    """Return what was found; see ``ports.Triable``."""
    try:
        answer, headers = api.headers_too("auth.test")
    except DeliveryError as error:
        return [
            failed(error, "base_url", f"put the bot token (xoxb-…) of an installed app into {config.bot_token.env}")
        ]
    bot = str(answer.get("user") or "the bot")
    stated = headers.get("x-oauth-scopes")
    scopes = None if stated is None else frozenset(scope.strip() for scope in stated.split(","))
    known = Remark(Level.OK, f'the token is that of "{bot}" in the workspace "{answer.get("team") or "?"}"')
    try:
        place = _channel(channel, api, scopes, bot)
    except DeliveryError as error:
        place = failed(error, "base_url")
    return [known, *_scopes(scopes), place]


def failed(error: DeliveryError, address: str, token_remedy: str = "") -> Remark:
    """Return the remark for a call that failed: ``address`` is what to check, ``token_remedy`` for a bad token."""
    if error.reason in _BAD_TOKEN and token_remedy:
        return Remark(Level.FAILED, f"Slack refuses the token ({error.reason})", token_remedy)
    return Remark(Level.FAILED, str(error), _remedy(error, address))


def _remedy(error: DeliveryError, address: str) -> str:
    if error.reason == "ratelimited":
        wait = "a minute" if error.retry_after is None else f"{error.retry_after:.0f} s"
        return f"wait {wait} and try again"
    if error.reason == "network" and "SSL" in str(error):
        return TLS_REMEDY
    if error.reason in ("network", "timeout"):
        return f"check the network, HTTPS_PROXY and {address}"
    if error.reason == "http_200":
        return f"what answers is not Slack: check {address}"
    later = error.kind is DeliveryErrorKind.TRANSIENT and "; " not in str(error)
    return "try again later" if later else ""


def _scopes(scopes: Scopes) -> list[Remark]:
    if scopes is None:
        return [Remark(Level.NOTE, "Slack does not say which scopes the token has")]
    found = []
    if "chat:write" not in scopes:
        found.append(
            Remark(Level.FAILED, "the token lacks the scope chat:write, without which nothing is posted", _ADD)
        )
    for any_of, purpose in OPTIONAL.items():
        if not any_of & scopes:
            text = f"the token lacks the scope {min(any_of)}, for {purpose}"
            found.append(Remark(Level.NOTE, text, f"{_ADD}, if you want it"))
    return found


def _channel(channel: str, api: SlackApi, scopes: Scopes, bot: str) -> Remark:
    """Return whether the channel takes posts. Raises DeliveryError."""
    if channel[0] in "UWD" and channel.isupper():
        return Remark(Level.NOTE, f"{channel} is a person, not a channel: it cannot be looked up", _ASK_PEOPLE)
    if scopes is not None and not scopes & _LISTED.keys():
        return _unseen(channel)
    try:
        found, complete = _look_up(channel, api, scopes)
    except DeliveryError as error:
        if error.reason != "missing_scope":
            raise
        return _unseen(channel)
    if found is not None:
        return _state(found, channel, scopes, bot)
    if not complete:
        text = f"the channel {channel} is not among the first {PAGES * 999} of the workspace"
        return Remark(Level.NOTE, text, f"write the channel's ID, or {_ASK_PEOPLE}")
    return Remark(
        Level.FAILED,
        f"there is no channel {channel}, or the bot cannot see it",
        f"correct channel; a private one is seen once the bot is invited: /invite @{bot} in the channel",
    )


def _look_up(channel: str, api: SlackApi, scopes: Scopes) -> tuple[Found | None, bool]:
    """Return the channel, None if it was not found; and whether there is nowhere left to look. Raises DeliveryError."""
    by_id = channel[0] in "CG" and channel.isupper()
    listed, complete = ({"id": channel}, True) if by_id else _named(channel.removeprefix("#"), api, scopes)
    if listed is None:
        return None, complete
    try:
        found = api.read("conversations.info", {"channel": listed.get("id")}).get("channel")
    except DeliveryError as error:
        if error.reason != "channel_not_found":
            raise
        return None, True
    if not isinstance(found, dict):
        raise malformed(f"Slack channel {channel}")
    return found, True


def _unseen(channel: str) -> Remark:
    text = f"whether the channel {channel} is there and takes posts cannot be looked up"
    return Remark(
        Level.NOTE, text, f"add the scope channels:read (private channels: groups:read) to the app, or {_ASK_PEOPLE}"
    )


def _named(name: str, api: SlackApi, scopes: Scopes) -> tuple[Found | None, bool]:
    """Return the channel of this name, archived ones too; and whether Slack's list was read to its end."""
    kinds = [kind for scope, kind in _LISTED.items() if scopes is None or scope in scopes]
    params: dict[str, Any] = {"types": ",".join(kinds), "limit": 999}
    for _ in range(PAGES):
        answer = api.read("conversations.list", params)
        for channel in answer.get("channels") or []:
            if channel.get("name") == name:
                return channel, True
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return None, True
        params = {**params, "cursor": cursor}
    return None, False


def _state(found: Found, channel: str, scopes: Scopes, bot: str) -> Remark:
    name = f"#{found['name']}" if found.get("name") else channel
    if found.get("is_archived"):
        return Remark(Level.FAILED, f"the channel {name} is archived", "choose another one, or unarchive it")
    if found.get("is_member"):
        return Remark(Level.OK, f"the bot is in the channel {name} ({found.get('id')})")
    if scopes is not None and "chat:write.public" in scopes and not found.get("is_private"):
        return Remark(
            Level.OK, f"the bot may post to the public channel {name} ({found.get('id')}) without being in it"
        )
    return Remark(Level.FAILED, f"the bot is not in the channel {name}", f"invite the bot: /invite @{bot} in {name}")
