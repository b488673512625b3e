"""Values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from watchdog.errors import EvaluationError
from watchdog.promql import Options, Scalar, Vector, evaluate, parse

Run = Callable[..., Any]
RISE = {"m{a=x}": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}
TWO = {"m{a=x}": [1.0, 2.0], "m{a=y}": [3.0, 5.0]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("avg_over_time(m[3m])", 4.0),
        ("sum_over_time(m[3m])", 12.0),
        ("min_over_time(m[3m])", 3.0),
        ("max_over_time(m[3m])", 5.0),
        ("count_over_time(m[3m])", 3.0),
        ("present_over_time(m[3m])", 1.0),
        ("stddev_over_time(m[3m])", (2 / 3) ** 0.5),
        ("quantile_over_time(0.5, m[3m])", 4.0),
        ("quantile_over_time(0.25, m[3m])", 3.5),
        ("quantile_over_time(-1, m[3m])", -np.inf),
        ("quantile_over_time(2, m[3m])", np.inf),
        ("deriv(m[3m])", 1 / 60),
        ("predict_linear(m[3m], 600)", 15.0),
        ("delta(m[3m])", 3.0),
        ("max_over_time(m[3m] offset 2m)", 3.0),
        ("abs(-m)", 5.0),
        ("clamp(m, 1, 3)", 3.0),
        ("clamp_min(m, 7)", 7.0),
        ("clamp_max(m, 2)", 2.0),
        ("m * 2 + 1", 11.0),
        ("m ^ 2 % 7", 4.0),
        ("-m", -5.0),
        ("m > bool 4", 1.0),
        ("m < bool 4", 0.0),
        ("m / 0", np.inf),
    ],
)
def test_values(run: Run, rows: Run, text: str, expected: float) -> None:
    assert rows(run(text, RISE, 300.0)) == {"{a=x}": pytest.approx(expected)}


def test_last_over_time_and_filters_keep_the_name(run: Run, rows: Run) -> None:
    assert rows(run("last_over_time(m[3m])", RISE, 300.0)) == {"m{a=x}": 5.0}
    assert rows(run("m > 4", RISE, 300.0)) == {"m{a=x}": 5.0}
    assert rows(run("4 < m", RISE, 300.0)) == {"m{a=x}": 5.0}
    assert rows(run("m > 5", RISE, 300.0)) == {}


@pytest.mark.parametrize(("at", "found"), [(299.9, 1), (300.0, 0), (300.1, 0)])
def test_a_sample_is_gone_after_the_look_back(run: Run, rows: Run, at: float, found: int) -> None:
    assert len(rows(run("m", {"m{}": [1.0]}, at))) == found


def test_windows_are_left_open_unless_asked_otherwise(run: Run, rows: Run) -> None:
    assert rows(run("count_over_time(m[3m])", RISE, 300.0)) == {"{a=x}": 3.0}
    assert rows(run("count_over_time(m[3m])", RISE, 300.0, version=2)) == {"{a=x}": 4.0}
    assert rows(run("m", {"m{}": [1.0]}, 300.0, version=2)) == {"m{}": 1.0}


@pytest.mark.parametrize(("present", "covered"), [(7, False), (8, True), (9, True)])
def test_coverage(run: Run, rows: Run, present: int, covered: bool) -> None:
    values = [None] * (10 - present) + [0.5] * present
    result = run("max_over_time(m[10m])", {"m{a=x}": values}, 540.0, min_coverage=0.8)
    assert bool(rows(result)) is covered
    uncovered = result.uncovered.rows() if result.uncovered is not None else []
    assert uncovered == ([] if covered else [{"a": "x"}])


def test_an_empty_window_is_absent_not_uncovered(run: Run, rows: Run) -> None:
    result = run("max_over_time(m[2m])", RISE, 3000.0, min_coverage=0.8)
    assert (rows(result), result.uncovered) == ({}, None)


def test_counting_is_not_subject_to_coverage(run: Run, rows: Run) -> None:
    assert rows(run("count_over_time(m[10m])", RISE, 300.0, min_coverage=0.8)) == {"{a=x}": 6.0}


def test_holes_are_left_out_not_read_as_zero(run: Run, rows: Run) -> None:
    gaps = {"m{a=x}": [4.0, None, None, 8.0], "m{a=y}": [1.0, 2.0, 3.0, 4.0]}
    assert rows(run("avg_over_time(m[10m])", gaps, 180.0)) == {"{a=x}": 6.0, "{a=y}": 2.5}
    assert rows(run("min_over_time(m[10m])", gaps, 180.0)) == {"{a=x}": 4.0, "{a=y}": 1.0}
    assert rows(run("stddev_over_time(m[10m])", gaps, 180.0))["{a=x}"] == 2.0
    assert rows(run("quantile_over_time(0.5, m[10m])", gaps, 180.0)) == {"{a=x}": 6.0, "{a=y}": 2.5}
    assert rows(run("deriv(m[10m])", gaps, 180.0))["{a=x}"] == pytest.approx(4 / 180)


def test_functions_that_need_two_samples(run: Run, rows: Run) -> None:
    for name in ("delta(m[1m])", "deriv(m[1m])", "predict_linear(m[1m], 60)"):
        assert rows(run(name, RISE, 300.0)) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(m)", {"{}": 7.0}),
        ("avg(m)", {"{}": 3.5}),
        ("min by (a) (m)", {"{a=x}": 2.0, "{a=y}": 5.0}),
        ("max without (a) (m)", {"{}": 5.0}),
        ("count(m)", {"{}": 2.0}),
        ("quantile(0.5, m)", {"{}": 3.5}),
        ("topk(1, m)", {"m{a=y}": 5.0}),
        ("bottomk(1, m)", {"m{a=x}": 2.0}),
        ("topk(0, m)", {}),
        ("sum(m) by (b)", {"{}": 7.0}),
        ("sum(nothing)", {}),
    ],
)
def test_aggregations(run: Run, rows: Run, text: str, expected: dict[str, float]) -> None:
    assert rows(run(text, TWO, 60.0)) == expected


def test_nan_is_no_extreme(run: Run, rows: Run) -> None:
    odd = {"m{a=x}": [np.nan], "m{a=y}": [1.0]}
    assert rows(run("max(m)", odd, 0.0)) == {"{}": 1.0}
    assert rows(run("topk(1, m)", odd, 0.0)) == {"m{a=y}": 1.0}
    assert rows(run("m > 0", odd, 0.0)) == {"m{a=y}": 1.0}


MATCH = {
    "use{job=1,gpu=0}": [2.0],
    "use{job=1,gpu=1}": [4.0],
    "use{job=2,gpu=0}": [6.0],
    "lim{job=1,owner=o}": [8.0],
    "lim{job=3,owner=p}": [9.0],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use / on (job) group_left lim", {"{gpu=0,job=1}": 0.25, "{gpu=1,job=1}": 0.5}),
        ("use / on (job) group_left (owner) lim", {"{gpu=0,job=1,owner=o}": 0.25, "{gpu=1,job=1,owner=o}": 0.5}),
        ("lim - on (job) group_right use", {"{gpu=0,job=1}": 6.0, "{gpu=1,job=1}": 4.0}),
        ("use and on (job) lim", {"use{gpu=0,job=1}": 2.0, "use{gpu=1,job=1}": 4.0}),
        ("use unless on (job) lim", {"use{gpu=0,job=2}": 6.0}),
        ("sum by (job) (use) / on (job) lim", {"{job=1}": 0.75}),
        ("sum by (job) (use) < on (job) lim", {"{job=1}": 6.0}),
        ("sum by (job) (use) / ignoring (owner) lim", {"{job=1}": 0.75}),
        (
            "lim or use",
            {
                k: v[0]
                for k, v in {  # every series
                    "lim{job=1,owner=o}": [8.0],
                    "lim{job=3,owner=p}": [9.0],
                    "use{gpu=0,job=1}": [2.0],
                    "use{gpu=1,job=1}": [4.0],
                    "use{gpu=0,job=2}": [6.0],
                }.items()
            },
        ),
        ("lim or on (job) use", {"lim{job=1,owner=o}": 8.0, "lim{job=3,owner=p}": 9.0, "use{gpu=0,job=2}": 6.0}),
    ],
)
def test_matching(run: Run, rows: Run, text: str, expected: dict[str, float]) -> None:
    assert rows(run(text, MATCH, 0.0)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lim / on (job) use", "right side"),
        ("use / on (job) lim", "left side"),
        ("use + on () group_left lim", "right side"),
        ('-{__name__=~"use|lim"} + 0 * {__name__=~"a|b"}', None),
        ('abs({__name__=~"p|q"})', "same labels"),
        ("topk(NaN, use)", "cannot be picked"),
    ],
)
def test_what_cannot_be_matched_is_an_error(run: Run, text: str, reason: str | None) -> None:
    series = {**MATCH, "p{a=x}": [1.0], "q{a=x}": [2.0]}
    if reason is None:
        run(text, series, 0.0)
        return
    with pytest.raises(EvaluationError, match=reason):
        run(text, series, 0.0)


def test_scalars_and_vectors(run: Run, rows: Run) -> None:
    assert run("1 + 2 * 3", {}, 0.0).value == Scalar(7.0)
    assert run("2 > bool 1", {}, 0.0).value == Scalar(1.0)
    assert run("-(1)", {}, 0.0).value == Scalar(-1.0)
    assert run("time()", {}, 42.0).value == Scalar(42.0)
    assert rows(run("vector(3)", {}, 0.0)) == {"{}": 3.0}
    assert run('scalar(m{a="x"})', TWO, 60.0).value == Scalar(2.0)
    assert np.isnan(run("scalar(m)", TWO, 60.0).value.value)
    assert rows(run("clamp(m, 3, 1)", TWO, 60.0)) == {}


def test_absent(run: Run, rows: Run) -> None:
    assert rows(run("absent(m)", TWO, 60.0)) == {}
    assert rows(run('absent(nope{a="x",b=~"y",c="1",c="2"})', TWO, 60.0)) == {"{a=x}": 1.0}
    assert rows(run("absent(sum(nope))", TWO, 60.0)) == {"{}": 1.0}


def test_an_observer_sees_every_node_and_the_coverage(storage: Run) -> None:
    rows = [({"__name__": "m", "a": "x"}, [(0.0, 1.0), (60.0, 2.0)])]
    seen: list[str] = []
    evaluate(
        parse("max_over_time(m[5m]) > 1"), storage(rows), 60.0, Options(), lambda n, v: seen.append(type(v).__name__)
    )
    assert seen == ["RangeView", "Vector", "Scalar", "Vector"]


@pytest.mark.parametrize(
    ("version", "increase"),
    [
        # Samples at 60 s (4) and 120 s (8) of a window that begins at -240 s: 0 was crossed 60 s before the first.
        (2, 4.0 * (60 + 60 + 0) / 60),
        (3, 4.0 * (60 + 30 + 0) / 60),
    ],
)
def test_a_counter_is_not_extrapolated_below_zero(run: Run, rows: Run, version: int, increase: float) -> None:
    series = {"m{a=x}": [None, 4.0, 8.0]}
    assert rows(run("increase(m[6m])", series, 120.0, version=version)) == {"{a=x}": pytest.approx(increase)}


@pytest.mark.parametrize(("version", "alone"), [(2, 0.0), (3, np.nan)])
def test_one_infinite_value_varies_by_nothing_only_in_prometheus_2(
    run: Run, rows: Run, version: int, alone: float
) -> None:
    series = {"m{a=x}": [np.inf], "m{a=y}": [2.0]}
    found = rows(run("stddev by (a) (m)", series, 60.0, version=version))
    assert found == {"{a=x}": pytest.approx(alone, nan_ok=True), "{a=y}": 0.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hour(m)", 0.0),
        ("day_of_week(vector(1e18))", np.nan),  # no calendar goes there
        ("month(vector(NaN))", np.nan),
        ("year(vector(-1))", 1969.0),
        ("day_of_month(vector(-1))", 31.0),
        ("days_in_month(vector(951782400))", 29.0),  # 29 February 2000
        ("days_in_month(vector(4107542400))", 28.0),  # 1 March 2100 less a day
    ],
)
def test_calendars(run: Run, text: str, expected: float) -> None:
    shift = text.replace("4107542400", "4107456000")
    assert run(shift, RISE, 300.0).value.values.tolist() == pytest.approx([expected], nan_ok=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('label_replace(m, "b", "$1-${2}-$$", "a", "(.)(y?)")', {"m{a=x,b=x--$}", "m{a=y,b=y--$}"}),
        ('label_replace(m, "a", "", "a", "x")', {"m{}", "m{a=y}"}),
        ('label_replace(m, "b", "$name", "a", "(?P<name>.)")', {"m{a=x,b=x}", "m{a=y,b=y}"}),
        ('label_replace(m, "b", "v", "a", "z")', {"m{a=x}", "m{a=y}"}),
        ('label_join(m, "b", "+", "a", "none", "a")', {"m{a=x,b=x++x}", "m{a=y,b=y++y}"}),
        ('count_values("v", m * 1e22)', {"{v=20000000000000000000000}", "{v=50000000000000000000000}"}),
    ],
)
def test_labels_are_made(run: Run, rows: Run, text: str, expected: set[str]) -> None:
    assert set(rows(run(text, TWO, 60.0))) == expected


@pytest.mark.parametrize("text", ['label_replace(m, "a", "", "a", ".")', 'label_join(m, "a", "")'])
def test_labels_that_become_equal_are_an_error_with_its_place(run: Run, text: str) -> None:
    with pytest.raises(EvaluationError, match="same labels") as caught:
        run(f"1 + {text}", TWO, 60.0)
    assert f"1 + {text}"[caught.value.start : caught.value.end] in ("label_replace", "label_join")


@pytest.mark.parametrize(
    ("text", "start", "reason"),
    [
        ("sum(max_over_time(m[365d:1s]))", 18, "more than 11000 steps"),
        ("max_over_time(sum_over_time(m[2h:1m])[2h:1m])", 14, "more than 11000 steps"),
        ("m + on () m", 2, "match the same group"),
    ],
)
def test_what_fails_at_run_time_has_a_place(run: Run, text: str, start: int, reason: str) -> None:
    with pytest.raises(EvaluationError, match=reason) as caught:
        run(text, TWO, 60.0)
    assert caught.value.start is not None
    assert caught.value.start <= start


@pytest.mark.parametrize(("most", "fails"), [(15, True), (16, False), (17, False)])
def test_samples_are_counted(run: Run, most: int, fails: bool) -> None:
    """Two windows of two samples, two newest ones, three steps of two of them, of which two give two values."""
    text = "sum(sum_over_time(m[10m])) + sum(m) + sum(max_over_time(m[3m:1m]))"
    if fails:
        with pytest.raises(EvaluationError, match="reads more than 15 samples"):
            run(text, TWO, 60.0, most_samples=most)
    else:
        assert run(text, TWO, 60.0, most_samples=most).value.size == 1


def test_a_subquery_is_covered_by_its_steps(run: Run, rows: Run) -> None:
    """Nine of ten steps have a value; of the others nothing is known."""
    series = {"m{a=x}": [1.0] * 10}
    for covered, least in ((True, 0.9), (False, 0.91)):
        result = run("max_over_time(m[10m:1m])", {"m{a=x}": series["m{a=x}"][:9]}, 780.0, min_coverage=least)
        assert bool(rows(result)) is covered
        assert (result.uncovered is None) is covered


@pytest.mark.parametrize("text", ["m", "last_over_time(m[5m])", "max_over_time(m[5m:])"])
def test_a_sample_of_this_very_moment_counts(storage: Callable[..., Any], text: str) -> None:
    """Times of watchdog's own series are not whole milliseconds."""
    now = 1_796_136_863.7203376
    rows = [({"__name__": "m", "a": "x"}, [(now, 7.0)])]
    found = evaluate(parse(text), storage(rows), now).value
    assert isinstance(found, Vector)
    assert found.values.tolist() == ([] if ":" in text else [7.0])


def test_many_series_are_computed_in_parts(run: Run, rows: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three samples of ten series, seven samples at a time: two series, and the rest of a part is left."""
    series = {f"m{{a={n}}}": [float(n), None if n % 3 else 2.0 * n, 3.0 * n] for n in range(10)}
    whole = [rows(run(f"{name}(m[5m])", series, 120.0)) for name in ("avg_over_time", "deriv", "stddev_over_time")]
    monkeypatch.setattr("watchdog.promql.ranges.PART", 7)
    parts = [rows(run(f"{name}(m[5m])", series, 120.0)) for name in ("avg_over_time", "deriv", "stddev_over_time")]
    assert parts == whole
    assert len(whole[0]) == 10
