"""Small pieces of PromQL, put together as syntax trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from watchdog.promql.nodes import (
    Aggregate,
    Binary,
    Call,
    Matching,
    Negate,
    Node,
    Number,
    Selector,
    Subquery,
)

Ranged = Selector | Subquery


def both(left: Node, right: Node, on: tuple[str, ...] | None = None) -> Binary:
    """Return ``left and right``, with ``on`` these labels."""
    return _set("and", left, right, on)


def either(left: Node, right: Node) -> Binary:
    """Return ``left or right``."""
    return _set("or", left, right, None)


def unless(left: Node, right: Node, on: tuple[str, ...] | None = None) -> Binary:
    """Return ``left unless right``, with ``on`` these labels."""
    return _set("unless", left, right, on)


def compare(left: Node, op: str, limit: float) -> Binary:
    """Return ``left op limit``."""
    return Binary(0, 0, op, left, Number(0, 0, float(limit)), bool_=False, matching=Matching(on=False, labels=()))


def count(window: Ranged) -> Call:
    """Return ``count_over_time`` of a range."""
    return Call(0, 0, "count_over_time", (window,))


def by(op: str, labels: tuple[str, ...], expr: Node) -> Aggregate:
    """Return ``op by (labels) (expr)``."""
    return Aggregate(0, 0, op, expr, None, labels, without=False)


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the node with ``change`` made to each of its operands."""
    if isinstance(node, Call):
        return replace(node, arguments=tuple(change(item) for item in node.arguments))
    if isinstance(node, Binary):
        return replace(node, left=change(node.left), right=change(node.right))
    if isinstance(node, Aggregate):
        return replace(node, expr=change(node.expr), param=None if node.param is None else change(node.param))
    if isinstance(node, Negate | Subquery):
        return replace(node, expr=change(node.expr))
    return node


def _set(op: str, left: Node, right: Node, on: tuple[str, ...] | None) -> Binary:
    matching = Matching(on=on is not None, labels=on or ())
    return Binary(0, 0, op, left, right, bool_=False, matching=matching)
