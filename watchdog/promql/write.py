"""A syntax tree as PromQL text again: on one line where it fits, else a line per operand."""

from __future__ import annotations

import json

from watchdog.labels import METRIC_NAME
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
    children,
)
from watchdog.promql.storage import Matcher, MatchOp

WIDTH = 100
"""Characters of a line before an expression is broken into more."""
_PRECEDENCE = (
    ("or",),
    ("and", "unless"),
    ("==", "!=", "<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/", "%", "atan2"),
    ("^",),
)
_RANK = {op: rank for rank, ops in enumerate(_PRECEDENCE) for op in ops}
_POWER = _RANK["^"]
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def write(node: Node, width: int = WIDTH) -> str:
    """Return text that parses to the same tree; lines are longer than ``width`` only where nothing can be broken."""
    return _write(node, width, 0)


def number(value: float) -> str:
    """Return a number as PromQL writes it, without a needless ``.0``."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def duration(seconds: float) -> str:
    """Return seconds as PromQL writes them: ``1h30m``, ``500ms``, ``-5m``."""
    whole, rest = divmod(round(abs(seconds) * 1000), 1000)
    text = ""
    for size, unit in _UNITS:
        count, whole = divmod(whole, size)
        text += f"{count}{unit}" if count else ""
    text += f"{rest}ms" if rest else ""
    return ("-" if seconds < 0 else "") + (text or "0s")


def _write(node: Node, width: int, depth: int) -> str:
    flat = _flat(node)
    if depth + len(flat) <= width or not children(node):
        return flat
    if isinstance(node, Binary):
        left, right = _operands(node, width, depth)
        return f"{left}\n{' ' * depth}{_operator(node)} {right}"
    if isinstance(node, Negate):
        return f"-{_enclosed(_write(node.expr, width, depth + 2), depth)}"
    if isinstance(node, Subquery):
        return _enclosed(_write(node.expr, width, depth + 2), depth) + _reach(node)
    return _head(node) + _enclosed(_arguments(node, width, depth + 2), depth)


def _enclosed(inner: str, depth: int) -> str:
    return f"(\n{' ' * (depth + 2)}{inner}\n{' ' * depth})"


def _arguments(node: Node, width: int, depth: int) -> str:
    return f",\n{' ' * depth}".join(_write(child, width, depth) for child in children(node))


def _operands(node: Binary, width: int, depth: int) -> tuple[str, str]:
    """Return both sides, with brackets where the precedence asks for them, and around what takes several lines."""
    return _side(node, width, depth, left=True), _side(node, width, depth, left=False)


def _side(parent: Binary, width: int, depth: int, *, left: bool) -> str:
    node = parent.left if left else parent.right
    flat, needed = _flat(node), _needs_brackets(parent, node, left=left)
    before = 0 if left else len(_operator(parent)) + 1
    if depth + before + len(flat) + 2 * needed <= width:
        return f"({flat})" if needed else flat
    chain = left and isinstance(node, Binary) and _RANK[node.op] == _RANK[parent.op]
    if needed or (isinstance(node, Binary) and not chain):
        return _enclosed(_write(node, width, depth + 2), depth)
    return _write(node, width, depth)


def _needs_brackets(parent: Binary, child: Node, *, left: bool) -> bool:
    if isinstance(child, Binary):
        inner, outer = _RANK[child.op], _RANK[parent.op]
        return inner < outer or (inner == outer and left == (outer == _POWER))  # only ^ binds from the right
    signed = isinstance(child, Negate) or (isinstance(child, Number) and child.value < 0)
    return signed and left and parent.op == "^"


def _flat(node: Node) -> str:
    if isinstance(node, Number):
        return number(node.value)
    if isinstance(node, Text):
        return json.dumps(node.value, ensure_ascii=False)
    if isinstance(node, Selector):
        return _selector(node)
    if isinstance(node, Subquery):
        inner = _flat(node.expr)
        return (f"({inner})" if isinstance(node.expr, Binary | Negate | Number) else inner) + _reach(node)
    if isinstance(node, Negate):
        inner = _flat(node.expr)
        return f"-({inner})" if isinstance(node.expr, Binary) else f"-{inner}"
    if isinstance(node, Binary):
        left, right = _flat(node.left), _flat(node.right)
        left = f"({left})" if _needs_brackets(node, node.left, left=True) else left
        right = f"({right})" if _needs_brackets(node, node.right, left=False) else right
        return f"{left} {_operator(node)} {right}"
    return f"{_head(node)}({', '.join(_flat(child) for child in children(node))})"


def _head(node: Node) -> str:
    """Return what stands before the bracket of a call or an aggregation."""
    if isinstance(node, Aggregate):
        grouped = f" {'without' if node.without else 'by'} ({', '.join(node.labels)}) "
        return node.op + (grouped if node.labels or node.without else "")
    return node.name if isinstance(node, Call) else ""


def _operator(node: Binary) -> str:
    return f"{node.op}{' bool' if node.bool_ else ''}{_matching(node.matching)}"


def _matching(matching: Matching) -> str:
    text = ""
    if matching.on or matching.labels:
        text = f" {'on' if matching.on else 'ignoring'} ({', '.join(matching.labels)})"
    if matching.many:
        text += f" group_{matching.many} ({', '.join(matching.include)})"
    return text


def _selector(node: Selector) -> str:
    named = Matcher(METRIC_NAME, MatchOp.EQUAL, node.metric or "")
    matchers = [matcher for matcher in node.matchers if node.metric is None or matcher != named]
    inner = ", ".join(f"{one.name}{one.op.value}{json.dumps(one.value, ensure_ascii=False)}" for one in matchers)
    text = (node.metric or "") + (f"{{{inner}}}" if inner else "")
    window = "" if node.range is None else f"[{duration(node.range)}]"
    return text + window + _moved(node.at, node.offset)


def _reach(node: Subquery) -> str:
    return f"[{duration(node.range)}:{duration(node.step) if node.step else ''}]" + _moved(node.at, node.offset)


def _moved(at: float | Edge | None, offset: float) -> str:
    text = ""
    if at is not None:
        text = f" @ {at.value}()" if isinstance(at, Edge) else f" @ {number(at)}"
    return text + (f" offset {duration(offset)}" if offset else "")
