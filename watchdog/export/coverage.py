"""``min_coverage`` as PromQL: a window that holds too few samples says nothing, as in the engine.

Two things follow from a short window there. The series itself gives no value: ``f(m[w])`` becomes
``f(m[w]) and count_over_time(m[w]) >= n``. And an alert that the series may speak of is not judged, though it be
found by other series: ``unless on (…) count_over_time(m[w]) < n``, where the first does not imply it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from watchdog.export.result_labels import common, is_scalar, result_labels
from watchdog.export.tree import Ranged, both, compare, count, rebuilt, unless
from watchdog.promql.changes import RANGE_FUNCTIONS
from watchdog.promql.functions import ELEMENTWISE
from watchdog.promql.nodes import Binary, Call, Matching, Negate, Node, Selector, Subquery, children
from watchdog.promql.parse import walk
from watchdog.promql.write import write

SUBQUERY_STEP = 60.0
"""Seconds; the step of a subquery that names none. Prometheus would take its global evaluation interval."""
_PLAIN = Matching(on=False, labels=())


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many samples windows must hold: the share, and the seconds between two samples."""

    share: float
    step: float

    def needed(self, window: Ranged) -> int:
        """Return the samples that the window must hold at least; 1 is nothing to ask for."""
        step = (window.step or SUBQUERY_STEP) if isinstance(window, Subquery) else self.step
        expected = max(1.0, (window.range or 0.0) / step)
        return max(1, math.ceil(self.share * expected - 1e-9))

    def covered(self, node: Node) -> Node:
        """Return the expression in which series with short windows give no value."""
        inner = rebuilt(node, self.covered)
        if isinstance(inner, Subquery) and inner.step is None:
            return replace(inner, step=SUBQUERY_STEP)
        window = _judged_window(inner)
        if window is None or self.needed(window) == 1:
            return inner
        return both(inner, compare(count(window), ">=", self.needed(window)))

    def guarded(self, node: Node) -> Node:
        """Return ``covered``, and no result at all for what a short window may speak of."""
        whole, names = self.covered(node), result_labels(node)
        implied = {write(window) for window in _spine(node)}
        seen: set[str] = set()
        for window in _windows(node):
            text = write(window)
            if text not in implied | seen and self.needed(window) > 1:
                seen.add(text)
                short = compare(count(_with_step(window)), "<", self.needed(window))
                whole = unless(whole, short, common(names, result_labels(window)))
        return whole


def _with_step(window: Ranged) -> Ranged:
    return replace(window, step=SUBQUERY_STEP) if isinstance(window, Subquery) and window.step is None else window


def _judged_window(node: Node) -> Ranged | None:
    """Return the window of a call that the engine asks coverage of."""
    if not isinstance(node, Call) or node.name not in RANGE_FUNCTIONS or not RANGE_FUNCTIONS[node.name].covered:
        return None
    return next((item for item in node.arguments if isinstance(item, Selector | Subquery)), None)


def _windows(node: Node) -> Iterator[Ranged]:
    for one in walk(node):
        window = _judged_window(one)
        if window is not None:
            yield window


def _spine(node: Node) -> Iterator[Ranged]:
    """Yield the windows without which no series of the result exists, label for label."""
    window = _judged_window(node)
    if window is not None:
        yield window
    for part in _whole_parts(node):
        yield from _spine(part)


def _whole_parts(node: Node) -> tuple[Node, ...]:
    """Return the operands whose series the result keeps one by one, with all their labels."""
    if isinstance(node, Negate) or (isinstance(node, Call) and node.name in ELEMENTWISE):
        return tuple(child for child in children(node) if not is_scalar(child))
    if not isinstance(node, Binary) or node.op == "or":
        return ()
    if is_scalar(node.left) or is_scalar(node.right) or node.matching == _PLAIN:
        parts = (node.left,) if node.op == "unless" else (node.left, node.right)
        return tuple(part for part in parts if not is_scalar(part))
    keeps_left = node.op in ("and", "unless") or node.matching.many == "left"
    return (node.left,) if keeps_left else ()
