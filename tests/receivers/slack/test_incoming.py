from collections.abc import Callable
from typing import Any

import pytest

from watchdog.errors import DeliveryError
from watchdog.model import Reason
from watchdog.simulated.server import Request, Response
from watchdog.simulated.slack import Fault


@pytest.fixture
def hooked(bench: Any) -> Any:
    """The bench with a webhook and no token."""
    bench.secrets.values = {"SLACK_WEBHOOK_URL": bench.hook}
    return bench


def test_the_first_delivery_posts_the_incident(hooked: Any, make: Any) -> None:
    assert hooked.build("slack").deliver(make.delivery()) == {"told": "1"}
    [message] = hooked.slack.workspace.messages
    assert message.text == "🟡 Warning: GPU 3 of train-7b has been idle for 20m"
    assert message.attachments[0]["color"] == "#f2b01e"


def test_later_ones_post_what_changed(hooked: Any, make: Any) -> None:
    receiver = hooked.build("slack")
    receipt = receiver.deliver(make.delivery())
    assert receiver.deliver(make.delivery(make.resolved(), receipt=receipt)) == {"told": "2"}
    assert receiver.deliver(make.delivery(make.resolved(), receipt={"told": "2"})) == {"told": "2"}
    texts = [message.text for message in hooked.slack.workspace.messages]
    assert len(texts) == 2
    assert "Resolved after 30m" in texts[1]
    receiver.close()


def test_changes_that_wait_for_the_first_delivery_follow_it(hooked: Any, make: Any) -> None:
    second = make.note(reason=Reason.REPEAT, sequence=2)
    delivery = make.delivery(make.note(), second)
    assert hooked.build("slack").deliver(delivery) == {"told": "2"}
    assert delivery.kept == [{"told": "1"}]
    assert "Still firing" in hooked.slack.workspace.messages[1].text
    assert hooked.clock.slept == [pytest.approx(1.1)]


def test_what_was_over_before_it_could_be_said_is_one_post(hooked: Any, make: Any) -> None:
    hooked.build("slack").deliver(make.delivery(make.note(), make.resolved()))
    [message] = hooked.slack.workspace.messages
    assert "over before this could be said" in message.text


def test_critical_pings_call_the_group(hooked: Any, make: Any) -> None:
    critical = make.view(make.alert(severity="critical"))
    receiver = hooked.build("slack", mention="@here")
    receipt = receiver.deliver(make.delivery(make.note(critical)))
    receiver.deliver(make.delivery(make.note(critical, Reason.REPEAT, 2), receipt=receipt))
    receiver.deliver(make.delivery(make.note(critical, Reason.KNOWN, 3), receipt=receipt))
    receiver.deliver(make.delivery())
    calls = ["<!here>" in message.text for message in hooked.slack.workspace.messages]
    assert calls == [True, True, False, False]


def answering(status: int, body: str) -> Callable[[Request], Response]:
    return lambda _: Response(status, body.encode(), "text/plain", {})


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (200, "", "transient", "http_200"),
        (200, "{bad", "transient", "http_200"),
        (200, "[1]", "transient", "http_200"),
        (200, '{"ok": false, "error": "channel_not_found"}', "permanent", "channel_not_found"),
        (200, "no_channel", "permanent", "no_channel"),
        (400, "invalid_payload", "content", "invalid_payload"),
        (400, "no_text", "content", "no_text"),
        (400, "invalid_token", "permanent", "invalid_token"),
        (403, "action_prohibited", "permanent", "action_prohibited"),
        (404, "no_service", "permanent", "no_service"),
        (404, "<html>", "permanent", "http_404"),
        (410, "channel_is_archived", "permanent", "channel_is_archived"),
        (500, "rollup_error", "transient", "rollup_error"),
        (401, "", "permanent", "http_401"),
        (307, "", "permanent", "http_307"),
    ],
)
def test_answers(  # the table of Slack's webhook answers
    bench: Any, make: Any, serve: Any, status: int, body: str, kind: str, reason: str
) -> None:
    bench.secrets.values = {"SLACK_WEBHOOK_URL": serve(answering(status, body)) + "/x"}
    with pytest.raises(DeliveryError) as caught:
        bench.build("slack").deliver(make.delivery())
    assert (caught.value.kind.value, caught.value.reason) == (kind, reason)
    assert str(caught.value).startswith('Slack webhook of receiver "r": ')


@pytest.mark.parametrize("body", ["ok", " ok\n", '{"ok": true}', '{"ok": true, "success": true}'])
def test_success(bench: Any, make: Any, serve: Any, body: str) -> None:
    bench.secrets.values = {"SLACK_WEBHOOK_URL": serve(answering(200, body)) + "/x"}
    assert bench.build("slack").deliver(make.delivery()) == {"told": "1"}


@pytest.mark.parametrize(
    ("url", "reason", "kind"),
    [
        ("hooks.example/secret", "invalid_url", "permanent"),
        ("ftp://hooks.example/secret", "invalid_url", "permanent"),
        ("http://hooks example/secret", "invalid_url", "permanent"),
        ("http://hooks.example/secret\nx", "invalid_url", "permanent"),
        ("http://hooks.example/secrét", "invalid_url", "permanent"),
        ("http://127.0.0.1:9/secret", "network", "transient"),
    ],
)
def test_an_address_is_never_repeated(bench: Any, make: Any, url: str, reason: str, kind: str) -> None:
    bench.secrets.values = {"SLACK_WEBHOOK_URL": url}
    with pytest.raises(DeliveryError) as caught:
        bench.build("slack").deliver(make.delivery())
    assert (caught.value.reason, caught.value.kind.value) == (reason, kind)
    assert "secret" not in str(caught.value)


def test_429_waits(hooked: Any, make: Any) -> None:
    hooked.slack.fail(Fault(status=429, retry_after=7))
    with pytest.raises(DeliveryError) as caught:
        hooked.build("slack").deliver(make.delivery())
    assert caught.value.retry_after == 7.0


def test_receivers_of_one_webhook_wait_together(hooked: Any, make: Any) -> None:
    one, two = hooked.build_together({}, {})
    hooked.slack.fail(Fault(status=429, retry_after=7))
    for receiver in (one, two):
        with pytest.raises(DeliveryError) as caught:
            receiver.deliver(make.delivery())
        assert (caught.value.reason, caught.value.retry_after) == ("ratelimited", 7.0)
    assert len(hooked.slack.calls) == 1
    hooked.clock.now += 7
    one.deliver(make.delivery())
    two.deliver(make.delivery())
    assert hooked.clock.slept == [pytest.approx(1.1)]


def test_nothing_can_be_looked_up_after_a_lost_answer(hooked: Any, make: Any) -> None:
    hooked.slack.fail(Fault(status=502, accept=True))
    with pytest.raises(DeliveryError) as caught:
        hooked.build("slack").deliver(make.delivery())
    assert (caught.value.ambiguous, caught.value.blind) == (True, True)
    hooked.slack.fail(Fault(status=503))
    with pytest.raises(DeliveryError) as caught:
        hooked.build("slack").deliver(make.delivery())
    assert (caught.value.ambiguous, caught.value.blind) == (False, False)
