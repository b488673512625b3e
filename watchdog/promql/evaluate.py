"""Evaluates a syntax tree over columns of series, at one time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from watchdog.errors import EvaluationError
from watchdog.labels import METRIC_NAME, LabelColumns
from watchdog.promql.aggregate import aggregate, count_values
from watchdog.promql.binary import binary
from watchdog.promql.changes import RANGE_FUNCTIONS
from watchdog.promql.functions import ELEMENTWISE
from watchdog.promql.labelling import LABEL_FUNCTIONS
from watchdog.promql.nodes import Aggregate, Binary, Call, Edge, Negate, Node, Number, Selector, Subquery, Text
from watchdog.promql.options import Budget, Observe, Options, RangeView, Result
from watchdog.promql.parse import Query
from watchdog.promql.ranges import RangeCall, RangeFunction, in_parts
from watchdog.promql.stack import stack
from watchdog.promql.storage import Floats, Storage, Window
from watchdog.promql.values import Scalar, Value, Vector, empty

Ranged = Selector | Subquery
_EPSILON = 1e-9


def evaluate(
    query: Query, storage: Storage, at: float, options: Options | None = None, observe: Observe | None = None
) -> Result:
    """Evaluate at one time. Raises EvaluationError with the place of the part that failed."""
    options = _spanned(options or Options(), at)
    run = _Run(storage, at, options, observe, Budget(options.most_samples))
    with np.errstate(all="ignore"):
        value = run.node(query.root)
    uncovered = LabelColumns.concat(run.uncovered) if run.uncovered else None
    return Result(value, uncovered)


def windows(query: Query, storage: Storage, at: float, options: Options) -> Iterator[tuple[LabelColumns, Window]]:
    """Yield the samples of an expression that is a range, by its series. Raises EvaluationError."""
    if not isinstance(query.root, Selector | Subquery):
        raise EvaluationError("a range is needed here")
    run = _Run(storage, at, _spanned(options, at), None, Budget(options.most_samples))
    with np.errstate(all="ignore"):
        yield from ((labels, window) for labels, _, window in run.windows(query.root))


def _spanned(options: Options, at: float) -> Options:
    """Say what ``@ start()`` means, in subqueries too: the one time of an instant query."""
    return options if options.span is not None else replace(options, span=(at, at))


class _Run:
    def __init__(self, storage: Storage, at: float, options: Options, observe: Observe | None, budget: Budget) -> None:
        self.storage = storage
        self.at = at
        self.options = options
        self.observe = observe
        self.budget = budget
        self.uncovered: list[LabelColumns] = []

    def node(self, node: Node) -> Value:
        try:
            value = self._value(node)
        except EvaluationError as error:
            if error.start is None:
                error.start, error.end = node.start, node.end
            raise
        if self.observe is not None:
            self.observe(node, value)
        return value

    def _value(self, node: Node) -> Value:
        if isinstance(node, Number):
            return Scalar(node.value)
        if isinstance(node, Selector):
            return self._instant(node)[0]
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Aggregate):
            return self._aggregate(node)
        if isinstance(node, Binary):
            return binary(node, self.node(node.left), self.node(node.right))
        if isinstance(node, Negate):
            value = self.node(node.expr)
            if isinstance(value, Scalar):
                return Scalar(-value.value)
            return Vector(value.labels, -value.values).without_name()
        raise EvaluationError("a text or a range is not a value here")

    def _aggregate(self, node: Aggregate) -> Vector:
        if isinstance(node.param, Text):
            return count_values(node, self._vector(node.expr), node.param.value)
        param = self._scalar(node.param) if node.param is not None else float("nan")
        return aggregate(node, self._vector(node.expr), param, self.options.version)

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

    # --- selectors --------------------------------------------------------------------------------

    def _time(self, node: Ranged) -> float:
        """Return the time that a selector or subquery ends at."""
        at = self.at if node.at is None else node.at
        if isinstance(at, Edge):
            first, last = self.options.span or (self.at, self.at)
            at = first if at is Edge.START else last
        return round(at - node.offset, 3) if node.offset else at  # a sample of just now must not be ahead of it

    def _after(self, time: float) -> float:
        return time if self.options.version >= 3 else float(np.nextafter(time, -np.inf))

    def _instant(self, node: Selector) -> tuple[Vector, Vector]:
        """Return the values and the times of the newest samples."""
        until = self._time(node)
        parts, ages = [], []
        for selection in self.storage.select(node.matchers):
            times, values = selection.latest(self._after(until - self.options.lookback), until)
            self.budget.spend(len(times))
            there = ~np.isnan(times)
            parts.append(Vector(selection.labels, values).where(there))
            ages.append(Vector(selection.labels, times).where(there))
        return self._joined(parts), self._joined(ages)

    def _joined(self, parts: list[Vector]) -> Vector:
        if not parts:
            return empty(self.storage.table)
        if len(parts) == 1:
            return parts[0]
        labels = LabelColumns.concat([part.labels for part in parts])
        return Vector(labels, np.concatenate([part.values for part in parts]))

    # --- ranges -----------------------------------------------------------------------------------

    def _bounds(self, node: Ranged) -> tuple[float, float]:
        end = self._time(node)
        return round(end - (node.range or 0.0), 3), end

    def windows(self, node: Ranged) -> Iterator[tuple[LabelColumns, float, Window]]:
        """Yield labels, step and samples of the series that a range holds, by step."""
        if isinstance(node, Subquery):
            yield self._subquery(node)
            return
        start, end = self._bounds(node)
        for selection in self.storage.select(node.matchers):
            window = selection.window(self._after(start), end)
            self.budget.spend(window.values.size)
            yield selection.labels, selection.step, window

    def _subquery(self, node: Subquery) -> tuple[LabelColumns, float, Window]:
        """Evaluate the inner expression at each multiple of the step in the window."""
        step = node.step or self.options.subquery_step
        start, end = self._bounds(node)
        times = _steps(self._after(start), end, step, self.budget)
        vectors = []
        for time in times:
            last = time == times[-1]
            run = _Run(self.storage, time, self.options, self.observe if last else None, self.budget)
            vectors.append(run._vector(node.expr))
            self.budget.spend(vectors[-1].size)
            if last:
                self.uncovered += run.uncovered
        labels, window = stack(self.storage.table, times, vectors)
        return labels, step, window

    def _range(self, node: Ranged, function: RangeFunction, arguments: list[float]) -> Vector:
        bounds = self._bounds(node)
        parts = []
        for labels, step, window in self.windows(node):
            counts = np.full(labels.size, float(len(window.values)))
            if not window.complete:
                counts = np.count_nonzero(window.present, axis=0).astype(float)
            usable = self._usable(node, function, labels, counts, (bounds[1] - bounds[0]) / step)
            if not usable.any():
                continue
            call = RangeCall(window, np.maximum(counts, 1.0), self.at, *bounds, arguments, self.options.version)
            vector = Vector(labels, in_parts(function.compute, call))
            parts.append(vector if usable.all() else vector.where(usable))
        joined = self._joined(parts)
        return joined if function.keeps_name else joined.without_name()

    def _usable(
        self, node: Ranged, function: RangeFunction, labels: LabelColumns, counts: Floats, fits: float
    ) -> np.ndarray:
        """Return which series hold enough samples; note those that hold some, but not enough to speak of."""
        expected = max(1.0, fits)
        if self.observe is not None:
            self.observe(node, RangeView(labels, counts, expected))
        usable = counts >= function.needs
        if function.covered and self.options.min_coverage:
            enough = counts >= self.options.min_coverage * expected - _EPSILON
            short = ~enough & (counts > 0)
            if short.any():
                self.uncovered.append(labels.take(short).drop([METRIC_NAME]))
            usable &= enough
        return usable

    # --- functions --------------------------------------------------------------------------------

    def _call(self, node: Call) -> Value:
        if node.name in RANGE_FUNCTIONS:
            selector = next(item for item in node.arguments if isinstance(item, Selector | Subquery))
            arguments = [self._scalar(item) for item in node.arguments if item is not selector]
            return self._range(selector, RANGE_FUNCTIONS[node.name], arguments)
        if node.name in ELEMENTWISE:
            vector = self._vector(node.arguments[0]) if node.arguments else self._one(self.at)
            bounds = [self._scalar(item) for item in node.arguments[1:]]
            if node.name == "clamp" and bounds[0] > bounds[1]:
                return empty(self.storage.table)
            return Vector(vector.labels, ELEMENTWISE[node.name](vector.values, bounds)).without_name()
        if node.name in LABEL_FUNCTIONS:
            texts = [item.value for item in node.arguments if isinstance(item, Text)]
            return LABEL_FUNCTIONS[node.name](self._vector(node.arguments[0]), texts)
        return self._special(node)

    def _one(self, value: float) -> Vector:
        return Vector(LabelColumns(self.storage.table, {}, 1), np.array([value]))

    def _special(self, node: Call) -> Value:
        if node.name in ("time", "pi"):
            return Scalar(self.at if node.name == "time" else float(np.pi))
        if node.name == "vector":
            return self._one(self._scalar(node.arguments[0]))
        if node.name == "timestamp":
            return self._timestamp(node.arguments[0])
        if node.name == "absent_over_time":
            return self._absent_over_time(node.arguments[0])
        vector = self._vector(node.arguments[0])
        if node.name == "scalar":
            return Scalar(float(vector.values[0]) if vector.size == 1 else float("nan"))
        if node.name in ("sort", "sort_desc"):
            keys = vector.values if node.name == "sort" else -vector.values
            order = np.argsort(keys, kind="stable")  # NaN comes last either way
            return Vector(vector.labels.take(order), vector.values[order])
        return self._absent(node.arguments[0], vector.size)

    def _timestamp(self, node: Node) -> Vector:
        """Return when samples were taken; the time of evaluation for what is computed."""
        if isinstance(node, Selector):
            values, times = self._instant(node)
            if self.observe is not None:
                self.observe(node, values)
            return times.without_name()
        vector = self._vector(node)
        return Vector(vector.labels, np.full(vector.size, self.at)).without_name()

    def _absent_over_time(self, node: Node) -> Vector:
        if not isinstance(node, Selector | Subquery):
            raise EvaluationError("a range is needed here")
        found = sum(int(window.present.any(axis=0).sum()) for _, _, window in self.windows(node))
        return self._absent(node, found)

    def _absent(self, node: Node, found: int) -> Vector:
        if found:
            return empty(self.storage.table)
        return Vector(LabelColumns.from_rows(self.storage.table, [_absent_labels(node)]), np.ones(1))


def _steps(after: float, until: float, step: float, budget: Budget) -> list[float]:
    """Return the multiples of the step in ``after < t <= until``, to the millisecond."""
    every, first, last = round(step * 1000), math.floor(after * 1000), round(until * 1000)
    low, high = first // every + 1, last // every
    budget.step(high - low + 1)
    return [number * every / 1000 for number in range(low, high + 1)]


def _absent_labels(node: Node) -> dict[str, str]:
    """Return the labels that an absent series would have: those that one matcher gives one value."""
    labels: dict[str, str] = {}
    seen: set[str] = set()
    for matcher in node.matchers if isinstance(node, Selector) else ():
        if matcher.name == METRIC_NAME:
            continue
        if matcher.op.value == "=" and matcher.name not in seen:
            labels[matcher.name] = matcher.value
            seen.add(matcher.name)
        else:
            labels.pop(matcher.name, None)
    return labels
