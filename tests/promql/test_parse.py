from __future__ import annotations

import pytest

from watchdog.errors import PromQLError
from watchdog.promql import parse, point
from watchdog.promql.nodes import Edge, Selector, Subquery
from watchdog.promql.regex import compiled, regex_problem


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("histogram_quantile(0.9, a)", "histogram_quantile", "histograms are not supported"),
        ("1 + max(histogram_count(a))", "histogram_count", "histograms are not supported"),
        ("mad_over_time(a[5m])", "mad_over_time", "not stable in Prometheus"),
        ('sort_by_label(a, "x")', "sort_by_label", "not stable in Prometheus"),
        ("sum(limitk(2, a))", "limitk", "the aggregation limitk cannot be used"),
        ("a + fill(0) b", "+", "fill cannot be used"),
        ("a + b - on (x) fill_left(0) c", "-", "fill cannot be used"),
        ('a{b="c" or d="e"}', "a", '"or" between matchers'),
        ('label_replace(a, "x-y", "$1", "z", "w")', '"x-y"', '"x-y" is not a label name'),
        ("(" * 999 + "a" + ")" * 999, ")", "more than 1000 words and signs"),
        ("+".join("a" * 501), "a", "more than 1000 words and signs"),
        ("(" * 498 + "a" + ")" * 498, "(", "nested more than 100 deep"),
        ("abs(" * 100 + "a" + ")" * 100, "abs", "nested more than 100 deep"),
        ("+".join("a" * 101), "a", "nested more than 100 deep"),
        ('label_replace(a, "x", "$1", "z", "(")', '"("', "the regular expression is not valid"),
        ('label_join(a, "x", ",", "y", "0z")', '"0z"', '"0z" is not a label name'),
        ('count_values("a b", m)', '"a b"', '"a b" is not a label name'),
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
    text = 'a{x="mad_over_time"} + mad_over_time(b[5m])'
    with pytest.raises(PromQLError) as caught:
        parse(text)
    assert caught.value.start == text.rindex("mad_over_time")


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
        ("max_over_time(a[10m:1m])", {"a"}, {"a"}, 900.0, None),
        ("max_over_time(rate(a[2m])[10m:] offset 1m) > 1", {"a"}, {"a"}, 780.0, "above"),
        ("absent_over_time(a[10m])", {"a"}, set(), 600.0, None),
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


@pytest.mark.parametrize(
    ("text", "at", "offset"),
    [
        ("a @ 10", 10.0, 0.0),
        ("a @ -10.5 offset 2m", -10.5, 120.0),
        ("a offset -2m @ +0x10", 16.0, -120.0),
        ("a@1h", 3600.0, 0.0),
        ("a @ start()", Edge.START, 0.0),
        ("a @ END() offset 1s", Edge.END, 1.0),
        ("a", None, 0.0),
    ],
)
def test_where_a_selector_reads(text: str, at: float | Edge | None, offset: float) -> None:
    for written in (text, f"x + ({text})", f"max_over_time({text.replace('a', 'a[5m]', 1)})"):
        selector = parse(written).selectors[-1]
        assert (selector.at, selector.offset) == (at, offset)


def test_a_subquery_knows_its_place_and_what_it_reads() -> None:
    text = "max_over_time((1 < bool (a - b))[10m:90s] @ 7 offset 5m)"
    (subquery,) = parse(text).fixed
    assert isinstance(subquery, Subquery)
    assert text[subquery.start : subquery.end] == "[10m:90s]"
    assert (subquery.range, subquery.step, subquery.at, subquery.offset) == (600.0, 90.0, 7.0, 300.0)


def test_fixed_times_are_found() -> None:
    assert [text.metric for text in parse("a @ 5 + b - c @ end()").fixed if isinstance(text, Selector)] == ["a"]


