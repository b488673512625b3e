"""Expressions of Jinja2 as values and conditions of Go's templates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jinja2 import nodes

from watchdog import templates
from watchdog.export.texts.facts import duration, fact
from watchdog.export.texts.values import (
    VALUE,
    Literal,
    Number,
    Text,
    UntranslatableError,
    Value,
    argument,
    as_number,
    combined,
    quoted,
    text_operand,
    truth,
)

_ARITHMETIC = {nodes.Add: "+", nodes.Sub: "-", nodes.Mul: "*", nodes.Div: "/", nodes.Mod: "%%"}
_GO = {"eq": "eq", "ne": "ne", "lt": "lt", "lteq": "le", "gt": "gt", "gteq": "ge"}
_PROMQL = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
_TEXT_FILTERS = {"upper": "toUpper", "lower": "toLower", "title": "title"}
_HUMANIZE = ("humanize", "humanize1024", "humanizeDuration", "humanizePercentage")
_SAME = ("float", "string", "safe")
_VERB = re.compile(r"[^%]*%[-+0]?\d*(?:\.\d+)?[fegs][^%]*")
Condition = bool | str
"""A Go pipeline, or what is known now."""


@dataclass(frozen=True)
class Scope:
    """What the names of one template mean."""

    alert: str
    threshold: float | None
    own_labels: Mapping[str, str]
    """The rule's own label templates: the texts see them among ``labels``, Prometheus's do not."""
    sets: Mapping[str, tuple[nodes.Node, Scope]] = field(default_factory=dict)
    """Variables of the template, with the scope in which each was set."""
    sure: frozenset[str] = frozenset()
    """PromQL that gives a value here, because an ``if`` around it asked."""
    note: Callable[[str], None] = print
    """Takes what reads differently."""
    proves: float = 0.0
    """Seconds for which it has been so when the expression begins to hold."""


def value_of(node: nodes.Node, scope: Scope) -> Value:
    """Return what an expression gives. Raises UntranslatableError."""
    if isinstance(node, nodes.Const):
        return Literal(node.value)
    if isinstance(node, nodes.Name):
        return _name(node.name, scope)
    if isinstance(node, nodes.Getattr | nodes.Getitem):
        return _member(node, scope)
    if isinstance(node, nodes.Filter):
        return _filtered(node, scope)
    if isinstance(node, nodes.BinExpr) and type(node) in _ARITHMETIC:
        return combined(value_of(node.left, scope), _ARITHMETIC[type(node)], value_of(node.right, scope))
    if isinstance(node, nodes.Neg):
        return combined(Literal(0), "-", value_of(node.node, scope))
    if isinstance(node, nodes.Or | nodes.Concat):
        return _joined(node, scope)
    raise UntranslatableError(f"{type(node).__name__.lower()} has no counterpart in Prometheus's templates")


def condition_of(node: nodes.Node, scope: Scope) -> Condition:
    """Return when an expression is true. Raises UntranslatableError."""
    if isinstance(node, nodes.Not):
        inner = condition_of(node.node, scope)
        return not inner if isinstance(inner, bool) else f"not {argument(inner)}"
    if isinstance(node, nodes.And | nodes.Or):
        word = "and" if isinstance(node, nodes.And) else "or"
        return _of_two(word, condition_of(node.left, scope), condition_of(node.right, scope))
    if isinstance(node, nodes.Compare):
        return _compare(node, scope)
    if isinstance(node, nodes.Test) and node.name in ("defined", "undefined", "none"):
        known = _known(value_of(node.node, scope))
        if node.name == "defined":
            return known
        return not known if isinstance(known, bool) else f"not {argument(known)}"
    return truth(value_of(node, scope))


def _of_two(word: str, left: Condition, right: Condition) -> Condition:
    """Return ``and`` or ``or`` of two conditions; what is known now is left out."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, bool):
            return other if one == (word == "and") else one
    return f"{word} {argument(str(left))} {argument(str(right))}"


def _known(value: Value) -> Condition:
    if isinstance(value, Number):
        return value.query() if value.direct is None else True
    return value.value is not None if isinstance(value, Literal) else value.pipeline


def _name(name: str, scope: Scope) -> Value:
    if name in scope.sets:
        node, then = scope.sets[name]
        return value_of(node, then)
    if name == "value":
        return VALUE
    if name == "threshold":
        return Literal(scope.threshold)
    if name == "duration":
        return duration(scope.alert, scope.proves)
    raise UntranslatableError(f"{name} alone has no counterpart in Prometheus's templates")


def _member(node: nodes.Getattr | nodes.Getitem, scope: Scope) -> Value:
    key = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
    if not isinstance(node.node, nodes.Name) or not isinstance(key, str) or not re.fullmatch(r"[A-Za-z_]\w*", key):
        raise UntranslatableError("only labels and facts of the job can be looked up")
    if node.node.name == "labels":
        return _label(key, scope)
    if node.node.name != "job":
        raise UntranslatableError(f"{node.node.name} has no members")
    known = fact(key)
    if known is None:
        scope.note(f"job.{key} is no metric, so it is never known there")
    return Literal(None) if known is None else known


def _label(name: str, scope: Scope) -> Value:
    if name == "alertname":
        return Literal(scope.alert)
    if name not in scope.own_labels:
        return Text(f"$labels.{name}")
    body = templates.parse_template(scope.own_labels[name]).body
    parts = [part for output in body if isinstance(output, nodes.Output) for part in output.nodes]
    if len(parts) != 1 or len(body) != 1:
        raise UntranslatableError(f"labels.{name} is made by the rule, of several pieces")
    if isinstance(parts[0], nodes.TemplateData):
        return Literal(parts[0].data)
    return value_of(parts[0], Scope(scope.alert, scope.threshold, {}, note=scope.note, proves=scope.proves))


