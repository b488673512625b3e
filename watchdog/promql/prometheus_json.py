"""Answers as Prometheus's HTTP API writes them, and the times and durations that its clients send.

Facts: Prometheus's page "HTTP API", and its server where the page is silent; the tests ask a real one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import promql_parser as grammar

from watchdog.errors import QueryError
from watchdog.promql.numbers import format_float
from watchdog.promql.query import Answer, Series

LARGEST_TIME = 1e11
"""Unix seconds, either side of 1970; beyond it a number is no time (milliseconds by mistake, mostly)."""
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def data_of(answer: Answer) -> dict[str, Any]:
    """Return the ``data`` object: ``{"resultType": …, "result": …}``. Values are texts, times numbers."""
    return {"resultType": answer.kind, "result": _result(answer)}


def _result(answer: Answer) -> list[Any]:
    if answer.kind == "string":
        return [_time(answer.series[0].points[0][0]), answer.text]
    if answer.kind == "scalar":
        return _point(*answer.series[0].points[0])
    if answer.kind == "vector":
        return [{"metric": dict(series.labels), "value": _point(*series.points[0])} for series in answer.series]
    return [
        {"metric": dict(series.labels), "values": [_point(*point) for point in series.points]}
        for series in answer.series
    ]


def answer_of(data: Mapping[str, Any]) -> Answer:
    """Read a ``data`` object back. Raises QueryError for what is none."""
    try:
        kind, result = data["resultType"], data["result"]
        if kind == "string":
            return Answer(kind, (Series({}, ((float(result[0]), math.nan),)),), str(result[1]))
        if kind == "scalar":
            return Answer(kind, (Series({}, (_read(result),)),))
        key = {"vector": "value", "matrix": "values"}[kind]
        rows = [(row["metric"], [row[key]] if kind == "vector" else row[key]) for row in result]
        return Answer(kind, tuple(Series(dict(labels), tuple(map(_read, points))) for labels, points in rows))
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise QueryError("internal", "this is not an answer of Prometheus's HTTP API") from error


def _read(point: Any) -> tuple[float, float]:
    time, value = point
    return float(time), float(value)


def _point(time: float, value: float) -> list[Any]:
    return [_time(time), format_value(value)]


def _time(seconds: float) -> float | int:
    """Return a time to the millisecond, without a fraction where it has none."""
    rounded = round(seconds, 3)
    return int(rounded) if rounded.is_integer() else rounded


def format_value(value: float) -> str:
    """Return a value as the API writes it: the shortest text; with an exponent below 1e-6 and from 1e21 on."""
    size = abs(value)
    if math.isfinite(value) and size and not 1e-6 <= size < 1e21:
        return repr(value)
    return format_float(value)


def parse_time(text: str) -> float:
    """Return unix seconds, to the millisecond, from a number of seconds or RFC 3339. Raises ValueError."""
    if _NUMBER.fullmatch(text):
        seconds = float(text)
    elif _RFC3339.fullmatch(text):
        seconds = datetime.fromisoformat(text.upper()).timestamp()
    else:
        raise ValueError(f'"{text}" is not a time; write unix seconds or 2026-03-02T09:00:00Z')
    if not abs(seconds) <= LARGEST_TIME:
        raise ValueError(f'"{text}" is too far away for a time in seconds; is it in milliseconds?')
    return round(seconds, 3)


def parse_step(text: str) -> float:
    """Return seconds from a number of seconds or a duration such as ``1h30m``. Raises ValueError."""
    if _NUMBER.fullmatch(text):
        seconds = float(text)
    else:
        try:
            seconds = grammar.parse_duration(text).total_seconds()
        except ValueError:
            raise ValueError(f'"{text}" is not a duration; write seconds or, for example, 1h30m') from None
    if not abs(seconds) <= LARGEST_TIME:
        raise ValueError(f'"{text}" is too long')
    return seconds
