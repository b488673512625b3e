"""The syntax tree: frozen, checked, and every node knows its place in the text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from watchdog.promql.storage import Matcher


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression; ``start`` and ``end`` are character offsets of the word that makes it what it is."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number literal."""

    value: float


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A string literal, as an argument."""

    value: str


class Edge(StrEnum):
    """``@ start()`` and ``@ end()``: the first and the last time of a range query."""

    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True)
class Selector(Node):
    """``name{matchers}[range] @ at offset o``; without a range it is an instant selector."""

    metric: str | None
    matchers: tuple[Matcher, ...]
    """All of them, the one on ``__name__`` included."""
    range: float | None
    offset: float
    at: float | Edge | None = None
    """A fixed time (unix seconds) to read at; None: the evaluation's own."""


@dataclass(frozen=True, slots=True)
class Subquery(Node):
    """``expr[range:step] @ at offset o``: the expression's values at every step of the window."""

    expr: Node
    range: float
    step: float | None
    """Seconds; None: the usual step."""
    offset: float
    at: float | Edge | None


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function and its arguments."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """``op by (labels) (param, expr)``."""

    op: str
    expr: Node
    param: Node | None
    labels: tuple[str, ...]
    without: bool


@dataclass(frozen=True, slots=True)
class Matching:
    """How two vectors are matched."""

    on: bool
    labels: tuple[str, ...]
    many: str = ""
    """The side that may have several series per match: ``left``, ``right`` or none."""
    include: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Two operands; ``matching`` counts only between two vectors."""

    op: str
    left: Node
    right: Node
    bool_: bool
    matching: Matching


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """Unary minus."""

    expr: Node


def children(node: Node) -> tuple[Node, ...]:
    """Return the operands of a node, left to right."""
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Aggregate):
        return (node.expr,) if node.param is None else (node.param, node.expr)
    if isinstance(node, Binary):
        return (node.left, node.right)
    return (node.expr,) if isinstance(node, Negate | Subquery) else ()
