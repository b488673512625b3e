"""Alaya NeW's envelope: HTTP status against body status. Pure.

Success is HTTP 2xx and a JSON object and a body status of 200 or 0 (reference, section 3).
"""

from __future__ import annotations

from typing import Any

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.sources.base.numbers import number
from watchdog.sources.http import Answer, RefusedError, kind_of, refusal

_GOOD = (200, 0)
_CODES = {
    40401: "no credentials, or the login has expired",
    40001: "the header with the credentials is missing or malformed",
    40002: "the time of the signature is refused: is this machine's clock more than 5 minutes wrong?",
    40003: "the signature is wrong: check the secret key",
    40004: "the key is disabled",
    40005: "the key has expired",
    40006: "the access key is not known",
}
"""Business codes that mean: credentials."""
_CREDENTIALS = frozenset({*_CODES, 401, 403})
_PAGE = (
    'a web page or another form instead of JSON; set path_prefix of this source (such as "/api/osm"), or check base_url'
)


def data_or_raise(answer: Answer) -> Any:
    """Return the envelope's ``data``. Raises SourceError."""
    if not answer.success:
        raise _refused(answer)
    if answer.is_html or (answer.content_type and "json" not in answer.content_type):
        raise SourceError(SourceErrorKind.CONFIGURATION, f"{answer.endpoint}: {_PAGE}")
    envelope = answer.json()
    code = _code(envelope)
    if code is None:
        raise SourceError(SourceErrorKind.MALFORMED, f"{answer.endpoint}: an answer without a status")
    if code not in _GOOD:
        raise SourceError(_kind(code), _text(answer, envelope, code), retry_after=answer.retry_after())
    return envelope.get("data")


def _refused(answer: Answer) -> SourceError:
    envelope = answer.body()
    code = _code(envelope)
    if code not in _CODES:
        return refusal(answer, _words(envelope))
    text = f"HTTP {answer.status}, {_text(answer, envelope, code)}"
    return RefusedError(SourceErrorKind.CREDENTIALS, text, status=answer.status)


def _code(envelope: object) -> int | None:
    if not isinstance(envelope, dict):
        return None
    value = number(envelope.get("status", envelope.get("code")))
    return int(value) if isinstance(value, float) else None


def _kind(code: int) -> SourceErrorKind:
    """Return what a business code in a good HTTP answer means; only its first digits may be known."""
    if code in _CREDENTIALS:
        return SourceErrorKind.CREDENTIALS
    if 400 <= code < 600:
        return kind_of(code)
    return SourceErrorKind.CONFIGURATION if 40000 <= code < 50000 else SourceErrorKind.UNAVAILABLE


def _words(envelope: dict[str, Any]) -> object:
    return envelope.get("message") or envelope.get("msg")


def _text(answer: Answer, envelope: dict[str, Any], code: int) -> str:
    parts = (f"{answer.endpoint}: status {code}", _CODES.get(code, ""), answer.quote(_words(envelope)))
    return "; ".join(part for part in parts if part)