def _joined(node: nodes.Or | nodes.Concat, scope: Scope) -> Value:
    """Return the first text that is not empty, or all texts put together."""
    if isinstance(node, nodes.Concat):
        return Text(f"print {' '.join(text_operand(value_of(part, scope)) for part in node.nodes)}")
    left, right = value_of(node.left, scope), value_of(node.right, scope)
    if isinstance(left, Literal):
        return left if left.value else right
    first = text_operand(left)
    inner = first[len("(or ") : -1] if first.startswith("(or ") else first  # a or b or c is one call
    return Text(f"or {inner} {text_operand(right)}")


def _filtered(node: nodes.Filter, scope: Scope) -> Value:
    value, name = value_of(node.node or nodes.Const(None), scope), node.name
    if name in _SAME:
        return value
    if isinstance(value, Literal) and not node.args and not node.kwargs:
        return Literal(_rendered(value.value, name))
    if name in _HUMANIZE:
        return as_number(value).shaped(name)
    if name in _TEXT_FILTERS:
        return Text(f"{text_operand(value)} | {_TEXT_FILTERS[name]}")
    if name in ("default", "d"):
        return _defaulted(value, node, scope)
    if name in ("round", "int"):
        return _rounded(value, node)
    if name == "format":
        return _formatted(value, node, scope)
    raise UntranslatableError(f"the filter {name} has no counterpart in Prometheus's templates")


def _rendered(constant: object, name: str) -> object:
    """Return what a filter makes of a constant."""
    template = templates.compile_template("{{ value | " + name + " }}")
    try:
        text = templates.render(template, {"value": constant})
        return {"int": int, "round": float}.get(name, str)(text)
    except ValueError as error:
        raise UntranslatableError(f"the filter {name} {error}") from None


def _defaulted(value: Value, node: nodes.Filter, scope: Scope) -> Value:
    other = value_of(node.args[0], scope) if node.args else Literal("")
    if isinstance(value, Literal):
        return other if value.value is None else value
    if isinstance(value, Number):
        return value
    return Text(f"or {text_operand(value)} {text_operand(other)}")


def _rounded(value: Value, node: nodes.Filter) -> Value:
    digits = node.args[0].value if node.args and isinstance(node.args[0], nodes.Const) else 0
    if not isinstance(digits, int) or len(node.args) > 1 or node.kwargs:
        raise UntranslatableError(f"the filter {node.name} has no counterpart with these arguments")
    return as_number(value).shaped(f'printf "%.{max(0, digits)}f"')


def _formatted(value: Value, node: nodes.Filter, scope: Scope) -> Value:
    pattern = value.value if isinstance(value, Literal) else None
    if not isinstance(pattern, str) or len(node.args) != 1 or not _VERB.fullmatch(pattern):
        raise UntranslatableError("the filter format has a counterpart for one value, with %f, %e, %g or %s")
    operand = value_of(node.args[0], scope)
    if isinstance(operand, Text):
        return Text(f"printf {quoted(pattern)} {text_operand(operand)}")
    return as_number(operand).shaped(f"printf {quoted(pattern)}")


def _compare(node: nodes.Compare, scope: Scope) -> Condition:
    found: Condition = True
    left = node.expr
    for operand in node.ops:
        found = _of_two("and", found, _compare_two(left, operand, scope))
        left = operand.expr
    return found


def _compare_two(node: nodes.Expr, operand: nodes.Operand, scope: Scope) -> Condition:
    if operand.op in ("in", "notin"):
        return _among(node, operand, scope)
    left, right = value_of(node, scope), value_of(operand.expr, scope)
    numbers = [_is_number(one) for one in (left, right)]
    if any(numbers) and not all(numbers):
        if operand.op in ("eq", "ne"):
            return operand.op == "ne"  # a number and a text are never equal
        raise UntranslatableError("a number and a text cannot be compared")
    if not all(numbers):
        return f"{_GO[operand.op]} {text_operand(left)} {text_operand(right)}"
    operands = [_go_number(one) for one in (left, right)]
    if None not in operands:
        return f"{_GO[operand.op]} {operands[0]} {operands[1]}"
    one, other = as_number(left), as_number(right)
    vector = one.promql if one.vector or other.vector else f"vector({one.promql})"
    return Number("", one.operands + other.operands).query(f"{vector} {_PROMQL[operand.op]} {other.promql}")


def _is_number(value: Value) -> bool:
    if isinstance(value, Number):
        return as_number(value) is value
    return isinstance(value, Literal) and isinstance(value.value, int | float)


def _go_number(value: Value) -> str | None:
    """Return an operand of Go's comparisons, whose two sides must both be floats; None where it needs a query."""
    if isinstance(value, Literal) and isinstance(value.value, int | float):
        return repr(float(value.value)) if math.isfinite(value.value) else None
    return as_number(value).direct


def _among(node: nodes.Expr, operand: nodes.Operand, scope: Scope) -> Condition:
    if not isinstance(operand.expr, nodes.List | nodes.Tuple):
        raise UntranslatableError("in has a counterpart for a list of texts")
    found: Condition = False
    for item in operand.expr.items:
        found = _of_two("or", found, _compare_two(node, nodes.Operand("eq", item), scope))
    if operand.op == "in":
        return found
    return not found if isinstance(found, bool) else f"not {argument(found)}"
