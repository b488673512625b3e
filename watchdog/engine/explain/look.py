"""What an evaluation gave at each node, cut down to the series that are asked about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from watchdog.engine.explain.subject import Subject
from watchdog.errors import EvaluationError
from watchdog.labels import METRIC_NAME, LabelColumns
from watchdog.promql import Options, Query, RangeView, Scalar, Value, Vector, evaluate
from watchdog.promql.binary import COMPARISON, binary
from watchdog.promql.changes import RANGE_FUNCTIONS
from watchdog.promql.nodes import Binary, Call, Node, Selector, Subquery
from watchdog.promql.storage import Floats, Storage


@dataclass(slots=True)
class Evaluation:
    """One evaluation, node by node."""

    query: Query
    values: dict[int, Value] = field(default_factory=dict)
    windows: dict[int, list[RangeView]] = field(default_factory=dict)
    uncovered: LabelColumns | None = None
    error: EvaluationError | None = None

    def observe(self, node: Node, value: Value | RangeView) -> None:
        """Write down what a node gave. A range comes in parts, one for each distance between samples."""
        if isinstance(value, RangeView):
            self.windows.setdefault(id(node), []).append(value)
        else:
            self.values[id(node)] = value


def evaluated(query: Query, storage: Storage, at: float, options: Options) -> Evaluation:
    """Evaluate and keep what every node gave; an error is kept as well."""
    found = Evaluation(query)
    try:
        found.uncovered = evaluate(query, storage, at, options, found.observe).uncovered
    except EvaluationError as error:
        found.error = error
    return found


@dataclass(frozen=True, slots=True)
class Window:
    """How many samples the windows of some series hold."""

    labels: LabelColumns
    counts: Floats
    expected: float
    needed: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """Both sides of a comparison, for the series that match."""

    labels: LabelColumns
    left: Floats
    right: Floats
    holds: np.ndarray


@dataclass(frozen=True, slots=True)
class Look:
    """An evaluation as one subject sees it."""

    evaluation: Evaluation
    subject: Subject
    min_coverage: float

    def value(self, node: Node) -> Value | None:
        """Return what the node gave; None for a range, a text, and what was not reached."""
        value = self.evaluation.values.get(id(node))
        if isinstance(value, Vector):
            return value.where(self.subject.mask(value.labels))
        return value

    def reached(self, node: Node) -> bool:
        """Whether the evaluation came to this node."""
        return id(node) in self.evaluation.values or id(node) in self.evaluation.windows

    def windows(self, node: Node, parent: Node | None) -> Iterator[Window]:
        """Yield the windows of a range, as the function around it wants them."""
        function = RANGE_FUNCTIONS.get(parent.name) if isinstance(parent, Call) else None
        for view in self.evaluation.windows.get(id(node), []):
            mask = self.subject.mask(view.labels)
            share = self.min_coverage if function is None or function.covered else 0.0
            needed = max(float(function.needs if function else 1), share * view.expected)
            yield Window(view.labels.take(mask), view.counts[mask], view.expected, needed)

    def pairs(self, node: Binary) -> Pairs | None:
        """Return both sides of a comparison where they match; None where there is nothing to compare.

        The engine's own matching brings them together: each side is added to zeros in the place of the other.
        """
        left, right = self.value(node.left), self.value(node.right)
        if left is None or right is None:
            return None
        plus = replace(node, op="+", bool_=False)
        try:
            ours, theirs = binary(plus, _bare(left), _zero(right)), binary(plus, _zero(left), _bare(right))
        except EvaluationError:
            return None
        if isinstance(ours, Scalar) or isinstance(theirs, Scalar):
            return None
        holds = COMPARISON[node.op](ours.values, theirs.values).astype(bool)
        return Pairs(ours.labels, ours.values, theirs.values, holds)


def is_empty(value: Value | None) -> bool:
    """Whether a node gave series, but none of the subject."""
    return isinstance(value, Vector) and value.size == 0


def is_ranged(node: Node) -> bool:
    """Whether a node is a range of samples, which only the function around it makes a value of."""
    return isinstance(node, Subquery) or (isinstance(node, Selector) and node.range is not None)


def _bare(value: Value) -> Value:
    if isinstance(value, Scalar):
        return value
    return Vector(value.labels.drop([METRIC_NAME]), value.values)


def _zero(value: Value) -> Value:
    if isinstance(value, Scalar):
        return Scalar(0.0)
    return Vector(value.labels.drop([METRIC_NAME]), np.zeros(value.size))
