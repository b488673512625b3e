from typing import Any

import pytest
from pydantic import ValidationError

from watchdog.errors import UsageError
from watchdog.receivers.slack import SlackConfig
from watchdog.receivers.slack.incoming import SlackIncomingReceiver
from watchdog.receivers.slack.receiver import SlackReceiver


def test_a_token_wins_over_a_webhook(bench: Any) -> None:
    bench.secrets.values["SLACK_WEBHOOK_URL"] = bench.hook
    assert isinstance(bench.build("slack"), SlackReceiver)
    del bench.secrets.values["SLACK_BOT_TOKEN"]
    assert isinstance(bench.build("slack"), SlackIncomingReceiver)


def test_without_either_both_variables_are_named(bench: Any) -> None:
    bench.secrets.values.clear()
    with pytest.raises(UsageError, match=r'receiver "r": set OTHER .* or SLACK_WEBHOOK_URL'):
        bench.build("slack", bot_token={"env": "OTHER"})


def test_a_token_needs_a_channel_and_a_webhook_does_not(bench: Any) -> None:
    with pytest.raises(UsageError, match="add channel"):
        bench.build("slack", channel=None)
    bench.secrets.values = {"SLACK_WEBHOOK_URL": bench.hook}
    assert isinstance(bench.build("slack", channel=None), SlackIncomingReceiver)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("@here", "<!here>"),
        ("@channel", "<!channel>"),
        ("@everyone", "<!everyone>"),
        ("<!subteam^S012AB>", "<!subteam^S012AB>"),
        ("<@U012AB>", "<@U012AB>"),
        (None, None),
    ],
)
def test_mentions(given: str | None, kept: str | None) -> None:
    assert SlackConfig.model_validate({"name": "r", "type": "slack", "mention": given}).mention == kept


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mention", "@ada"),
        ("mention", "<@U1> <@U2>"),
        ("mention", 7),
        ("channel", ""),
        ("channel", "two words"),
        ("base_url", "slack.com"),
        ("timeout", 10),
        ("token", "xoxb-1"),
    ],
)
def test_mistakes_are_refused(key: str, value: object) -> None:
    with pytest.raises(ValidationError, match=key):
        SlackConfig.model_validate({"name": "r", "type": "slack", key: value})


def test_defaults() -> None:
    config = SlackConfig(name="r", type="slack")
    assert (config.bot_token.env, config.webhook_url.env) == ("SLACK_BOT_TOKEN", "SLACK_WEBHOOK_URL")
    assert (config.base_url, config.timeout, config.thread) == ("https://slack.com/api/", 10.0, True)
