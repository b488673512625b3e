"""The nodes of an expression from the top down, each with what it gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from watchdog.engine.explain.label import label
from watchdog.engine.explain.look import Look, Pairs, is_empty, is_ranged
from watchdog.engine.explain.model import Expression, Reading, Step
from watchdog.labels import METRIC_NAME, LabelColumns
from watchdog.promql import Scalar, Vector, point
from watchdog.promql.binary import COMPARISON
from watchdog.promql.nodes import Binary, Call, Node, Number, Text, children

MOST = 100
"""Series of a node that an explanation holds."""


def expression(look: Look) -> Expression:
    """Return the whole expression."""
    query, error = look.evaluation.query, look.evaluation.error
    steps = tuple(_steps(look, query.root, None, 0))
    if error is None:
        return Expression(query.text, steps)
    known = error.start is not None and error.end is not None
    pointer = point(query.text, error.start or 0, error.end or 0) if known else ""
    return Expression(query.text, steps, str(error), pointer)


def _steps(look: Look, node: Node, parent: Node | None, depth: int) -> Iterator[Step]:
    value = look.value(node)
    readings, count = _readings(look, node, parent)
    literal = isinstance(node, Number | Text)
    yield Step(
        text=label(node),
        depth=depth,
        start=node.start,
        end=node.end,
        literal=literal,
        note="" if literal or readings or isinstance(value, Scalar) else _note(look, node, parent),
        number=value.value if isinstance(value, Scalar) else None,
        readings=tuple(readings),
        more=count - len(readings),
    )
    for child in children(node):
        yield from _steps(look, child, node, depth + 1)


def _note(look: Look, node: Node, parent: Node | None) -> str:
    if is_ranged(node) and parent is not None and look.reached(parent):
        absent = isinstance(parent, Call) and parent.name == "absent_over_time"
        return "there are samples" if absent and is_empty(look.value(parent)) else "no samples"
    return "no series" if look.reached(node) else "not reached"


def _readings(look: Look, node: Node, parent: Node | None) -> tuple[Sequence[Reading], int]:
    """Return what is known of the first series, and how many there are."""
    if isinstance(node, Binary) and node.op in COMPARISON:
        pairs = look.pairs(node)
        if pairs is not None:
            return compared(look, node.op, pairs), len(pairs.holds)
    value = look.value(node)
    if isinstance(value, Vector):
        readings = [
            Reading(row, look.subject.name(row), value=float(value.values[index]))
            for index, row in _rows(value.labels, range(min(value.size, MOST)))
        ]
        return readings, value.size
    found = list(look.windows(node, parent))
    readings = [
        Reading(
            row,
            look.subject.name(row),
            samples=int(window.counts[index]),
            expected=window.expected,
            needed=window.needed,
        )
        for window in found
        for index, row in _rows(window.labels, range(min(len(window.counts), MOST)))
    ]
    return readings[:MOST], sum(len(window.counts) for window in found)


def compared(look: Look, op: str, pairs: Pairs) -> list[Reading]:
    """Return the sides of a comparison: first where it holds, then where it is nearest to hold."""
    apart = np.nan_to_num(np.abs(pairs.left - pairs.right), nan=np.inf)
    order = np.lexsort((apart, ~pairs.holds))[:MOST]
    return [
        Reading(
            row,
            look.subject.name(row),
            left=float(pairs.left[index]),
            right=float(pairs.right[index]),
            op=op,
            holds=bool(pairs.holds[index]),
        )
        for index, row in _rows(pairs.labels, order.tolist())
    ]


def _rows(labels: LabelColumns, indexes: Iterable[int]) -> Iterator[tuple[int, Mapping[str, str]]]:
    bare = labels.drop([METRIC_NAME])
    for index in indexes:
        yield index, bare.row(index)
