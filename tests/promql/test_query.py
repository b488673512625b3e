"""Answers to persons and programs: kinds of results, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from watchdog.errors import EvaluationError
from watchdog.promql import Series, instant, over_range, parse
from watchdog.promql.query import MOST_STEPS

Storage = Callable[..., Any]
TWO = {"m{a=x}": [1.0, None, 3.0], "m{a=y}": [4.0, 5.0, None]}


@pytest.fixture
def two(storage: Storage) -> Any:
    rows = [
        ({"__name__": "m", "a": name}, [(60.0 * i, v) for i, v in enumerate(values) if v is not None])
        for name, values in (("x", TWO["m{a=x}"]), ("y", TWO["m{a=y}"]))
    ]
    return storage(rows)


def named(series: tuple[Series, ...]) -> Mapping[str, tuple[tuple[float, float], ...]]:
    return {item.labels.get("a", ""): item.points for item in series}


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("m", "vector", {"x": ((120.0, 3.0),), "y": ((120.0, 5.0),)}),
        ("m[90s]", "matrix", {"x": ((120.0, 3.0),), "y": ((60.0, 5.0),)}),
        ("m[3m] offset 1m", "matrix", {"x": ((0.0, 1.0),), "y": ((0.0, 4.0), (60.0, 5.0))}),
        ("m[3m] @ 0", "matrix", {"x": ((0.0, 1.0),), "y": ((0.0, 4.0),)}),
        ("(m + 1)[2m:1m]", "matrix", {"x": ((60.0, 2.0), (120.0, 4.0)), "y": ((60.0, 6.0), (120.0, 6.0))}),
        ("1 + 1", "scalar", {"": ((120.0, 2.0),)}),
    ],
)
def test_an_instant_query_has_prometheuss_kinds(two: Any, text: str, kind: str, expected: Any) -> None:
    answer = instant(parse(text), two, 120.0)
    assert (answer.kind, named(answer.series)) == (kind, expected)


def test_a_text_is_a_text(two: Any) -> None:
    answer = instant(parse("'a text'"), two, 120.0)
    assert (answer.kind, answer.text, answer.series[0].points[0][0]) == ("string", "a text", 120.0)
    assert math.isnan(answer.series[0].points[0][1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m", {"x": ((0.0, 1.0), (60.0, 1.0), (120.0, 3.0)), "y": ((0.0, 4.0), (60.0, 5.0), (120.0, 5.0))}),
        ("m > 2", {"x": ((120.0, 3.0),), "y": ((0.0, 4.0), (60.0, 5.0), (120.0, 5.0))}),
        ("time() / 60", {"": ((0.0, 0.0), (60.0, 1.0), (120.0, 2.0))}),
        ("sum(m @ end())", {"": ((0.0, 8.0), (60.0, 8.0), (120.0, 8.0))}),
        ("sum(m @ start())", {"": ((0.0, 5.0), (60.0, 5.0), (120.0, 5.0))}),
        ("m > 9", {}),
    ],
)
def test_a_range_query_is_evaluated_at_each_step(two: Any, text: str, expected: Any) -> None:
    answer = over_range(parse(text), two, (0.0, 179.0, 60.0))
    assert (answer.kind, named(answer.series)) == ("matrix", expected)


@pytest.mark.parametrize(
    ("text", "times", "reason"),
    [
        ("m[5m]", (0.0, 60.0, 60.0), "needs an expression that gives"),
        ("'text'", (0.0, 60.0, 60.0), "needs an expression that gives"),
        ("m", (0.0, 60.0, 0.0), "step must be above 0"),
        ("m", (0.0, 60.0, math.nan), "step must be above 0"),
        ("m", (61.0, 60.0, 1.0), "end not before the start"),
        ("m", (0.0, float(MOST_STEPS), 1.0), "more than 11000 steps"),
    ],
)
def test_what_has_no_range_is_refused(two: Any, text: str, times: tuple[float, float, float], reason: str) -> None:
    with pytest.raises(EvaluationError, match=reason):
        over_range(parse(text), two, times)
