"""Slack: with a bot token (edits and threads), else through an incoming webhook (posts only)."""

from __future__ import annotations

from watchdog.errors import UsageError
from watchdog.ports import Receiver
from watchdog.receivers.base import ReceiverContext
from watchdog.receivers.slack.config import SlackConfig
from watchdog.receivers.slack.incoming import SlackIncomingReceiver
from watchdog.receivers.slack.receiver import SlackReceiver

__all__ = ["SlackConfig", "build"]


def build(config: SlackConfig, context: ReceiverContext) -> Receiver:
    """Return the receiver that the secrets at hand allow; a bot token wins. Raises UsageError without any."""
    token, webhook = config.bot_token.env, config.webhook_url.env
    if context.secrets.find(token):
        if config.channel is None:
            raise UsageError(f'receiver "{config.name}": {token} is set, so a channel is needed; add channel = "#…"')
        return SlackReceiver(config, config.channel, context)
    if context.secrets.find(webhook):
        return SlackIncomingReceiver(config, context)
    raise UsageError(f'receiver "{config.name}": set {token} (edits, threads) or {webhook} (plain posts only)')