@pytest.mark.parametrize("text", ["abs(" * 99 + "a" + ")" * 99, "+".join("a" * 100), "(" * 60 + "a" + ")" * 60])
def test_what_is_just_not_too_deep_is_fine(text: str) -> None:
    assert parse(text).metrics == {"a"}


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("[[:alpha:]]+", "abc", True),
        ("[[:alpha:]]+", "a]", False),
        ("[^[:digit:]x]", "7", False),
        ("a.b", "a\nb", True),
        (r"\d+", "٣", False),
        (r"\w+", "é", False),
    ],
)
def test_patterns_match_as_in_re2(pattern: str, text: str, fits: bool) -> None:
    assert regex_problem(pattern) == ""
    assert bool(compiled(pattern).fullmatch(text)) is fits


@pytest.mark.parametrize("pattern", [r"\pL+", r"a\z", r"\Qa.b\E", "[[:^alpha:]]", "[[:alfa:]]", "[a--b]", "[[a]"])
def test_what_python_would_read_otherwise_is_refused(pattern: str) -> None:
    assert regex_problem(pattern) != ""


@pytest.mark.parametrize(
    ("expr", "seconds"),
    [
        ("max_over_time(gpu_utilization[15m]) < 0.05", 900),
        ("(max_over_time(gpu_utilization[15m])) <= 0.05", 900),
        ("0.05 > max_over_time(gpu_utilization[15m])", 900),
        ("min_over_time(memory_utilization[5m]) > 0.95", 300),
        ("0.95 <= min_over_time(memory_utilization[5m])", 300),
        ("max by (job) (max_over_time(gpu_utilization[15m])) < 0.05", 900),
        ("min by (job) (min_over_time(gpu_utilization[15m]) > 0.5)", 900),
        ("max_over_time(gpu_utilization[10m]) < on (job) group_left () quantile by (job) (0.5, gpu_utilization)", 600),
        ("max_over_time((gpu_power_watts / 700)[10m:1m]) < 0.1", 600),
        ("max_over_time(gpu_utilization[15m]) < 0.05 and on (job) max by (job) (gpu_utilization) < 1", 900),
        ("max_over_time(gpu_utilization[15m]) < 0.05 unless cpu_utilization > 0.5", 900),
        ("gpu_utilization < 0.05 and max_over_time(gpu_utilization[15m]) < 0.05", 0),
        ("max_over_time(gpu_utilization[15m]) < 0.05 or gpu_utilization < 0.01", 0),
        ("max_over_time(gpu_utilization[15m]) > 0.95", 0),
        ("min_over_time(gpu_utilization[15m]) < 0.05", 0),
        ("max_over_time(gpu_utilization[15m]) == 0", 0),
        ("max_over_time(gpu_utilization[15m]) < bool 0.05", 0),
        ("max_over_time(gpu_utilization[15m] offset 15m) < 0.05", 0),
        ("max_over_time(gpu_utilization[15m] @ 1700000000) < 0.05", 0),
        ("avg by (job) (max_over_time(gpu_utilization[15m])) < 0.05", 0),
        ("sum(max_over_time(gpu_utilization[15m]) < 0.05)", 0),
        ("avg_over_time(gpu_utilization[15m]) < 0.05", 0),
        ("2 * max_over_time(gpu_utilization[15m]) < 0.05", 0),
        ("source_up == 0", 0),
        ("max_over_time(gpu_utilization[15m])", 0),
    ],
)
def test_what_a_comparison_proves_of_the_past(expr: str, seconds: float) -> None:
    assert parse(expr).proves == seconds


@pytest.mark.parametrize(
    ("expr", "predicts"),
    [
        ("predict_linear(cache_utilization[2h], 43200) > 1 and cache_utilization > 0.7", True),
        ("1 < max by (job) (predict_linear(cache_utilization[2h], 43200))", True),
        ("cache_utilization > 0.7 and predict_linear(cache_utilization[2h], 43200) > 1", False),
        ("cache_utilization > 0.7", False),
    ],
)
def test_a_forecast_is_told_from_a_reading(expr: str, predicts: bool) -> None:
    assert parse(expr).predicts is predicts
