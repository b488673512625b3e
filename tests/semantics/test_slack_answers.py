"""What Slack may answer (reference 6.7), and what becomes of the message: by real HTTP, through the outbox.

Every code of Slack's documentation is in tests/receivers/slack/test_errors.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from watchdog.receivers import RECEIVER_TYPES, Pacer, ReceiverContext
from watchdog.simulated.server import FakeServer, Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Rig = Any
    Make = Callable[..., Any]

LATER = 86_400.0


class Answers:
    """Slack's end: gives the answers in order, the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[Response] = []
        self.asked = 0

    def __call__(self, request: Request) -> Response:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def slack() -> Answers:
    return Answers()


@pytest.fixture
def rig(make_rig: Make, rule: Make, slack: Answers) -> Iterator[Rig]:
    """One word waits in the outbox for a Slack channel."""

    class Secrets:
        def find(self, name: str) -> str | None:
            return address if name == "SLACK_WEBHOOK_URL" else None

    made = make_rig(rule())
    server = FakeServer(slack)
    server.start()
    address = f"{server.url.rstrip('/')}/services/secret"
    kind = RECEIVER_TYPES["slack"]
    config = kind.config.model_validate({"name": "slack", "type": "slack"})
    pacer = Pacer(made.clock, lambda _: None)
    made.attach(kind.build(config, ReceiverContext(Secrets(), made.clock, lambda _: None, print, pacer)))
    made.has(g={0.0: 75.0})
    yield made
    server.stop()


def waiting(rig: Rig) -> int:
    return len(rig.store.due("slack", float("inf"), 9))


OK = Response(200, b"ok", "text/plain")


@pytest.mark.differs("nothing is dropped")
@pytest.mark.differs("ok: false by class")
@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (401, "", "stopped", "http_401"),
        (500, "", "retry", "http_500"),
        (307, "", "stopped", "http_307"),
        (200, "{bad", "retry", "http_200"),
        (200, '{"ok": false, "error": "channel_not_found"}', "stopped", "channel_not_found"),
        (200, '{"ok": false, "error": "internal_error"}', "retry", "internal_error"),
        (200, '{"ok": false, "error": "message_limit_exceeded"}', "retry", "message_limit_exceeded"),
        (200, "no_channel", "stopped", "no_channel"),
    ],
)
def test_a_refusal_keeps_the_message(  # the columns of the table
    rig: Rig, slack: Answers, capsys: Any, status: int, body: str, kind: str, reason: str
) -> None:
    """Where Alertmanager says permanent, it drops the message; here the receiver stops, and is asked again later."""
    slack.answers = [Response(status, body.encode(), "text/plain"), OK]
    rig.at(0.0)
    ((found,), (row,)) = rig.events, rig.store.due("slack", float("inf"), 9)
    assert (found.kind.value, found.reason, row.attempts) == (kind, reason, 1)
    rig.now = LATER
    rig.senders[0].step(rig.clock())
    assert (waiting(rig), slack.asked) == (0, 2)


@pytest.mark.differs("nothing is dropped")
@pytest.mark.differs("ok: false by class")
@pytest.mark.parametrize("again", [True, False], ids=["plain text is taken", "plain text is refused too"])
def test_what_slack_cannot_read_goes_as_plain_text(rig: Rig, slack: Answers, again: bool) -> None:
    """A fault of the content: once more as plain text, at once; then it is put aside, where a person finds it."""
    slack.answers = [Response(400, b"invalid_payload", "text/plain"), OK]
    if not again:
        del slack.answers[1]
    rig.at(0.0)
    assert [event.kind.value for event in rig.events] == ["retry", "sent" if again else "parked"]
    assert slack.asked == 2


@pytest.mark.differs("429 waits")
def test_429_waits(rig: Rig, slack: Answers) -> None:
    """Alertmanager gives up; here nothing is sent to this receiver before the time that Slack names."""
    slack.answers = [Response(429, b"", "text/plain", {"Retry-After": "30"}), OK]
    rig.at(0.0)
    asked = []
    for now in (29.0, 29.9, 30.0):
        rig.now = now
        rig.senders[0].step(rig.clock())
        asked.append(slack.asked)
    assert asked == [1, 1, 2]
    assert waiting(rig) == 0


@pytest.mark.parametrize("body", ["ok", '{"ok": true}', '{"success": true}'])
def test_success(rig: Rig, slack: Answers, body: str) -> None:
    slack.answers = [Response(200, body.encode(), "text/plain")]
    rig.at(0.0)
    assert [event.kind.value for event in rig.events] == ["sent"]
    assert waiting(rig) == 0
