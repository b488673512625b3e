"""Values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from watchdog.errors import EvaluationError
from watchdog.promql import Options, Scalar, evaluate, parse

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
