"""Evaluates a syntax tree over columns of series, at one time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from watchdog.errors import EvaluationError
from watchdog.labels import METRIC_NAME, LabelColumns
from watchdog.promql.aggregate import aggregate
from watchdog.promql.binary import binary
from watchdog.promql.functions import ELEMENTWISE
from watchdog.promql.nodes import Aggregate, Binary, Call, Negate, Node, Number, Selector, Text
from watchdog.promql.parse import LOOKBACK, Query
from watchdog.promql.ranges import RANGE_FUNCTIONS, RangeCall, RangeFunction
from watchdog.promql.storage import Floats, MatchOp, Selection, Storage
from watchdog.promql.values import Scalar, Value, Vector, empty

_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Options:
    """How to evaluate."""

    lookback: float = LOOKBACK
    """Seconds; how old a sample an instant selector takes."""
    min_coverage: float = 0.0
    """Share of the expected samples that a window must hold; 0 is plain PromQL."""
    left_open: bool = True
    """Whether a sample exactly on the left edge is outside (Prometheus 3) or inside (Prometheus 2)."""
    span: tuple[float, float] | None = None
    """First and last time of a range query: what ``@ start()`` and ``@ end()`` mean; None: the time itself."""


@dataclass(frozen=True, slots=True)
class RangeView:
    """What a range selector gave, for explanations."""

    labels: LabelColumns
    counts: Floats
    expected: float


@dataclass(frozen=True, slots=True)
class Result:
    """The value, and the series that it could not speak of."""

    value: Value
    uncovered: LabelColumns | None = None
    """Series (without metric names) whose windows hold too few samples; None when there are none."""


Observe = Callable[[Node, Value | RangeView], None]


def evaluate(
    query: Query, storage: Storage, at: float, options: Options | None = None, observe: Observe | None = None
) -> Result:
    """Evaluate at one time. Raises EvaluationError."""
    run = _Run(storage, at, options or Options(), observe)
    with np.errstate(all="ignore"):
        value = run.node(query.root)
    uncovered = LabelColumns.concat(run.uncovered) if run.uncovered else None
    return Result(value, uncovered)


class _Run:
    def __init__(self, storage: Storage, at: float, options: Options, observe: Observe | None) -> None:
        self.storage = storage
        self.at = at
        self.options = options
        self.observe = observe
        self.uncovered: list[LabelColumns] = []

    def node(self, node: Node) -> Value:
        value = self._value(node)
        if self.observe is not None:
            self.observe(node, value)
        return value

    def _value(self, node: Node) -> Value:
        if isinstance(node, Number):
            return Scalar(node.value)
        if isinstance(node, Selector):
            return self._instant(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Aggregate):
            param = self._scalar(node.param) if node.param is not None else float("nan")
            return aggregate(node, self._vector(node.expr), param)
        if isinstance(node, Binary):
            return binary(node, self.node(node.left), self.node(node.right))
        if isinstance(node, Negate):
            value = self.node(node.expr)
            return (
                Scalar(-value.value)
                if isinstance(value, Scalar)
                else Vector(value.labels, -value.values).without_name()
            )
        raise EvaluationError("a text or a range is not a value here")

    def _vector(self, node: Node) -> Vector:
        value = self.node(node)
        if isinstance(value, Scalar):
            raise EvaluationError("a vector is needed here, not a number")
        return value

    def _scalar(self, node: Node) -> float:
        value = self.node(node)
        if isinstance(value, Vector):
            raise EvaluationError("a number is needed here, not a vector")
        return value.value

    def _after(self, time: float) -> float:
        return time if self.options.left_open else float(np.nextafter(time, -np.inf))

    # --- selectors --------------------------------------------------------------------------------

    def _instant(self, node: Selector) -> Vector:
        until = self.at - node.offset
        parts = []
        for selection in self.storage.select(node.matchers):
            times, values = selection.latest(self._after(until - self.options.lookback), until)
            parts.append(Vector(selection.labels, values).where(~np.isnan(times)))
        return self._joined(parts)

    def _joined(self, parts: list[Vector]) -> Vector:
        if not parts:
            return empty(self.storage.table)
        if len(parts) == 1:
            return parts[0]
        labels = LabelColumns.concat([part.labels for part in parts])
        return Vector(labels, np.concatenate([part.values for part in parts]))

    def _range(self, node: Selector, function: RangeFunction, arguments: list[float]) -> Vector:
        parts = [self._range_of(item, node, function, arguments) for item in self.storage.select(node.matchers)]
        joined = self._joined(parts)
        return joined if function.keeps_name else joined.without_name()

    def _range_of(
        self, selection: Selection, node: Selector, function: RangeFunction, arguments: list[float]
    ) -> Vector:
        length = node.range or 0.0
        end = self.at - node.offset
        window = selection.window(self._after(end - length), end)
        rows = window.times.shape[0]
        counts = np.full(selection.labels.size, float(rows))
        if not window.complete:
            counts = np.count_nonzero(~np.isnan(window.times), axis=0).astype(float)
        expected = max(1.0, length / selection.step)
        if self.observe is not None:
            self.observe(node, RangeView(selection.labels, counts, expected))
        usable = counts >= function.needs
        if function.covered and self.options.min_coverage:
            enough = counts >= self.options.min_coverage * expected - _EPSILON
            short = ~enough & (counts > 0)
            if short.any():
                self.uncovered.append(selection.labels.take(short).drop([METRIC_NAME]))
            usable &= enough
        call = RangeCall(window, np.maximum(counts, 1.0), self.at, end - length, end, arguments)
        values = function.compute(call) if rows else np.zeros(len(counts))
        return Vector(selection.labels, values) if usable.all() else Vector(selection.labels, values).where(usable)

    # --- functions --------------------------------------------------------------------------------

    def _call(self, node: Call) -> Value:
        if node.name in RANGE_FUNCTIONS:
            selector = next(item for item in node.arguments if isinstance(item, Selector))
            arguments = [self._scalar(item) for item in node.arguments if item is not selector]
            return self._range(selector, RANGE_FUNCTIONS[node.name], arguments)
        if node.name in ELEMENTWISE:
            vector = self._vector(node.arguments[0])
            bounds = [self._scalar(item) for item in node.arguments[1:]]
            if node.name == "clamp" and bounds[0] > bounds[1]:
                return empty(self.storage.table)
            return Vector(vector.labels, ELEMENTWISE[node.name](vector.values, bounds)).without_name()
        return self._special(node)

    def _special(self, node: Call) -> Value:
        if node.name == "time":
            return Scalar(self.at)
        if node.name == "vector":
            one = LabelColumns(self.storage.table, {}, 1)
            return Vector(one, np.array([self._scalar(node.arguments[0])]))
        vector = self._vector(node.arguments[0])
        if node.name == "scalar":
            return Scalar(float(vector.values[0]) if vector.size == 1 else float("nan"))
        if vector.size:
            return empty(self.storage.table)
        return Vector(LabelColumns.from_rows(self.storage.table, [_absent_labels(node.arguments[0])]), np.ones(1))


def _absent_labels(node: Node) -> dict[str, str]:
    """Return the labels that an absent series would have: those of matchers that name one value."""
    if not isinstance(node, Selector):
        return {}
    named = [matcher for matcher in node.matchers if matcher.name != METRIC_NAME]
    names = [matcher.name for matcher in named]
    return {
        matcher.name: matcher.value
        for matcher in named
        if matcher.op is MatchOp.EQUAL and names.count(matcher.name) == 1
    }


__all__ = ["Observe", "Options", "RangeView", "Result", "Text", "evaluate"]
