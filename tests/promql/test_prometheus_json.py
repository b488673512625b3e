"""Numbers, times and answers as Prometheus's HTTP API writes them; the tests of the service ask a real one."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from watchdog.errors import QueryError
from watchdog.promql import Answer, Series
from watchdog.promql.prometheus_json import answer_of, data_of, format_value, parse_step, parse_time


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (math.nan, "NaN"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (1e-6, "0.000001"),
        (9.99e-7, "9.99e-07"),
        (-1e-7, "-1e-07"),
        (1e16, "10000000000000000"),
        (123456789012345678901.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (-1.5e300, "-1.5e+300"),
        (5e-324, "5e-324"),
    ],
)
def test_values(value: float, text: str) -> None:
    assert format_value(value) == text


ANSWERS = [
    (Answer("scalar", (Series({}, ((1.5, 2.0),)),)), {"resultType": "scalar", "result": [1.5, "2"]}),
    (Answer("string", (Series({}, ((7.0, math.nan),)),), "x"), {"resultType": "string", "result": [7, "x"]}),
    (
        Answer("vector", (Series({"a": "b"}, ((1700000000.1234, math.inf),)),)),
        {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [1700000000.123, "+Inf"]}]},
    ),
    (
        Answer("matrix", (Series({}, ((1.0, 2.0), (61.0, 0.5))),)),
        {"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "2"], [61, "0.5"]]}]},
    ),
    (Answer("vector", ()), {"resultType": "vector", "result": []}),
]


@pytest.mark.parametrize(("answer", "data"), ANSWERS)
def test_answers_are_written(answer: Answer, data: dict[str, Any]) -> None:
    written = data_of(answer)
    assert written == data
    assert json.dumps(written) == json.dumps(data), "whole seconds have no fraction"


@pytest.mark.parametrize("data", [data for _, data in ANSWERS])
def test_answers_are_read_back(data: dict[str, Any]) -> None:
    assert data_of(answer_of(data)) == data


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"resultType": "tensor", "result": []},
        {"resultType": "vector", "result": [{"metric": {}}]},
        {"resultType": "scalar", "result": [1]},
        {"resultType": "scalar", "result": [1, "two"]},
        {"resultType": "matrix", "result": 3},
    ],
)
def test_what_is_no_answer_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="is not an answer"):
        answer_of(data)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1700000000", 1.7e9),
        ("1700000000.1239", 1700000000.124),
        ("-5", -5.0),
        ("1.7e9", 1.7e9),
        ("2023-11-14T22:13:20Z", 1.7e9),
        ("2023-11-14t22:13:20.5z", 1700000000.5),
        ("2023-11-14T23:13:20.123456789+01:00", 1700000000.123),
        ("100000000000", 1e11),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a time"),
        ("now", "is not a time"),
        ("NaN", "is not a time"),
        ("2023-11-14", "is not a time"),
        ("2023-11-14T22:13:20", "is not a time"),
        ("1_7", "is not a time"),
        ("100000000001", "milliseconds"),
        ("1700000000000", "milliseconds"),
        ("1e999", "milliseconds"),
        ("2023-13-14T22:13:20Z", "month"),
    ],
)
def test_what_is_no_time_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("15", 15.0), ("0.5", 0.5), ("1h30m", 5400.0), ("250ms", 0.25), ("-1", -1.0)]
)
def test_steps(text: str, seconds: float) -> None:
    assert parse_step(text) == seconds


@pytest.mark.parametrize(
    ("text", "reason"), [("", "is not a"), ("x", "is not a"), ("1.5h", "is not a"), ("1e12", "too long")]
)
def test_what_is_no_step_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_step(text)
