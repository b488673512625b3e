"""Matchers of routes and thresholds."""

from __future__ import annotations

import pytest

from watchdog.promql.storage import Matcher, MatchOp
from watchdog.rules.matchers import matches, parse_bare_matcher, parse_matcher, written


@pytest.mark.parametrize(
    ("text", "matcher"),
    [
        ('severity="critical"', Matcher("severity", MatchOp.EQUAL, "critical")),
        (' severity != "info" ', Matcher("severity", MatchOp.NOT_EQUAL, "info")),
        ('job_name=~"llm-.*"', Matcher("job_name", MatchOp.REGEX, "llm-.*")),
        (r'gpu_type!~"H\d+"', Matcher("gpu_type", MatchOp.NOT_REGEX, r"H\d+")),
        (r'a="x\"y\\z\n"', Matcher("a", MatchOp.EQUAL, 'x"y\\z\n')),
        ('a=""', Matcher("a", MatchOp.EQUAL, "")),
    ],
)
def test_a_matcher_is_read(text: str, matcher: Matcher) -> None:
    assert parse_matcher(text) == matcher
    assert parse_matcher(written(matcher)) == matcher


@pytest.mark.parametrize("text", ["", "severity", "severity=critical", "9a='x'", 'a=="x"', 'a="x', '{a="x"}', 'a="x",'])
def test_what_is_no_matcher_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ValueError, match=r'is not a matcher; write label="value"'):
        parse_matcher(text)


@pytest.mark.parametrize("text", ['a=~"("', 'a!~"(?=x)"'])
def test_a_bad_regular_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"the regular expression of 'a.*; correct it"):
        parse_matcher(text)


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ('a="x"', "x", True),
        ('a="x"', "xy", False),
        ('a!="x"', "y", True),
        ('a!="x"', "x", False),
        ('a=~"x.*"', "xy", True),
        ('a=~"x"', "xy", False),
        ('a=~"x.y"', "x\ny", True),
        ('a!~"x|y"', "y", False),
        ('a!~"x|y"', "yy", True),
        ('a=""', None, True),
        ('a!=""', None, False),
        ('a=~".*"', None, True),
        ('a=~".+"', None, False),
    ],
)
def test_matching(text: str, value: str | None, holds: bool) -> None:
    assert matches([parse_matcher(text)], {} if value is None else {"a": value}) is holds


def test_all_matchers_must_hold() -> None:
    both = [parse_matcher('a="1"'), parse_matcher('b="2"')]
    assert matches(both, {"a": "1", "b": "2"})
    assert not matches(both, {"a": "1", "b": "3"})
    assert matches([], {"a": "1"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("severity=critical", 'severity="critical"'),
        ('severity="critical"', 'severity="critical"'),
        ("job=~a.*b", 'job=~"a.*b"'),
        ('a!=say "hi"', 'a!="say \\"hi\\""'),
        ("a=", 'a=""'),
        (" a !~ b c ", 'a!~"b c"'),
    ],
)
def test_quotes_may_be_left_out_where_clients_do(text: str, expected: str) -> None:
    assert written(parse_bare_matcher(text)) == expected


@pytest.mark.parametrize("text", ["", "severity", "=x", "a-b=c", "a=~(", 'a="b'])
def test_what_is_no_matcher_without_quotes_either(text: str) -> None:
    with pytest.raises(ValueError, match=r"matcher|regular expression"):
        parse_bare_matcher(text)
