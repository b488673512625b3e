"""What a client asks for: parameters of the address and of a form that was posted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from starlette.requests import Request

from watchdog.errors import PromQLError, WatchdogError
from watchdog.promql import Query, parse
from watchdog.promql.nodes import Selector
from watchdog.promql.prometheus_json import parse_step, parse_time
from watchdog.promql.storage import Matcher

LARGEST_FORM = 1 << 20
"""Bytes of a posted form."""
MOST_SECONDS = 30.0
"""How long a client may wait for an answer; its ``timeout`` can only shorten it."""


class ParameterError(WatchdogError):
    """A parameter is missing or wrong; the text is as Prometheus's clients know it."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f'invalid parameter "{name}": {reason}')


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters of one request. Methods raise ParameterError."""

    pairs: Sequence[tuple[str, str]]
    path: Mapping[str, str] = field(default_factory=dict)
    """Parts of the address that are parameters."""

    def text(self, name: str) -> str:
        """Return the first value; empty where there is none."""
        return next((value for key, value in self.pairs if key == name), "")

    def all(self, name: str) -> list[str]:
        """Return every value of a repeated parameter."""
        return [value for key, value in self.pairs if key == name]

    def time(self, name: str, default: float | None = None) -> float:
        """Return unix seconds; the default where there is no value, which is needed if that is None."""
        text = self.text(name)
        if not text and default is not None:
            return default
        try:
            return parse_time(text)
        except ValueError as error:
            raise ParameterError(name, str(error)) from None

    def duration(self, name: str, default: float | None = None) -> float:
        """Return seconds above 0; the default where there is no value, which is needed if that is None."""
        text = self.text(name)
        if not text and default is not None:
            return default
        try:
            seconds = parse_step(text)
        except ValueError as error:
            raise ParameterError(name, str(error)) from None
        if not seconds > 0:
            raise ParameterError(name, f'"{text}" is not above 0')
        return seconds

    def span(self) -> tuple[float, float]:
        """Return ``start`` and ``end``, endless where they are not given."""
        start, end = self.time("start", -math.inf), self.time("end", math.inf)
        if end < start:
            raise ParameterError("end", "end timestamp must not be before start time")
        return start, end

    def limit(self) -> int | None:
        """Return how many entries are wanted at most; None for all (also written 0)."""
        text = self.text("limit") or "0"
        if not text.isascii() or not text.isdigit():
            raise ParameterError("limit", f'"{text}" is not a whole number')
        return int(text) or None

    def timeout(self) -> float:
        """Return how many seconds the client waits."""
        return min(MOST_SECONDS, self.duration("timeout", MOST_SECONDS))

    def query(self) -> Query:
        """Return the expression."""
        return _parsed("query", self.text("query"))

    def selectors(self) -> list[tuple[Matcher, ...]]:
        """Return the matchers of each ``match[]``."""
        return [_matchers(text) for text in self.all("match[]")]


async def form_of(request: Request) -> Form:
    """Read address and body; what is posted comes first. Raises ParameterError for a body that is too large."""
    posted: list[tuple[str, str]] = []
    if request.headers.get("content-type", "").partition(";")[0].strip() == "application/x-www-form-urlencoded":
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_FORM:
                raise ParameterError("body", f"the form has more than {LARGEST_FORM} bytes")
        posted = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    return Form([*posted, *request.query_params.multi_items()], request.path_params)


def _parsed(name: str, text: str) -> Query:
    try:
        return parse(text)
    except PromQLError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        raise ParameterError(name, f"{line}:{column}: parse error: {error}") from None


def _matchers(text: str) -> tuple[Matcher, ...]:
    root = _parsed("match[]", text).root
    if not isinstance(root, Selector) or root.range is not None or root.offset or root.at is not None:
        raise ParameterError("match[]", f'"{text}" is not a selector of series, such as up{{job="a"}}')
    return root.matchers
