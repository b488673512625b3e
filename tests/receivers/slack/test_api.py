from collections.abc import Callable
from typing import Any

import pytest

from watchdog.errors import DeliveryError
from watchdog.receivers import Pacer, ReceiverContext
from watchdog.receivers.slack.api import SlackApi, code_of
from watchdog.simulated.server import Request, Response


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("not_in_channel", "not_in_channel"),
        ("Received a response in a non-JSON format: <html>", ""),
        ("<!channel>", ""),
        ("", ""),
        (None, ""),
        (7, ""),
        ("x" * 62, ""),
    ],
)
def test_only_a_code_is_a_code(word: object, code: str) -> None:
    assert code_of(word) == code


def context(clock: Any) -> ReceiverContext:
    return ReceiverContext(None, clock, clock.sleep, print, Pacer(clock, clock.sleep))  # type: ignore[arg-type]


@pytest.mark.parametrize(("body", "reason"), [(b'["a"]', "network"), (b'"ok"', "network"), (b"[]", "http_200"),
                                              (b"\xff", "network"), (b"", "http_200")])  # fmt: skip
def test_an_answer_that_is_no_object_is_an_error(
    clock: Any, serve: Callable[[Any], str], body: bytes, reason: str
) -> None:
    def handle(_: Request) -> Response:
        return Response(200, body, "application/json", {})

    api = SlackApi(token=lambda: "t", base_url=serve(handle), timeout=2.0, where="Slack", context=context(clock))
    with pytest.raises(DeliveryError) as caught:
        api.write("chat.postMessage", {"text": "x"})
    assert caught.value.reason == reason
    assert caught.value.kind.value == "transient"


def test_nobody_listening_is_not_ambiguous(clock: Any) -> None:
    api = SlackApi(
        token=lambda: "t", base_url="http://127.0.0.1:9/", timeout=2.0, where="Slack", context=context(clock)
    )
    with pytest.raises(DeliveryError, match=r"Slack: network \(ConnectionRefusedError\)") as caught:
        api.read("auth.test", {})
    assert not caught.value.ambiguous
