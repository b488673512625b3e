"""Matchers of routes and thresholds: ``severity="critical"``, written and understood as in Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from watchdog.promql.regex import compiled, regex_problem
from watchdog.promql.storage import Matcher, MatchOp

_MATCHER = re.compile(r'\s*([A-Za-z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"\s*', re.ASCII | re.DOTALL)
_BARE = re.compile(r"\s*([A-Za-z_]\w*)\s*(=~|!~|!=|=)\s*(.*)", re.ASCII | re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def parse_matcher(text: str) -> Matcher:
    """Return the matcher that ``text`` is. Raises ValueError that says what to write instead."""
    found = _MATCHER.fullmatch(text)
    if found is None:
        raise ValueError(f"""'{text}' is not a matcher; write label="value" with = != =~ or !~ and double quotes""")
    name, op, quoted = found.groups()
    value = _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[0]), quoted)
    matcher = Matcher(name, MatchOp(op), value)
    if matcher.op in (MatchOp.REGEX, MatchOp.NOT_REGEX):
        reason = regex_problem(value)
        if reason:
            raise ValueError(f"the regular expression of '{text}' {reason}; correct it, or match with = instead")
    return matcher


def parse_bare_matcher(text: str) -> Matcher:
    """Return the matcher that ``text`` is, the quotes left out or not: as Alertmanager's clients write it.

    Raises ValueError.
    """
    bare = _BARE.fullmatch(text)
    if bare is None or bare[3].startswith('"'):
        return parse_matcher(text)
    return parse_matcher(written(Matcher(bare[1], MatchOp(bare[2]), bare[3].strip())))


def written(matcher: Matcher) -> str:
    """Return the text of a matcher: the inverse of ``parse_matcher``."""
    value = matcher.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{matcher.name}{matcher.op.value}"{value}"'


def matches(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    """Whether all matchers hold; a label that is not there reads as empty."""
    return all(_holds(matcher, labels.get(matcher.name, "")) for matcher in matchers)


def _holds(matcher: Matcher, value: str) -> bool:
    if matcher.op is MatchOp.EQUAL:
        return value == matcher.value
    if matcher.op is MatchOp.NOT_EQUAL:
        return value != matcher.value
    return (compiled(matcher.value).fullmatch(value) is not None) == (matcher.op is MatchOp.REGEX)
