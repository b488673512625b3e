"""The section of a Slack receiver in the rules file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from watchdog.config import Duration, EnvRef, ReceiverConfig

_GROUPS = {"@here": "<!here>", "@channel": "<!channel>", "@everyone": "<!everyone>"}


def _group(value: object) -> object:
    return _GROUPS.get(value, value) if isinstance(value, str) else value


class SlackConfig(ReceiverConfig):
    """A Slack channel: with a bot token, or through an incoming webhook if only that is set."""

    channel: Annotated[str, Field(min_length=1, max_length=80, pattern=r"^\S+$")] | None = None
    """``#name`` or the channel's ID; needed with a bot token, ignored by a webhook (it has its own)."""
    bot_token: EnvRef = EnvRef(env="SLACK_BOT_TOKEN")
    webhook_url: EnvRef = EnvRef(env="SLACK_WEBHOOK_URL")
    base_url: Annotated[str, Field(pattern=r"^https?://\S+$")] = "https://slack.com/api/"
    """GovSlack's, a proxy's or a test's address of the Web API."""
    mention: (
        Annotated[
            str,
            BeforeValidator(_group),
            Field(pattern=r"^(<!(here|channel|everyone)>|<@[UW][A-Z0-9]+>|<!subteam\^S[A-Z0-9]+>)$"),
        ]
        | None
    ) = None
    """Whom a critical ping calls: ``@here``, ``<@U…>`` or ``<!subteam^S…>``; nobody when not set."""
    thread: bool = True
    """History in the message's thread; false: only pings and the end are said, in the channel itself."""
    timeout: Duration = 10.0
    """Seconds that one call may take."""
