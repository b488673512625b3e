"""One line for a node: its text, with ``…`` for what the lines below it show where it would be long."""

from __future__ import annotations

from dataclasses import replace

from watchdog.promql.nodes import Aggregate, Binary, Call, Negate, Node, Number, Selector, Subquery, Text
from watchdog.promql.write import write

LONGEST = 60
"""Characters of a node that is written in full."""
_ENDLESS = 1_000_000
_HOLE = Selector(0, 0, "…", (), None, 0.0)


def label(node: Node) -> str:
    """Return the node as PromQL on one line; a long one leaves out what is below it."""
    text = write(node, _ENDLESS)
    return text if len(text) <= LONGEST else write(_opened(node), _ENDLESS)


def _opened(node: Node) -> Node:
    if isinstance(node, Binary):
        return replace(node, left=_hole(node.left), right=_hole(node.right))
    if isinstance(node, Call):
        return replace(node, arguments=tuple(_hole(item) for item in node.arguments))
    if isinstance(node, Aggregate | Negate | Subquery):
        return replace(node, expr=_HOLE)
    return node


def _hole(node: Node) -> Node:
    return node if isinstance(node, Number | Text) else _HOLE
