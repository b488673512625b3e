"""At which node an expression gives nothing for a subject, and with which numbers."""

from __future__ import annotations

import math

import numpy as np

from watchdog.engine.explain.label import label
from watchdog.engine.explain.look import Look, Window, is_empty, is_ranged
from watchdog.engine.explain.model import Reading, Reason, Verdict
from watchdog.engine.explain.steps import compared
from watchdog.promql.binary import COMPARISON
from watchdog.promql.nodes import Binary, Call, Node, Selector, Subquery, children
from watchdog.promql.write import duration

_DIRECTION = {"<": "too high", "<=": "too high", ">": "too low", ">=": "too low"}
_ABSENT = ("absent", "absent_over_time")


def blame(look: Look) -> Verdict:
    """Return why the whole expression gives no series of the subject."""
    root = look.evaluation.query.root
    node, found = _blame(look, root)
    where = "" if node is root or found.reason is not Reason.FALSE else f", in {label(node)}"
    return Verdict(found.reason, found.text + where)


def sides(reading: Reading) -> str:
    """Return a comparison in words: ``0.9 < 0.05 does not hold, 0.85 too high``; empty for what is none."""
    left, right, op = reading.left, reading.right, reading.op
    if left is None or right is None:
        return ""
    text = f"{short(left)} {op} {short(right)}"
    if reading.holds:
        return f"{text} holds"
    text += " does not hold"
    apart = abs(left - right)
    if not math.isfinite(apart) or not apart:
        return text
    return f"{text}, {short(apart)} {_DIRECTION.get(op, 'apart')}"


def short(value: float) -> str:
    """Return a number with six digits at most."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    return f"{value:.6g}"


def _blame(look: Look, node: Node) -> tuple[Node, Verdict]:
    if isinstance(node, Selector):
        age = "" if node.range is not None else " that is fresh enough"
        return node, Verdict(Reason.NO_SAMPLES, f"there is no sample of {label(node)}{age}")
    if isinstance(node, Binary):
        return _blame_binary(look, node)
    if isinstance(node, Call) and node.name in _ABSENT:
        return node, Verdict(Reason.FALSE, f"there are samples of {label(node.arguments[0])}")
    ranged = next((child for child in children(node) if is_ranged(child)), None)
    if ranged is not None:
        return _blame_range(look, node, ranged)
    return _first_empty(look, node) or (node, Verdict(Reason.FALSE, "it gives no series"))


def _first_empty(look: Look, node: Node) -> tuple[Node, Verdict] | None:
    child = next((child for child in children(node) if is_empty(look.value(child))), None)
    return None if child is None else _blame(look, child)


def _blame_binary(look: Look, node: Binary) -> tuple[Node, Verdict]:
    if node.op == "unless" and not is_empty(look.value(node.left)):
        return node, Verdict(Reason.FALSE, f"what unless excludes is there: {label(node.right)}")
    if (below := _first_empty(look, node)) is not None:
        return below
    pairs = look.pairs(node) if node.op in COMPARISON else None
    if pairs is None or not len(pairs.holds):
        return node, Verdict(Reason.FALSE, f"no series of the two sides of {node.op} have the same labels")
    readings = compared(look, node.op, pairs)
    nearest, count = readings[0], len(pairs.holds)
    of = f", the nearest of {count}" if count > 1 else ""
    name = f"{nearest.name}: " if nearest.name else ""
    return node, Verdict(Reason.FALSE, f"{name}{sides(nearest)}{of}")


def _blame_range(look: Look, call: Node, node: Node) -> tuple[Node, Verdict]:
    """Say whether a range has no samples or too few; a subquery is empty for what is below it."""
    windows = [window for window in look.windows(node, call) if len(window.counts)]
    if not windows or not any((window.counts > 0).any() for window in windows):
        if isinstance(node, Subquery) and is_empty(look.value(node.expr)):
            return _blame(look, node.expr)
        return node, Verdict(Reason.NO_SAMPLES, f"there is no sample of {label(node)}")
    return node, Verdict(Reason.UNCOVERED, _coverage(look, node, max(windows, key=lambda one: float(one.counts.max()))))


def _coverage(look: Look, node: Node, window: Window) -> str:
    most = int(np.argmax(window.counts))
    name = look.subject.name(window.labels.row(most))
    of = f" ({name})" if name else ""
    held, needed = int(window.counts[most]), math.ceil(window.needed - 1e-9)
    return f"{label(node)} holds {held} of {window.expected:.6g} samples, {needed} are needed{of}"


def described(seconds: float) -> str:
    """Return a duration as it is written in rules, in whole seconds."""
    return duration(float(round(seconds)))
