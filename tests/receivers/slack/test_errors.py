import socket
import ssl
from http.client import IncompleteRead, InvalidURL, RemoteDisconnected
from urllib.error import URLError

import pytest

from watchdog.errors import DeliveryErrorKind
from watchdog.receivers.slack.errors import KINDS, Answer, from_answer, from_exception, kind_of

NOW = 1_772_452_800.0
"""2026-03-02 12:00 UTC."""
CLASSES = {
    "permanent": """
        channel_not_found not_in_channel is_archived invalid_auth not_authed account_inactive token_revoked
        token_expired missing_scope no_permission not_allowed_token_type restricted_action
        restricted_action_read_only_channel ekm_access_denied messages_tab_disabled cannot_reply_to_message
        method_deprecated access_denied user_is_restricted invalid_token action_prohibited no_service no_team
        channel_is_archived no_active_hooks no_service_id team_disabled posting_to_general_channel_denied no_channel
    """,
    "content": """
        invalid_blocks invalid_blocks_format msg_blocks_too_long msg_too_long too_many_attachments
        attachment_payload_limit_exceeded no_text metadata_too_large invalid_metadata_format invalid_arg_name
        invalid_arguments invalid_attachments block_mismatch is_inactive invalid_payload user_not_found
    """,
    "transient": """
        ratelimited rate_limited service_unavailable internal_error fatal_error request_timeout update_failed
        external_channel_migrating team_added_to_org org_login_required rollup_error some_code_of_tomorrow
    """,
    "quota": "message_limit_exceeded",
}
"""The tables of Slack's documentation, written down a second time."""


@pytest.mark.parametrize(("kind", "code"), [(kind, code) for kind, codes in CLASSES.items() for code in codes.split()])
def test_every_code_falls_in_its_class(kind: str, code: str) -> None:
    assert kind_of(code).value == kind
    assert from_answer(Answer(200, code, {}, NOW), "Slack channel #a").kind.value == kind


def test_the_table_has_no_code_that_the_documentation_lacks() -> None:
    assert set(KINDS) <= {code for codes in CLASSES.values() for code in codes.split()}


@pytest.mark.parametrize(
    ("status", "code", "kind", "reason", "ambiguous"),
    [
        (429, "", "transient", "ratelimited", False),
        (500, "", "transient", "http_500", True),
        (502, "", "transient", "http_502", True),
        (503, "service_unavailable", "transient", "service_unavailable", False),
        (500, "fatal_error", "transient", "fatal_error", True),
        (500, "rollup_error", "transient", "rollup_error", True),
        (401, "", "permanent", "http_401", False),
        (403, "action_prohibited", "permanent", "action_prohibited", False),
        (307, "", "permanent", "http_307", False),
        (101, "", "permanent", "http_101", False),
        (400, "", "content", "http_400", False),
        (400, "invalid_token", "permanent", "invalid_token", False),
        (400, "some_word", "content", "http_400", False),
        (413, "", "content", "http_413", False),
        (408, "", "transient", "http_408", False),
        (410, "channel_is_archived", "permanent", "channel_is_archived", False),
        (200, "", "transient", "http_200", True),
        (200, "fatal_error", "transient", "fatal_error", True),
        (200, "internal_error", "transient", "internal_error", True),
        (200, "no_channel", "permanent", "no_channel", False),
    ],
)
def test_http_answers(status: int, code: str, kind: str, reason: str, ambiguous: bool) -> None:
    error = from_answer(Answer(status, code, {}, NOW), "Slack channel #a")
    assert (error.kind.value, error.reason, error.ambiguous) == (kind, reason, ambiguous)
    assert str(error).startswith(f"Slack channel #a: {reason}")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("Mon, 02 Mar 2026 12:00:40 GMT", 40.0),
        ("Mon, 02 Mar 2026 11:00:00 GMT", 0.0),
        ("3599", 3599.0),
        ("3600", 3600.0),
        ("3601", 3600.0),
        ("86400000", 3600.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 3600.0),
        ("", None),
        ("-1", None),
        ("²", None),
    ],
)
def test_retry_after_is_read_and_bounded(value: str, seconds: float | None) -> None:
    assert from_answer(Answer(429, "", {"retry-AFTER": value}, NOW), "x").retry_after == seconds


def test_a_503_may_say_when_to_come_back() -> None:
    assert from_answer(Answer(503, "", {"Retry-After": "5"}, NOW), "x").retry_after == 5.0


@pytest.mark.parametrize(
    ("error", "reason", "ambiguous"),
    [
        (URLError(ConnectionRefusedError()), "network", False),
        (URLError(socket.gaierror()), "network", False),
        (URLError(TimeoutError()), "timeout", False),
        (URLError(ssl.SSLError()), "network", False),
        (URLError(ConnectionResetError()), "network", True),
        (URLError("unknown"), "network", True),
        (TimeoutError(), "timeout", True),
        (RemoteDisconnected("gone"), "network", True),
        (ConnectionResetError(), "network", True),
        (IncompleteRead(b""), "network", True),
        (ValueError(), "network", True),
    ],
)
def test_what_failed_while_connecting_was_not_sent(error: Exception, reason: str, ambiguous: bool) -> None:
    found = from_exception(error, "Slack channel #a")
    assert (found.kind, found.reason, found.ambiguous) == (DeliveryErrorKind.TRANSIENT, reason, ambiguous)


def test_the_text_of_an_exception_is_not_repeated() -> None:
    assert "secret" not in str(from_exception(OSError("https://hooks.example/secret"), "x"))


def test_an_address_that_is_none_is_permanent() -> None:
    found = from_exception(InvalidURL("http://x y"), "x")
    assert (found.kind, found.reason) == (DeliveryErrorKind.PERMANENT, "invalid_url")


def test_common_mistakes_come_with_the_remedy() -> None:
    assert "invite the app" in str(from_answer(Answer(200, "not_in_channel", {}, NOW), "Slack channel #a"))


@pytest.mark.parametrize(
    ("status", "code", "unsure"),
    [
        (200, "some_code_of_tomorrow", True),
        (200, "message_not_found", False),
        (200, "channel_not_found", False),
        (200, "restricted_action_thread_locked", False),
        (200, "internal_error", False),
        (500, "some_code_of_tomorrow", False),
        (502, "", False),
    ],
)
def test_a_word_that_nobody_knows_is_unsure(status: int, code: str, unsure: bool) -> None:
    assert from_answer(Answer(status, code, {}, NOW), "x").unsure is unsure
