"""Matchers of routes: Prometheus's syntax, ``severity="critical"``, ``job_name=~"llm-.*"``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from watchdog.promql.parse import regex_problem
from watchdog.promql.storage import Matcher, MatchOp

_MATCHER = re.compile(
    r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*(?:"((?:\\.|[^"\\])*)"|([^"\s,{}]*))\s*', re.DOTALL
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def parse_matcher(text: str) -> Matcher:
    """Return the matcher that ``text`` writes. Raises ValueError, remedy included."""
    found = _MATCHER.fullmatch(text)
    if found is None:
        raise ValueError(f'{text!r} is not a matcher; write for example severity="critical" (operators: = != =~ !~)')
    name, op, quoted, bare = found.groups()
    value = bare if quoted is None else re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(0)), quoted)
    matcher = Matcher(name, MatchOp(op), value)
    if matcher.op in (MatchOp.REGEX, MatchOp.NOT_REGEX):
        problem = regex_problem(value)
        if problem:
            raise ValueError(f"the regular expression of {text!r} {problem}; use RE2's syntax")
    return matcher


def matches(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    """Whether all matchers hold; an absent label reads as an empty one, patterns are anchored at both ends."""
    return all(_holds(matcher, labels.get(matcher.name, "")) for matcher in matchers)


def _holds(matcher: Matcher, value: str) -> bool:
    if matcher.op is MatchOp.EQUAL:
        return value == matcher.value
    if matcher.op is MatchOp.NOT_EQUAL:
        return value != matcher.value
    hit = _compiled(matcher.value).fullmatch(value) is not None
    return hit if matcher.op is MatchOp.REGEX else not hit


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
