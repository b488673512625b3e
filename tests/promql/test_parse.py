from __future__ import annotations

import pytest

from watchdog.errors import PromQLError
from watchdog.promql import parse, point
from watchdog.promql.parse import regex_problem


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("rate(a[5m])", "rate", "the function rate is not supported"),
        ("1 + max(irate(a[5m]))", "irate", "the function irate is not supported"),
        ('label_replace(a, "x", "y", "z", "w")', "label_replace", "not supported"),
        ("histogram_quantile(0.9, a)", "histogram_quantile", "not supported"),
        ('count_values("v", a)', "count_values", "the aggregation count_values is not supported"),
        ("stddev(a)", "stddev", "the aggregation stddev is not supported"),
        ("group(a)", "group", "not supported"),
        ("a @ 10", "@", "the @ modifier is not supported"),
        ("max_over_time(a[5m] @ end())", "@", "the @ modifier is not supported"),
        ("max_over_time(a[5m:1m])", "[5m:1m]", "subqueries are not supported"),
        ("sum(a) atan2 sum(b)", "atan2", "the operator atan2 is not supported"),
        ("foo(a)", "foo", "unknown function"),
        ("max_over_tme(a[5m])", "max_over_tme", "unknown function"),
        ("sum(a) by (job", "(", "unclosed left parenthesis"),
        ("avg_over_time(a)", "avg_over_time", "expected type matrix"),
        ("a and 1", "and", "set operator 'and'"),
        ('a{b=~"("}', '"("', "regex"),
        ('a{b=~"x(?=y)"}', '"x(?=y)"', "regex"),
        ("a and", "and", "invalid"),
        ("", "", "empty"),
        ("{}", "}", "non-empty matcher"),
        ("a > 1 group_left b", "b", ""),
    ],
)
def test_what_is_not_supported_is_refused_at_its_place(text: str, place: str, reason: str) -> None:
    with pytest.raises(PromQLError) as caught:
        parse(text)
    error = caught.value
    assert text[error.start : error.end].startswith(place) or place in text[error.start : error.end]
    assert reason in error.reason


def test_the_nearest_name_is_offered() -> None:
    with pytest.raises(PromQLError, match="did you mean max_over_time"):
        parse("max_over_tme(a[5m])")


def test_the_second_occurrence_is_found() -> None:
    text = 'a{x="rate"} + rate(b[5m])'
    with pytest.raises(PromQLError) as caught:
        parse(text)
    assert caught.value.start == text.rindex("rate")


@pytest.mark.parametrize(
    ("text", "metrics", "required", "window", "direction"),
    [
        ("max_over_time(a[10m]) < 0.05", {"a"}, {"a"}, 600.0, "below"),
        ("a > 1", {"a"}, {"a"}, 300.0, "above"),
        ("1 < a", {"a"}, {"a"}, 300.0, "above"),
        ("a >= b", {"a", "b"}, {"a", "b"}, 300.0, "above"),
        ("a == 1", {"a"}, {"a"}, 300.0, None),
        ("a < 1 unless on (x) b > 2", {"a", "b"}, {"a"}, 300.0, "below"),
        ("a < 1 or b > 2", {"a", "b"}, {"a"}, 300.0, "below"),
        ("a < 1 and b offset 1h", {"a", "b"}, {"a", "b"}, 3900.0, "below"),
        ("absent(a)", {"a"}, set(), 300.0, None),
        ('{__name__="a"}', {"a"}, {"a"}, 300.0, None),
        ('{__name__=~"a|b"}', set(), set(), 300.0, None),
        ("avg_over_time(a[5m] offset -10m)", {"a"}, {"a"}, 300.0, None),
        ("time()", set(), set(), 0, None),
    ],
)
def test_what_a_query_tells(
    text: str, metrics: set[str], required: set[str], window: float, direction: str | None
) -> None:
    query = parse(text)
    assert (set(query.metrics), set(query.required)) == (metrics, required)
    assert (query.window, query.direction) == (window, direction)


def test_places_of_selectors() -> None:
    text = 'sum by (a) (a{b="c"}) / (a - -job)'
    assert [(text[s.start : s.end], s.start) for s in parse(text).selectors] == [("a", 12), ("a", 25), ("job", 30)]


@pytest.mark.parametrize("pattern", ["x(?=y)", "x(?!y)", "(?<=x)y", "(?<!x)y", r"(a)\1", "a*+", "a++"])
def test_regular_expressions_are_re2s(pattern: str) -> None:
    assert "does not have" in regex_problem(pattern)


@pytest.mark.parametrize("pattern", ["a.*", "(?i)a", "(?:a|b)", r"\d+", "[*+]+", r"\++"])
def test_ordinary_regular_expressions_are_fine(pattern: str) -> None:
    assert regex_problem(pattern) == ""


def test_a_broken_regular_expression_is_explained() -> None:
    assert "is not valid" in regex_problem("(")


def test_point_draws_carets_below_the_place() -> None:
    assert point("a + rate(b)", 4, 8) == "a + rate(b)\n    ^^^^"
    assert point("a +\n  rate(b)\n< 1", 6, 10) == "  rate(b)\n  ^^^^"
    assert point("", 0, 0) == "\n^"
