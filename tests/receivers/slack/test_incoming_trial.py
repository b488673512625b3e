"""What a try of an incoming webhook says; nothing is ever posted by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from watchdog.ports import Triable
from watchdog.receivers.slack import incoming_trial
from watchdog.simulated.server import Response
from watchdog.simulated.slack import Fault

HERE = (
    "note: the address in SLACK_WEBHOOK_URL does not begin with https://hooks.slack.com/; copy it again, unless it is "
    "a proxy's"
)
THERE = "ok: the webhook is there: it refuses an empty message (no_text), as it should"
WHERE = 'FAILED: Slack webhook of receiver "r": '


@pytest.fixture
def tried(bench: Any) -> Callable[..., list[str]]:
    """Try the webhook at an address; nothing may be posted, and no text may hold the address's secret part."""

    def go(url: str, **options: Any) -> list[str]:
        bench.secrets.values = {"SLACK_WEBHOOK_URL": url}
        receiver = bench.build("slack", **options)
        assert isinstance(receiver, Triable)
        remarks = receiver.try_out()
        found = ["; ".join(part for part in (f"{item.level}: {item.text}", item.remedy) if part) for item in remarks]
        assert bench.slack.workspace.messages == []
        assert not any("simulated" in text or "B0SIM" in text for text in found)
        return found

    return go


def test_a_webhook_that_is_there(tried: Any, bench: Any) -> None:
    assert tried(bench.hook) == [THERE, HERE]


@pytest.mark.parametrize(
    ("url", "notes"),
    [
        ("https://hooks.slack.com/services/T0/B0/abc", 0),
        ("https://hooks.slack-gov.com/services/T0/B0/abc", 0),
        ("http://hooks.slack.com/services/T0/B0/abc", 1),
        ("https://hooks.slack.com.evil.example/services/T0/B0/abc", 1),
    ],
)
def test_whether_the_address_is_slacks(url: str, notes: int) -> None:
    sent: list[Any] = []
    found = incoming_trial.try_out(url, "HOOK", sent.append)
    assert (len(found) - 1, sent) == (notes, [{}])


@pytest.mark.parametrize("path", ["/hooks/abc", "/triggers/T0/1/abc", "/services/T0/B0/", "", "/services/T0/B0/a/b"])
def test_another_service_is_not_sent_an_empty_message(tried: Any, bench: Any, path: str) -> None:
    assert tried(bench.url + path) == [
        (
            "note: the address in SLACK_WEBHOOK_URL has not the form of Slack's "
            "(https://hooks.slack.com/services/T…/B…/…): "
            "it cannot be tried without posting; copy it again, or use send-test if it belongs to another service"
        )
    ]
    assert bench.slack.calls == []


def test_an_address_that_cannot_be_read_is_not_tried(tried: Any) -> None:
    assert tried("https://[half")[0].startswith("note: the address in SLACK_WEBHOOK_URL has not the form")


def test_no_address_at_all(tried: Any) -> None:
    assert tried("hooks.slack.com/services/T0/B0/x") == [
        f"{WHERE}invalid_url; the address is not one: copy it again from the app's settings"
    ]


def test_a_webhook_that_was_removed(tried: Any, bench: Any) -> None:
    assert tried(bench.url + "/services/T0SIM/B0OTHER/x")[0] == (
        f"{WHERE}no_service; the webhook is no longer valid: make a new one"
    )


def test_a_channel_that_was_archived(tried: Any, bench: Any) -> None:
    bench.slack.workspace.channels["C0GPUALERTS"].archived = True
    assert (
        tried(bench.hook)[0] == f"{WHERE}channel_is_archived; the channel is archived: make a webhook for another one"
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(status=429, retry_after=7), "ratelimited; wait 7 s and try again"),
        (Fault(status=500), "http_500; try again later"),
        (Fault(status=200), "http_200; what answers is not Slack: check SLACK_WEBHOOK_URL"),
        (Fault(status=403), "http_403"),
        (Fault(status=400), "http_400"),
    ],
)
def test_an_answer_that_is_none(tried: Any, bench: Any, fault: Fault, said: str) -> None:
    bench.slack.fail(fault)
    assert tried(bench.hook)[0] == WHERE + said


def test_what_takes_an_empty_message_is_not_slack(bench: Any, serve: Any) -> None:
    url = serve(lambda _: Response(200, b"ok", "text/plain")) + "/services/T0/B0/x"
    bench.secrets.values = {"SLACK_WEBHOOK_URL": url}
    [first, _] = bench.build("slack").try_out()
    assert (first.level, first.text) == ("note", "the webhook takes an empty message, as Slack's does not")


def test_nobody_at_the_address(tried: Any) -> None:
    assert tried("http://127.0.0.1:1/services/T0/B0/x")[0] == (
        f"{WHERE}network (ConnectionRefusedError); check the network, HTTPS_PROXY and SLACK_WEBHOOK_URL"
    )


def test_an_address_that_went_away(bench: Any) -> None:
    bench.secrets.values = {"SLACK_WEBHOOK_URL": bench.hook}
    receiver = bench.build("slack")
    bench.secrets.values.clear()
    [remark] = receiver.try_out()
    assert remark.text == 'receiver "r": SLACK_WEBHOOK_URL is not set; set it, or SLACK_WEBHOOK_URL_FILE'
