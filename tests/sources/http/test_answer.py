import math
from typing import Any

import pytest

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.sources.http import Answer, RefusedError, json_or_raise, kind_of, refusal
from watchdog.waiting import seconds_to_wait

NOW = 1_772_442_000.0
"""2026-03-02 09:00 UTC."""


def answer(content: bytes = b"{}", status: int = 200, secrets: tuple[str, ...] = (), **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"content-type": "application/json", **named}, content, "search", NOW, secrets)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'{"a": 1e400}', {"a": math.inf}),
        (b'{"a": Infinity}', {"a": math.inf}),
        (b'{"a": 123456789012345678901234567890}', {"a": 1.2345678901234568e29}),
        ('{"a": "作业"}'.encode(), {"a": "作业"}),
        (b"null", None),
    ],
)
def test_json_is_read_with_what_the_strict_reader_refuses(content: bytes, value: Any) -> None:
    assert json_or_raise(answer(content)) == value


def test_a_nan_is_read_and_left_to_the_points() -> None:
    assert math.isnan(json_or_raise(answer(b'[NaN, {"a": 1}]'))[0])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "search: an empty answer"),
        (b"  \n", "search: an empty answer"),
        (b'{"a": [1, 2', "not JSON, or cut short"),
        (b"\xff\xfe\x00", "not JSON, or cut short"),
        (b"upstream error", "not JSON, or cut short"),
        (b"[" * 100_000, "not JSON, or cut short"),
    ],
)
def test_what_is_no_json_is_malformed(content: bytes, text: str) -> None:
    with pytest.raises(SourceError, match=text) as caught:
        json_or_raise(answer(content))
    assert caught.value.kind is SourceErrorKind.MALFORMED


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{}", "text/html; charset=utf-8"),
        (b"  <!doctype html>", "application/json"),
        (b"<x>", ""),
        (b"<x>", "text/xml"),
    ],
)
def test_a_page_in_place_of_json_is_a_proxy_s(content: bytes, kind: str) -> None:
    with pytest.raises(SourceError, match="a web page instead of JSON") as caught:
        json_or_raise(answer(content, content_type=kind))
    assert caught.value.kind is SourceErrorKind.UNAVAILABLE


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "application/problem+json", ""])
def test_json_of_another_content_type_is_taken(kind: str) -> None:
    assert json_or_raise(answer(b"[1]", content_type=kind)) == [1]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, SourceErrorKind.CONFIGURATION),
        (304, SourceErrorKind.CONFIGURATION),
        (400, SourceErrorKind.CONFIGURATION),
        (401, SourceErrorKind.CREDENTIALS),
        (403, SourceErrorKind.CREDENTIALS),
        (404, SourceErrorKind.NOT_FOUND),
        (405, SourceErrorKind.CONFIGURATION),
        (408, SourceErrorKind.UNAVAILABLE),
        (410, SourceErrorKind.NOT_FOUND),
        (422, SourceErrorKind.CONFIGURATION),
        (429, SourceErrorKind.RATE_LIMITED),
        (499, SourceErrorKind.CONFIGURATION),
        (500, SourceErrorKind.UNAVAILABLE),
        (502, SourceErrorKind.UNAVAILABLE),
        (503, SourceErrorKind.UNAVAILABLE),
        (504, SourceErrorKind.UNAVAILABLE),
        (529, SourceErrorKind.UNAVAILABLE),
    ],
)
def test_a_status_has_a_kind(status: int, kind: SourceErrorKind) -> None:
    assert kind_of(status) is kind
    with pytest.raises(RefusedError, match=f"search: HTTP {status}") as caught:
        json_or_raise(answer(status=status))
    assert (caught.value.kind, caught.value.status) == (kind, status)


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [
        (5, 5),
        (2.5, 2.5),
        ("7", 7),
        (" 7.5 ", 7.5),
        (0, 0),
        (3600, 3600),
        (3601, 3600),
        (1e300, 3600),
        (10**400, 3600),
        ("inf", 3600),
        (-(10**400), None),
        (-1, None),
        ("-1", None),
        ("nan", None),
        (math.nan, None),
        (True, None),
        (None, None),
        ("", None),
        ("soon", None),
        ([5], None),
        ("Mon, 02 Mar 2026 09:00:30 GMT", 30),
        ("Mon, 02 Mar 2026 09:00:30 -0000", 30),
        ("Mon, 02 Mar 2026 08:00:00 GMT", 0),
        ("Tue, 03 Mar 2026 09:00:00 GMT", 3600),
    ],
)
def test_how_long_to_wait_is_read_in_every_form(raw: object, seconds: float | None) -> None:
    assert seconds_to_wait(raw, NOW) == seconds


@pytest.mark.parametrize(
    ("content", "header", "seconds"),
    [
        (b'{"error": "slow down", "retry_after": 3}', "9", 3),
        (b'{"error": "slow down"}', "9", 9),
        (b'{"retry_after": "never"}', "9", 9),
        (b"<html>", "9", 9),
        (b"[1]", "9", 9),
        (b"", "", None),
    ],
)
def test_the_body_is_asked_first_how_long_to_wait_then_the_header(
    content: bytes, header: str, seconds: float | None
) -> None:
    with pytest.raises(SourceError) as caught:
        json_or_raise(answer(content, 429, retry_after=header))
    assert caught.value.retry_after == seconds


def test_an_error_quotes_the_provider_in_one_short_line() -> None:
    said = answer(b'{"message": "no\\nsuch\\u0007  ' + b"x" * 500 + b'"}', 400)
    with pytest.raises(SourceError) as caught:
        json_or_raise(said)
    text = str(caught.value)
    assert text.startswith("search: HTTP 400; no such")
    assert text.endswith("x…")
    assert len(text) == len("search: HTTP 400; ") + 200


@pytest.mark.parametrize(
    "content", [b'{"message": "bad key bt-secret-1 given"}', b'{"error": "bad key bt-secret-1 given"}']
)
def test_a_key_that_the_provider_echoes_is_not_quoted(content: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        json_or_raise(answer(content, 401, ("bt-secret-1",)))
    assert str(caught.value) == ("search: HTTP 401; the key is wrong, expired, or may not do this; bad key *** given")


def test_words_that_are_no_text_are_not_quoted() -> None:
    assert str(refusal(answer(status=500), {"a": 1})) == "search: HTTP 500"


def test_a_redirect_names_the_remedy_and_not_the_address() -> None:
    error = refusal(answer(status=302, location="https://evil.example/?token=1"))
    assert "set base_url" in str(error)
    assert "evil" not in str(error)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (rb'{"id": "\ud800"}', {"id": "\ufffd"}),
        (rb'{"\udfff": ["a\udc00b"]}', {"\ufffd": ["a\ufffdb"]}),
        (rb'["\ud83d\ude00", "\ud800"]', ["\U0001f600", "\ufffd"]),
        (b'["\xed\xa0\x80"]', None),
    ],
)
def test_half_a_surrogate_pair_is_replaced(content: bytes, value: Any) -> None:
    found = json_or_raise(answer(content))
    assert value is None or found == value
    assert repr(found).encode()
