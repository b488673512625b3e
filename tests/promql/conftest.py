"""A plain storage: series as lists of (time, value). No cleverness, so that it can be trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from watchdog.labels import LabelColumns, StringTable
from watchdog.promql import Options, Result, Vector, evaluate, parse
from watchdog.promql.storage import Floats, Matcher, MatchOp, Window

Rows = Sequence[tuple[Mapping[str, str], Sequence[tuple[float, float]]]]


class PlainSelection:
    def __init__(self, table: StringTable, rows: Rows, step: float) -> None:
        self.labels = LabelColumns.from_rows(table, [labels for labels, _ in rows])
        self.step = step
        self._samples = [sorted(samples) for _, samples in rows]

    def window(self, after: float, until: float) -> Window:
        inside = [[s for s in samples if after < s[0] <= until] for samples in self._samples]
        height = max((len(samples) for samples in inside), default=0)
        times, values = np.full((height, len(inside)), np.nan), np.full((height, len(inside)), np.nan)
        for column, samples in enumerate(inside):
            for row, (time, value) in enumerate(samples):
                times[row, column], values[row, column] = time, value
        return Window(np.zeros(height), times * 1000.0, values, complete=not np.isnan(times).any())

    def latest(self, after: float, until: float) -> tuple[Floats, Floats]:
        found = [[s for s in samples if after < s[0] <= until][-1:] for samples in self._samples]
        return (
            np.array([samples[0][0] if samples else np.nan for samples in found]),
            np.array([samples[0][1] if samples else np.nan for samples in found]),
        )


class PlainStorage:
    def __init__(self, rows: Rows, step: float = 60.0) -> None:
        self.table = StringTable()
        self._rows = rows
        self._step = step

    def select(self, matchers: Sequence[Matcher]) -> Sequence[PlainSelection]:
        rows = [row for row in self._rows if all(_matches(matcher, row[0]) for matcher in matchers)]
        return [PlainSelection(self.table, rows, self._step)] if rows else []


def _matches(matcher: Matcher, labels: Mapping[str, str]) -> bool:
    value = labels.get(matcher.name, "")
    if matcher.op in (MatchOp.EQUAL, MatchOp.NOT_EQUAL):
        return (value == matcher.value) == (matcher.op is MatchOp.EQUAL)
    return (re.fullmatch(matcher.value, value, re.DOTALL) is not None) == (matcher.op is MatchOp.REGEX)


@pytest.fixture
def storage() -> Callable[..., PlainStorage]:
    return PlainStorage


@pytest.fixture
def run() -> Callable[..., Result]:
    """Evaluate an expression over ``{"metric{a=b}": [values, one a minute from 0]}``; None is a gap."""

    def go(text: str, series: Mapping[str, Sequence[float | None]], at: float, **options: float | bool) -> Result:
        rows = [
            (labels_of(name), [(60.0 * i, v) for i, v in enumerate(values) if v is not None])
            for name, values in series.items()
        ]
        return evaluate(parse(text), PlainStorage(rows), at, Options(**options))  # type: ignore[arg-type]

    return go


def labels_of(name: str) -> dict[str, str]:
    metric, _, rest = name.partition("{")
    pairs = [pair.split("=") for pair in rest.rstrip("}").split(",") if pair]
    return {"__name__": metric, **dict(pairs)}


@pytest.fixture
def rows() -> Callable[[Result], dict[str, float]]:
    """Return a vector result as ``{"metric{a=b}": value}``."""

    def go(result: Result) -> dict[str, float]:
        assert isinstance(result.value, Vector)
        found = {}
        for index in range(result.value.size):
            labels = result.value.labels.row(index)
            name = labels.pop("__name__", "")
            inner = ",".join(f"{key}={value}" for key, value in labels.items())
            found[f"{name}{{{inner}}}"] = float(result.value.values[index])
        return found

    return go
