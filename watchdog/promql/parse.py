"""Text to a checked syntax tree. The grammar is promql-parser's; what the engine cannot do is refused here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

import promql_parser as grammar

from watchdog.errors import PromQLError
from watchdog.promql.functions import AGGREGATIONS, FUNCTIONS
from watchdog.promql.nodes import Aggregate, Binary, Call, Matching, Negate, Node, Number, Selector, Text, children
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.promql.tokens import Cursor, Token, tokens_of, unclosed

LOOKBACK = 300.0
_COMPARISONS = {"<": "below", "<=": "below", ">": "above", ">=": "above"}
_SET_OPERATORS = ("and", "or", "unless")
_OPERATORS = (*_COMPARISONS, "==", "!=", "+", "-", "*", "/", "%", "^", *_SET_OPERATORS)
_MATCH_OPS = {"Equal": MatchOp.EQUAL, "NotEqual": MatchOp.NOT_EQUAL, "Re": MatchOp.REGEX, "NotRe": MatchOp.NOT_REGEX}
_ATOMS = re.compile(r"\\[^1-9]|\[\^?\]?(?:\\.|[^\]\\])*\]")
"""Escapes and character classes, in which signs mean nothing."""
_NOT_RE2 = re.compile(r"\(\?(?:[=!>(]|<[=!])|\\[1-9]|[*+?}]\+")
"""What Python's regular expressions have and RE2 has not: look-around, back-references, possessive repeats."""


@dataclass(frozen=True, slots=True)
class Query:
    """A checked expression."""

    text: str
    root: Node

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
        reach = (
            (node.range if node.range is not None else LOOKBACK) + max(0.0, node.offset) for node in self.selectors
        )
        return max(reach, default=0.0)

    @property
    def direction(self) -> str | None:
        """``below`` or ``above``: where its top comparison says the bad values are; None if it has none."""
        return _direction(self.root)


@lru_cache(maxsize=1024)
def parse(text: str) -> Query:
    """Parse and check. Raises PromQLError with the place of what is wrong or not supported."""
    try:
        tree = grammar.parse(text)
    except ValueError as error:
        raise _syntax_error(text, str(error)) from None
    return Query(text, _Converter(text).node(tree))


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


class _Converter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._cursor = Cursor(text)

    def node(self, tree: Any) -> Node:
        kind = type(tree).__name__
        convert = getattr(self, f"_{kind}", None)
        if convert is None:
            raise self._refuse(self._rest(), f"{kind} is not supported")
        converted: Node = convert(tree)
        return converted

    def _refuse(self, place: Token, reason: str, remedy: str = "") -> PromQLError:
        return PromQLError(self._text, place.start, place.end, reason, remedy)

    def _rest(self) -> Token:
        at = min(self._cursor.at, len(self._cursor.tokens) - 1)
        return Token("word", "", self._cursor.tokens[at].start, len(self._text))

    def _ParenExpr(self, tree: Any) -> Node:  # noqa: N802  # named like the parser's classes
        self._cursor.take("(")
        inner = self.node(tree.expr)
        self._cursor.take(")")
        return inner

    def _NumberLiteral(self, tree: Any) -> Node:  # noqa: N802
        token = next((t for t in self._cursor.tokens[self._cursor.at :] if t.kind in ("number", "word")), self._rest())
        self._cursor.take(token.text)
        return Number(token.start, token.end, float(tree.val))

    def _StringLiteral(self, tree: Any) -> Node:  # noqa: N802
        token = next((t for t in self._cursor.tokens[self._cursor.at :] if t.kind == "string"), self._rest())
        self._cursor.take(token.text)
        return Text(token.start, token.end, str(tree.val))

    def _UnaryExpr(self, tree: Any) -> Node:  # noqa: N802
        token = self._cursor.take("-")
        return Negate(token.start, token.end, self.node(tree.expr))

    def _MatrixSelector(self, tree: Any) -> Node:  # noqa: N802
        return self._selector(tree.vector_selector, tree.range.total_seconds())

    def _VectorSelector(self, tree: Any) -> Node:  # noqa: N802
        return self._selector(tree, None)

    def _SubqueryExpr(self, tree: Any) -> Node:  # noqa: N802
        self.node(tree.expr)
        colon = self._cursor.tokens.index(
            next(t for t in self._cursor.tokens if t.text == ":" or t.text.startswith(":"))
        )
        first = next(t for t in reversed(self._cursor.tokens[:colon]) if t.text == "[")
        last = next(t for t in self._cursor.tokens[colon:] if t.text == "]")
        place = Token("sign", "", first.start, last.end)
        raise self._refuse(place, "subqueries are not supported yet", "use a range selector")

    def _selector(self, tree: Any, range_: float | None) -> Node:
        token = self._place_of(tree.name)
        matchers = tuple(self._matcher(item, token) for item in tree.matchers.matchers)
        if tree.name is not None:
            matchers = (Matcher("__name__", MatchOp.EQUAL, tree.name), *matchers)
        names = [m.value for m in matchers if m.name == "__name__" and m.op is MatchOp.EQUAL]
        offset = tree.offset.total_seconds() if isinstance(tree.offset, timedelta) else 0.0
        if offset:
            self._cursor.take("offset")
        if tree.at is not None:
            raise self._refuse(self._cursor.take("@"), "the @ modifier is not supported yet")
        return Selector(token.start, token.end, names[0] if names else None, matchers, range_, offset)

    def _place_of(self, name: str | None) -> Token:
        """Return the selector's first token; go behind its matchers and its range."""
        token = self._cursor.take(name or "{")
        if name is None:
            self._cursor.at -= 1
        for bracket in ("{", "["):
            if self._cursor.next_is(bracket):
                self._cursor.skip_group()
        return token

    def _matcher(self, item: Any, place: Token) -> Matcher:
        op = _MATCH_OPS[str(item.op).rpartition(".")[2]]
        if op in (MatchOp.REGEX, MatchOp.NOT_REGEX):
            reason = regex_problem(item.value)
            if reason:
                raise self._refuse(self._string(item.value, place), f"the regular expression {reason}")
        return Matcher(item.name, op, item.value)

    def _string(self, value: str, place: Token) -> Token:
        return next((t for t in self._cursor.tokens if t.kind == "string" and t.text[1:-1] == value), place)

    def _Call(self, tree: Any) -> Node:  # noqa: N802
        name = tree.func.name
        token = self._cursor.take(name)
        if name not in FUNCTIONS:
            raise self._refuse(token, f"the function {name} is not supported yet", _nearest(name, FUNCTIONS))
        arguments = tuple(self.node(argument) for argument in tree.args)
        return Call(token.start, token.end, name, arguments)

    def _AggregateExpr(self, tree: Any) -> Node:  # noqa: N802
        name = str(tree.op)
        token = self._cursor.take(name)
        if name not in AGGREGATIONS:
            raise self._refuse(token, f"the aggregation {name} is not supported yet", _nearest(name, AGGREGATIONS))
        self._cursor.skip_words("by", "without")
        param = self.node(tree.param) if tree.param is not None else None
        expr = self.node(tree.expr)
        if self._cursor.next_is(")"):
            self._cursor.at += 1
        self._cursor.skip_words("by", "without")
        modifier = tree.modifier
        labels = tuple(modifier.labels) if modifier is not None else ()
        without = modifier is not None and str(modifier.type).endswith("Without")
        return Aggregate(token.start, token.end, name, expr, param, labels, without)

    def _BinaryExpr(self, tree: Any) -> Node:  # noqa: N802
        left = self.node(tree.lhs)
        name = str(tree.op).split()[0]
        while self._cursor.next_is(")"):
            self._cursor.at += 1
        token = self._cursor.take(name)
        if name not in _OPERATORS:
            raise self._refuse(token, f"the operator {name} is not supported yet")
        self._cursor.skip_words("bool", "on", "ignoring", "group_left", "group_right")
        right = self.node(tree.rhs)
        modifier = tree.modifier
        return Binary(
            token.start, token.end, name, left, right, bool(modifier and modifier.return_bool), self._matching(modifier)
        )

    def _matching(self, modifier: Any) -> Matching:
        if modifier is None:
            return Matching(on=False, labels=())
        match = modifier.matching
        card = str(modifier.card).rpartition(".")[2]
        return Matching(
            on=match is not None and str(match.type).endswith("Include"),
            labels=tuple(match.labels) if match is not None else (),
            many={"ManyToOne": "left", "OneToMany": "right"}.get(card, ""),
            include=tuple(modifier.group_labels or ()),
        )


