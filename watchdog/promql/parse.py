"""Text to a checked expression, and what can be read off it without evaluating."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import promql_parser as grammar

from watchdog.errors import PromQLError
from watchdog.promql.convert import COMPARISONS, SET_OPERATORS, convert, nearest
from watchdog.promql.functions import FUNCTIONS, SCALARS
from watchdog.promql.nodes import Aggregate, Binary, Call, Negate, Node, Number, Selector, Subquery, Text, children
from watchdog.promql.tokens import tokens_of, unclosed

MOST_TOKENS = 1000
"""Words and signs of an expression; far more of them overflow the stack of the parser."""
MOST_DEPTH = 100
"""Levels of an expression; each takes some of the stack of an evaluation."""
LOOKBACK = 300.0
"""Seconds; how old a sample an instant selector takes, as in Prometheus."""

_PROVING = frozenset({"<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Query:
    """A checked expression."""

    text: str
    root: Node

    @property
    def kind(self) -> str:
        """Prometheus's result type of an instant query: ``vector``, ``scalar``, ``matrix`` or ``string``."""
        return _kind(self.root)

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """All selectors, left to right."""
        return tuple(node for node in walk(self.root) if isinstance(node, Selector))

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics that it names."""
        return frozenset(selector.metric for selector in self.selectors if selector.metric is not None)

    @property
    def required(self) -> frozenset[str]:
        """The metrics without which it cannot hold: not those behind ``or``, ``unless`` or ``absent``."""
        return _required(self.root)

    @property
    def window(self) -> float:
        """How many seconds back it reads."""
        return _reach(self.root)

    @property
    def fixed(self) -> tuple[Selector | Subquery, ...]:
        """The parts that read at one fixed time (``@ 1700000000``), whatever the time of the evaluation."""
        nodes = (node for node in walk(self.root) if isinstance(node, Selector | Subquery))
        return tuple(node for node in nodes if isinstance(node.at, float))

    @property
    def direction(self) -> str | None:
        """``below`` or ``above``: where its top comparison says the bad values are; None if it has none."""
        return _direction(self.root)

    @property
    def proves(self) -> float:
        """For how many seconds the condition has held already when the expression begins to hold.

        ``max_over_time(x[15m]) < 5`` says it of every sample of 15 minutes: 900. What says nothing of the past: 0.
        """
        return _proves(self.root)

    @property
    def predicts(self) -> bool:
        """Whether its value is a forecast (``predict_linear``)."""
        return _predicts(self.root)


@lru_cache(maxsize=1024)
def parse(text: str) -> Query:
    """Parse and check. Raises PromQLError with the place of what is wrong or not supported."""
    last = next(islice(tokens_of(text), MOST_TOKENS, None), None)
    if last is not None:
        reason = f"the expression has more than {MOST_TOKENS} words and signs"
        raise PromQLError(text, last.start, last.end, reason, "split it into several rules")
    try:
        query = Query(text, convert(text, grammar.parse(text)))
    except ValueError as error:
        raise _syntax_error(text, str(error)) from None
    except RecursionError:
        raise _too_deep(text) from None
    if not _at_most_deep(query.root, MOST_DEPTH):
        raise _too_deep(text)
    return query


def _too_deep(text: str) -> PromQLError:
    reason = f"the expression is nested more than {MOST_DEPTH} deep"
    return PromQLError(text, 0, len(text), reason, "split it into several rules")


def _at_most_deep(node: Node, depth: int) -> bool:
    return depth > 0 and all(_at_most_deep(child, depth - 1) for child in children(node))


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


def _syntax_error(text: str, message: str) -> PromQLError:
    """Find the place of what the parser complains about: a quoted word of its message, a bracket, or the end."""
    found = list(tokens_of(text))
    if not found:
        return PromQLError(text, 0, len(text), "the expression is empty", "write a PromQL expression")
    bracket = unclosed(text)
    quoted = re.findall(r"'([^']+)'", message) or re.findall(r"for (\S+)$", message)
    place = next((t for t in found if quoted and t.text.strip("\"'`") == quoted[0]), None)
    unknown = re.search(r"unknown function with name '(\w+)'", message)
    remedy = nearest(unknown.group(1), FUNCTIONS) if unknown else ""
    token = place or bracket or found[-1]
    return PromQLError(text, token.start, token.end, message, remedy)


def _kind(node: Node) -> str:
    if isinstance(node, Text):
        return "string"
    if isinstance(node, Subquery) or (isinstance(node, Selector) and node.range is not None):
        return "matrix"
    if isinstance(node, Binary | Negate):
        return "scalar" if all(_kind(child) == "scalar" for child in children(node)) else "vector"
    scalar = isinstance(node, Number) or (isinstance(node, Call) and node.name in SCALARS)
    return "scalar" if scalar else "vector"


def _reach(node: Node) -> float:
    if isinstance(node, Selector):
        return (LOOKBACK if node.range is None else node.range) + max(0.0, node.offset)
    own = node.range + max(0.0, node.offset) if isinstance(node, Subquery) else 0.0
    return own + max((_reach(child) for child in children(node)), default=0.0)


def _direction(node: Node) -> str | None:
    if isinstance(node, Binary):
        if node.op in SET_OPERATORS:
            return _direction(node.left)
        if node.op in COMPARISONS:
            word = COMPARISONS[node.op]
            flipped = isinstance(node.left, Number)
            return {"below": "above", "above": "below"}[word] if flipped else word
    return None


def _proves(node: Node) -> float:
    if isinstance(node, Aggregate):
        return _proves(node.expr) if node.op in ("max", "min") else 0.0
    if not isinstance(node, Binary):
        return 0.0
    if node.op in ("and", "unless"):
        return _proves(node.left)
    if node.op not in _PROVING or node.bool_:
        return 0.0
    small, large = (node.left, node.right) if node.op in ("<", "<=") else (node.right, node.left)
    return max(_window_of(small, "max_over_time"), _window_of(large, "min_over_time"))


def _window_of(node: Node, function: str) -> float:
    """Return the window that ends now of this function, or of the largest or smallest of several such."""
    if isinstance(node, Aggregate) and node.op in ("max", "min"):
        return _window_of(node.expr, function)
    if not isinstance(node, Call) or node.name != function:
        return 0.0
    (span,) = node.arguments
    if not isinstance(span, Selector | Subquery) or span.offset or span.at is not None:
        return 0.0
    return span.range or 0.0


def _predicts(node: Node) -> bool:
    if isinstance(node, Aggregate):
        return _predicts(node.expr)
    if isinstance(node, Binary):
        compared = node.op in COMPARISONS and isinstance(node.left, Number)
        return _predicts(node.right if compared else node.left)
    return isinstance(node, Call) and node.name == "predict_linear"


def _required(node: Node) -> frozenset[str]:
    if isinstance(node, Selector):
        return frozenset() if node.metric is None else frozenset({node.metric})
    if isinstance(node, Binary) and node.op in ("or", "unless"):
        return _required(node.left)
    if isinstance(node, Call) and node.name in ("absent", "absent_over_time"):
        return frozenset()
    return frozenset().union(*(_required(child) for child in children(node)))


def point(text: str, start: int, end: int) -> str:
    """Return the line that holds a place, and a line of carets below it."""
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    line = text[begin : stop if stop >= 0 else len(text)]
    width = max(1, min(end, begin + len(line)) - start)
    return f"{line}\n{' ' * (start - begin)}{'^' * width}"
