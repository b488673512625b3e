import json
from typing import Any

import pytest

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.sources.alayanew.envelope import data_or_raise
from watchdog.sources.http import Answer

CREDENTIALS, CONFIGURATION = SourceErrorKind.CREDENTIALS, SourceErrorKind.CONFIGURATION
UNAVAILABLE, MALFORMED = SourceErrorKind.UNAVAILABLE, SourceErrorKind.MALFORMED


def answer(body: Any, status: int = 200, kind: str = "application/json;charset=UTF-8", **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    named = {"content-type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Answer(status, named, content, "metrics (gpu)", 0.0, ("an-secret-1",))


def error_of(given: Answer) -> SourceError:
    with pytest.raises(SourceError) as caught:
        data_or_raise(given)
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        {"status": 200, "message": "OK", "data": {"a": 1}},
        {"status": 0, "data": {"a": 1}},
        {"status": "200", "data": {"a": 1}},
        {"code": 0, "msg": "成功", "data": {"a": 1}},
        {"code": 200, "data": {"a": 1}},
    ],
)
def test_success_is_a_good_status_in_a_good_answer(body: Any) -> None:
    assert data_or_raise(answer(body)) == {"a": 1}
    assert data_or_raise(answer(body, status=201, kind="")) == {"a": 1}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, 40401, CREDENTIALS),
        (401, 40006, CREDENTIALS),
        (401, 40001, CREDENTIALS),
        (403, 40003, CREDENTIALS),
        (403, 40004, CREDENTIALS),
        (401, 40005, CREDENTIALS),
        (400, 40002, CREDENTIALS),
        (500, 40003, CREDENTIALS),
        (401, None, CREDENTIALS),
        (403, 403, CREDENTIALS),
        (404, 404, SourceErrorKind.NOT_FOUND),
        (400, 400, CONFIGURATION),
        (302, None, CONFIGURATION),
        (408, None, UNAVAILABLE),
        (429, 429, SourceErrorKind.RATE_LIMITED),
        (500, 500, UNAVAILABLE),
        (502, 200, UNAVAILABLE),
        (503, None, UNAVAILABLE),
        (200, 401, CREDENTIALS),
        (200, 403, CREDENTIALS),
        (200, 40001, CREDENTIALS),
        (200, 40401, CREDENTIALS),
        (200, 404, SourceErrorKind.NOT_FOUND),
        (200, 429, SourceErrorKind.RATE_LIMITED),
        (200, 500, UNAVAILABLE),
        (200, 400, CONFIGURATION),
        (200, 41234, CONFIGURATION),
        (200, 50001, UNAVAILABLE),
        (200, -1, UNAVAILABLE),
        (200, None, MALFORMED),
    ],
)
def test_http_status_and_body_status_make_a_kind(status: int, code: int | None, kind: SourceErrorKind) -> None:
    error = error_of(answer({"status": code, "message": "消息", "data": {}}, status))
    assert error.kind is kind
    assert str(error).startswith("metrics (gpu): ") or str(error).startswith(f"HTTP {status}, metrics (gpu): ")


@pytest.mark.parametrize("status", [200, 401])
def test_a_clock_that_is_wrong_is_named(status: int) -> None:
    error = error_of(answer({"status": 40002, "message": "timestamp expired"}, status))
    assert "is this machine's clock more than 5 minutes wrong?" in str(error)
    assert "timestamp expired" in str(error)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<!DOCTYPE html><html></html>", "text/html"),
        (b"\n <html>", "application/json"),
        (b'{"status": 200, "data": {}}', "text/plain"),
        (b"", "application/octet-stream"),
    ],
)
def test_a_page_in_place_of_json_names_the_option_that_helps(body: bytes, kind: str) -> None:
    error = error_of(answer(body, kind=kind))
    assert error.kind is CONFIGURATION
    assert "path_prefix" in str(error)
    assert "/api/osm" in str(error)


@pytest.mark.parametrize("body", [b"", b'{"status": 200, "da', b"[1]", b"null", b'"x"', b'{"data": {}}'])
def test_json_that_is_cut_or_no_envelope_is_malformed(body: bytes) -> None:
    assert error_of(answer(body)).kind is MALFORMED


def test_a_page_with_an_error_status_keeps_its_status() -> None:
    assert error_of(answer(b"<html>", 502, "text/html")).kind is UNAVAILABLE
    assert error_of(answer(b"<html>", 403, "text/html")).kind is CREDENTIALS


def test_retry_after_is_taken_from_a_header() -> None:
    assert error_of(answer({"status": 429}, 429, retry_after="7")).retry_after == 7
    assert error_of(answer({"status": 429}, 200, retry_after="7")).retry_after == 7


def test_words_of_the_provider_are_quoted_in_full_unicode_without_secrets() -> None:
    error = error_of(answer({"code": 40006, "msg": "密钥 an-secret-1 不存在"}, 401))
    assert str(error) == "HTTP 401, metrics (gpu): status 40006; the access key is not known; 密钥 *** 不存在"
