"""The parser's tree to ours, with the place of every node. What the engine cannot do is refused here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import promql_parser as grammar

from watchdog.errors import PromQLError
from watchdog.promql.functions import AGGREGATIONS, FUNCTIONS
from watchdog.promql.labelling import LABEL_NAME
from watchdog.promql.nodes import (
    Aggregate,
    Binary,
    Call,
    Edge,
    Matching,
    Negate,
    Node,
    Number,
    Selector,
    Subquery,
    Text,
)
from watchdog.promql.regex import regex_problem
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.promql.tokens import Cursor, Token

COMPARISONS = {"<": "below", "<=": "below", ">": "above", ">=": "above"}
SET_OPERATORS = ("and", "or", "unless")
_OPERATORS = (*COMPARISONS, "==", "!=", "+", "-", "*", "/", "%", "^", "atan2", *SET_OPERATORS)
_MATCH_OPS = {"Equal": MatchOp.EQUAL, "NotEqual": MatchOp.NOT_EQUAL, "Re": MatchOp.REGEX, "NotRe": MatchOp.NOT_REGEX}
_HISTOGRAMS = "histograms are not supported: the metrics here are gauges and counters"
_EXPERIMENTAL = "it is not stable in Prometheus, so it is not supported"


def convert(text: str, tree: Any) -> Node:
    """Return the checked tree of ``text``, whose parsed form is ``tree``. Raises PromQLError."""
    return _Converter(text).node(tree)


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

    # --- selectors --------------------------------------------------------------------------------

    def _MatrixSelector(self, tree: Any) -> Node:  # noqa: N802
        return self._selector(tree.vector_selector, tree.range.total_seconds())

    def _VectorSelector(self, tree: Any) -> Node:  # noqa: N802
        return self._selector(tree, None)

    def _selector(self, tree: Any, range_: float | None) -> Node:
        token = self._place_of(tree.name, ranged=range_ is not None)
        if tree.matchers.or_matchers:
            raise self._refuse(token, '"or" between matchers is not PromQL', 'use =~ with "a|b", or two selectors')
        matchers = tuple(self._matcher(item, token) for item in tree.matchers.matchers)
        if tree.name is not None:
            matchers = (Matcher("__name__", MatchOp.EQUAL, tree.name), *matchers)
        names = [m.value for m in matchers if m.name == "__name__" and m.op is MatchOp.EQUAL]
        at, offset = self._at(), _offset(tree)
        return Selector(token.start, token.end, names[0] if names else None, matchers, range_, offset, at)

    def _place_of(self, name: str | None, *, ranged: bool) -> Token:
        """Return the selector's first token; go behind its matchers and its range (not that of a subquery)."""
        token = self._cursor.take(name or "{")
        if name is None:
            self._cursor.at -= 1
        for bracket in ("{", "[") if ranged else ("{",):
            if self._cursor.next_is(bracket):
                self._cursor.skip_group()
        return token

    def _SubqueryExpr(self, tree: Any) -> Node:  # noqa: N802
        inner = self.node(tree.expr)
        while self._cursor.next_is("(", ")"):
            self._cursor.at += 1
        start = self._cursor.at
        self._cursor.skip_group()
        first, last = self._cursor.tokens[start], self._cursor.tokens[self._cursor.at - 1]
        step = tree.step.total_seconds() if tree.step is not None else None
        at, offset = self._at(), _offset(tree)
        return Subquery(first.start, last.end, inner, tree.range.total_seconds(), step, offset, at)

    def _at(self) -> float | Edge | None:
        """Read ``@`` from the text (the parser makes negative times 0), and go behind it and ``offset``."""
        at: float | Edge | None = None
        while self._cursor.next_is("@", "offset"):
            sign = self._cursor.tokens[self._cursor.at].text
            self._cursor.at += 1
            negative = self._cursor.next_is("-")
            if self._cursor.next_is("-", "+"):
                self._cursor.at += 1
            token = self._cursor.tokens[self._cursor.at]
            self._cursor.at += 1
            if sign != "@":
                continue
            if token.kind == "word":
                at = Edge(token.text.lower())
                self._cursor.skip_group()
            else:
                number: Any = grammar.parse(token.text)
                at = float(number.val) * (-1 if negative else 1)
        return at

    def _matcher(self, item: Any, place: Token) -> Matcher:
        op = _MATCH_OPS[str(item.op).rpartition(".")[2]]
        if op in (MatchOp.REGEX, MatchOp.NOT_REGEX):
            reason = regex_problem(item.value)
            if reason:
                raise self._refuse(self._string(item.value, place), f"the regular expression {reason}")
        return Matcher(item.name, op, item.value)

    def _string(self, value: str, place: Token) -> Token:
        return next((t for t in self._cursor.tokens if t.kind == "string" and t.text[1:-1] == value), place)

    # --- functions --------------------------------------------------------------------------------

    def _Call(self, tree: Any) -> Node:  # noqa: N802
        name = tree.func.name
        token = self._cursor.take(name)
        if name not in FUNCTIONS:
            reason = _HISTOGRAMS if name.startswith("histogram_") else _EXPERIMENTAL
            raise self._refuse(token, f"the function {name} cannot be used: {reason}", nearest(name, FUNCTIONS))
        arguments = tuple(self.node(argument) for argument in tree.args)
        if name in ("label_replace", "label_join"):
            self._check_labels(name, [item for item in arguments if isinstance(item, Text)])
        return Call(token.start, token.end, name, arguments)

    def _check_labels(self, name: str, texts: list[Text]) -> None:
        """Refuse what could only fail at run time: names that are none, a bad regular expression."""
        replace = name == "label_replace"
        for item in texts[:1] if replace else [texts[0], *texts[2:]]:
            self._check_label(item)
        problem = regex_problem(texts[3].value) if replace else ""
        if problem:
            place = Token("string", "", texts[3].start, texts[3].end)
            raise self._refuse(place, f"the regular expression {problem}")

    def _check_label(self, item: Text) -> None:
        if not LABEL_NAME.fullmatch(item.value):
            place = Token("string", "", item.start, item.end)
            raise self._refuse(place, f'"{item.value}" is not a label name', "use letters, digits and _")

    def _AggregateExpr(self, tree: Any) -> Node:  # noqa: N802
        name = str(tree.op)
        token = self._cursor.take(name)
        if name not in AGGREGATIONS:
            reason = f"the aggregation {name} cannot be used: {_EXPERIMENTAL}"
            raise self._refuse(token, reason, nearest(name, AGGREGATIONS))
        self._cursor.skip_words("by", "without")
        param = self.node(tree.param) if tree.param is not None else None
        if isinstance(param, Text):
            self._check_label(param)
        expr = self.node(tree.expr)
        if self._cursor.next_is(")"):
            self._cursor.at += 1
        self._cursor.skip_words("by", "without")
        modifier = tree.modifier
        labels = tuple(modifier.labels) if modifier is not None else ()
        without = modifier is not None and str(modifier.type).endswith("Without")
        return Aggregate(token.start, token.end, name, expr, param, labels, without)

    # --- operators --------------------------------------------------------------------------------

    def _BinaryExpr(self, tree: Any) -> Node:  # noqa: N802
        left = self.node(tree.lhs)
        name = str(tree.op).split()[0]
        while self._cursor.next_is(")"):
            self._cursor.at += 1
        token = self._cursor.take(name)
        modifier = tree.modifier
        if name not in _OPERATORS:
            raise self._refuse(token, f"the operator {name} is not supported")
        fill = modifier.fill_values if modifier is not None else None
        if fill is not None and (fill.lhs, fill.rhs) != (None, None):
            raise self._refuse(token, f"fill cannot be used: {_EXPERIMENTAL}")
        if self._cursor.next_is("bool"):
            self._cursor.at += 1
        self._cursor.skip_words("on", "ignoring", "group_left", "group_right")
        right = self.node(tree.rhs)
        return Binary(
            token.start, token.end, name, left, right, bool(modifier and modifier.return_bool), _matching(modifier)
        )


def _offset(tree: Any) -> float:
    return float(tree.offset.total_seconds()) if tree.offset is not None else 0.0


def _matching(modifier: Any) -> Matching:
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


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a remedy: the name that was probably meant, or where all of them are."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else "docs/promql.md lists what can be used"
