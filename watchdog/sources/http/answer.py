"""What an HTTP answer means: its JSON, or the error that it stands for. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.waiting import seconds_to_wait

_QUOTED = 200
"""Characters of a provider's own words that an error may hold."""


class RefusedError(SourceError):
    """An HTTP status other than 2xx."""

    def __init__(self, kind: SourceErrorKind, message: str, *, status: int, retry_after: float | None = None) -> None:
        super().__init__(kind, message, retry_after=retry_after)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    endpoint: str
    """What was called, for messages."""
    at: float
    """When it came (unix seconds)."""
    secrets: tuple[str, ...] = ()
    """What must not be quoted, should the provider echo it."""

    @property
    def success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def content_type(self) -> str:
        """The media type without parameters, lower case; empty when not stated."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_html(self) -> bool:
        """Whether this is a page for people: a proxy's, a console's."""
        return "html" in self.content_type or self.content.lstrip()[:1] == b"<"

    def json(self) -> Any:
        """Return the decoded body, NaN and Infinity allowed. Raises SourceError (malformed)."""
        try:
            return orjson.loads(self.content)
        except orjson.JSONDecodeError:
            pass  # perhaps only NaN or Infinity, which the standard library takes
        try:
            return _encodable(json.loads(self.content))
        except (ValueError, RecursionError):
            what = "an empty answer" if not self.content.strip() else "an answer that is not JSON, or cut short"
            raise SourceError(SourceErrorKind.MALFORMED, f"{self.endpoint}: {what}") from None

    def quote(self, text: object) -> str:
        """Return a provider's own words, short, in one line, without any secret."""
        said = " ".join(text.split()) if isinstance(text, str) else ""
        for secret in self.secrets:
            said = said.replace(secret, "***")
        said = "".join(letter for letter in said if letter.isprintable())
        return said if len(said) <= _QUOTED else said[: _QUOTED - 1] + "…"

    def body(self) -> dict[str, Any]:
        """Return the body if it is a JSON object, else an empty one; for errors."""
        try:
            found = self.json()
        except SourceError:
            return {}
        return found if isinstance(found, dict) else {}

    def retry_after(self) -> float | None:
        """Return the seconds to wait that the body (``retry_after``) or the header asks for, capped at an hour."""
        found = seconds_to_wait(self.body().get("retry_after"), self.at)
        return seconds_to_wait(self.headers.get("retry-after"), self.at) if found is None else found


def _encodable(value: Any) -> Any:
    """Return decoded JSON whose texts can be written: half a surrogate pair becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value


def kind_of(status: int) -> SourceErrorKind:
    """Return what an HTTP status other than 2xx means."""
    if status in (401, 403):
        return SourceErrorKind.CREDENTIALS
    if status in (404, 410):
        return SourceErrorKind.NOT_FOUND
    if status == 429:
        return SourceErrorKind.RATE_LIMITED
    if status >= 500 or status in (408, 425):
        return SourceErrorKind.UNAVAILABLE
    return SourceErrorKind.CONFIGURATION


_REMEDY = {
    SourceErrorKind.CREDENTIALS: "the key is wrong, expired, or may not do this",
    SourceErrorKind.RATE_LIMITED: "too many requests",
}


def refusal(answer: Answer, said: object = None) -> RefusedError:
    """Return the error of an answer that is not 2xx; ``said`` are the provider's own words."""
    kind = kind_of(answer.status)
    if 300 <= answer.status < 400:
        remedy = "it redirects elsewhere, which is not followed with a key; set base_url to the final address"
    else:
        remedy = _REMEDY.get(kind, "")
    parts = [f"{answer.endpoint}: HTTP {answer.status}", remedy, answer.quote(said)]
    text = "; ".join(part for part in parts if part)
    return RefusedError(kind, text, status=answer.status, retry_after=answer.retry_after())


def json_or_raise(answer: Answer) -> Any:
    """Return the JSON of a 2xx answer. Raises SourceError for any other, and for a page (as for a 5xx)."""
    if not answer.success:
        body = answer.body()
        raise refusal(answer, body.get("message") or body.get("error"))
    if answer.is_html:
        text = f"{answer.endpoint}: a web page instead of JSON (a proxy, or a wrong base_url)"
        raise SourceError(SourceErrorKind.UNAVAILABLE, text)
    return answer.json()