def regex_problem(pattern: str) -> str:
    """Return what is wrong with a matcher's regular expression (RE2's syntax); empty if nothing is."""
    if _NOT_RE2.search(_ATOMS.sub("x", pattern)):
        return "uses look-around, a back-reference or a possessive repeat, which Prometheus does not have"
    try:
        re.compile(pattern)
    except re.error as error:
        return f"is not valid: {error.msg}"
    return ""


def _syntax_error(text: str, message: str) -> PromQLError:
    """Find the place of what the parser complains about: a quoted word of its message, a bracket, or the end."""
    found = list(tokens_of(text))
    if not found:
        return PromQLError(text, 0, len(text), "the expression is empty", "write a PromQL expression")
    bracket = unclosed(text)
    quoted = re.findall(r"'([^']+)'", message) or re.findall(r"for (\S+)$", message)
    place = next((t for t in found if quoted and t.text.strip("\"'`") == quoted[0]), None)
    unknown = re.search(r"unknown function with name '(\w+)'", message)
    remedy = _nearest(unknown.group(1), FUNCTIONS) if unknown else ""
    token = place or bracket or found[-1]
    return PromQLError(text, token.start, token.end, message, remedy)


def _nearest(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else "known are: " + ", ".join(sorted(known))


def _direction(node: Node) -> str | None:
    if isinstance(node, Binary):
        if node.op in ("and", "unless", "or"):
            return _direction(node.left)
        if node.op in _COMPARISONS:
            word = _COMPARISONS[node.op]
            flipped = isinstance(node.left, Number)
            return {"below": "above", "above": "below"}[word] if flipped else word
    return None


def _required(node: Node) -> frozenset[str]:
    if isinstance(node, Selector):
        return frozenset() if node.metric is None else frozenset({node.metric})
    if isinstance(node, Binary) and node.op in ("or", "unless"):
        return _required(node.left)
    if isinstance(node, Call) and node.name == "absent":
        return frozenset()
    return frozenset().union(*(_required(child) for child in children(node)))


def point(text: str, start: int, end: int) -> str:
    """Return the line that holds a place, and a line of carets below it."""
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    line = text[begin : stop if stop >= 0 else len(text)]
    width = max(1, min(end, begin + len(line)) - start)
    return f"{line}\n{' ' * (start - begin)}{'^' * width}"
