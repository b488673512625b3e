"""Answers of one expression to a person or a program: at one time, or over a range of times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from watchdog.errors import EvaluationError
from watchdog.labels import LabelColumns
from watchdog.promql.evaluate import evaluate, windows
from watchdog.promql.nodes import Text
from watchdog.promql.options import Options
from watchdog.promql.parse import Query
from watchdog.promql.storage import Storage
from watchdog.promql.values import Scalar, Vector

MOST_STEPS = 11_000
"""Steps of a range query; Prometheus allows as many."""


@dataclass(frozen=True, slots=True)
class Series:
    """Labels, and ``(unix seconds, value)`` pairs in order of time."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression gave; ``kind`` is Prometheus's result type.

    ``vector``: one point per series. ``matrix``: any number. ``scalar``: one series without labels.
    ``string``: ``text``, at the time of the only point.
    """

    kind: str
    series: tuple[Series, ...]
    text: str = ""


def instant(query: Query, storage: Storage, at: float, options: Options | None = None) -> Answer:
    """Evaluate at one time. Raises EvaluationError."""
    options = options or Options()
    if isinstance(query.root, Text):
        return Answer("string", (Series({}, ((at, math.nan),)),), query.root.value)
    if query.kind == "matrix":
        return Answer("matrix", tuple(_samples(query, storage, at, options)))
    value = evaluate(query, storage, at, options).value
    if isinstance(value, Scalar):
        return Answer("scalar", (Series({}, ((at, value.value),)),))
    rows = zip(value.labels.rows(), value.values.tolist(), strict=True)
    return Answer("vector", tuple(Series(labels, ((at, number),)) for labels, number in rows))


def over_range(
    query: Query, storage: Storage, times: tuple[float, float, float], options: Options | None = None
) -> Answer:
    """Evaluate at ``(start, end, step)``: at start, start + step, … up to end. Raises EvaluationError."""
    start, end, step = times
    if query.kind in ("string", "matrix"):
        raise EvaluationError("a range of times needs an expression that gives a number or an instant vector")
    if not step > 0 or end < start:
        raise EvaluationError("the step must be above 0, and the end not before the start")
    if (end - start) / step >= MOST_STEPS:
        raise EvaluationError(f"more than {MOST_STEPS} steps; take a longer step or a shorter range")
    options = options or Options()
    options = replace(options, span=options.span or (start, end))
    steps = [start + index * step for index in range(int((end - start) / step + 1e-9) + 1)]
    values = [(at, evaluate(query, storage, at, options).value) for at in steps]
    if values and isinstance(values[0][1], Scalar):
        points = tuple((at, value.value) for at, value in values if isinstance(value, Scalar))
        return Answer("matrix", (Series({}, points),))
    return Answer("matrix", tuple(_series([(at, value) for at, value in values if isinstance(value, Vector)])))


def _series(vectors: Sequence[tuple[float, Vector]]) -> Iterator[Series]:
    """Put the vectors of all times together, by their labels."""
    found = [(at, vector) for at, vector in vectors if vector.size]
    if not found:
        return
    labels = LabelColumns.concat([vector.labels for _, vector in found])
    times = np.repeat([at for at, _ in found], [vector.size for _, vector in found])
    values = np.concatenate([vector.values for _, vector in found])
    group, first = labels.group()
    order = np.argsort(group, kind="stable")
    bounds = np.flatnonzero(np.diff(group[order], prepend=-1, append=len(first)))
    for number, row in enumerate(labels.take(first).rows()):
        mine = order[bounds[number] : bounds[number + 1]]
        yield Series(row, tuple(zip(times[mine].tolist(), values[mine].tolist(), strict=True)))


def _samples(query: Query, storage: Storage, at: float, options: Options) -> Iterator[Series]:
    for labels, window in windows(query, storage, at, options):
        present, times = window.present, window.times
        for column, row in enumerate(labels.rows()):
            there = present[:, column]
            if there.any():
                pairs = zip(times[there, column].tolist(), window.values[there, column].tolist(), strict=True)
                yield Series(row, tuple(pairs))
