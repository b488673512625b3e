"""Operators between numbers and vectors, and how two vectors are matched."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from watchdog.errors import EvaluationError
from watchdog.labels import METRIC_NAME, Index, LabelColumns
from watchdog.promql.nodes import Binary, Matching
from watchdog.promql.storage import Floats
from watchdog.promql.values import Scalar, Value, Vector, empty, refuse_repeats

Operation = Callable[[Floats, Floats], Floats]

ARITHMETIC: Mapping[str, Operation] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": np.power,
    "atan2": np.arctan2,
}
COMPARISON: Mapping[str, Operation] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def binary(node: Binary, left: Value, right: Value) -> Value:
    """Apply an operator. Raises EvaluationError where vectors do not match one to one as asked."""
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        operation = ARITHMETIC.get(node.op) or COMPARISON[node.op]
        return Scalar(float(operation(np.float64(left.value), np.float64(right.value))))  # type: ignore[arg-type]
    if isinstance(left, Vector) and isinstance(right, Vector):
        if node.op in ("and", "or", "unless"):
            return _set(node, left, right)
        return _vectors(node, left, right)
    if isinstance(left, Vector) and isinstance(right, Scalar):
        return _with_scalar(node, left, left.values, np.full(left.size, right.value))
    if isinstance(left, Scalar) and isinstance(right, Vector):
        return _with_scalar(node, right, np.full(right.size, left.value), right.values)
    raise EvaluationError(f"{node.op} cannot be applied here")


def _with_scalar(node: Binary, vector: Vector, left: Floats, right: Floats) -> Vector:
    if node.op in ARITHMETIC:
        return Vector(vector.labels, ARITHMETIC[node.op](left, right)).without_name()
    holds = COMPARISON[node.op](left, right).astype(bool)
    if node.bool_:
        return Vector(vector.labels, holds.astype(float)).without_name()
    return vector.where(holds)


def _signatures(matching: Matching, left: LabelColumns, right: LabelColumns) -> tuple[Index, Index]:
    """Return a number per series of each side, equal where they match."""
    if matching.on:
        parts = [side.keep(matching.labels) for side in (left, right)]
    else:
        parts = [side.drop([METRIC_NAME, *matching.labels]) for side in (left, right)]
    group, _ = LabelColumns.concat(parts).group()
    return group[: left.size], group[left.size :]


def _set(node: Binary, left: Vector, right: Vector) -> Vector:
    mine, theirs = _signatures(node.matching, left.labels, right.labels)
    if node.op == "or":
        rest = right.where(~np.isin(theirs, mine))
        return Vector(LabelColumns.concat([left.labels, rest.labels]), np.concatenate([left.values, rest.values]))
    both = np.isin(mine, theirs)
    return left.where(both if node.op == "and" else ~both)


def _vectors(node: Binary, left: Vector, right: Vector) -> Vector:
    """Match the many side (the left one unless group_right) to the other, whose matches must be unique."""
    if not left.size or not right.size:
        return empty(left.labels.table)  # before anything is said about how they match, as in Prometheus
    swapped = node.matching.many == "right"
    many, one = (right, left) if swapped else (left, right)
    many_sig, one_sig = _signatures(node.matching, many.labels, one.labels)
    if len(np.unique(one_sig)) != len(one_sig):
        side = "left" if swapped else "right"
        raise EvaluationError(
            f"several series of the {side} side of {node.op} match the same group; match on more labels"
        )
    place = np.full(int(max(many_sig.max(initial=-1), one_sig.max(initial=-1))) + 1, -1, dtype=np.intp)
    place[one_sig] = np.arange(one.size)
    partner = place[many_sig] if many.size else np.zeros(0, dtype=np.intp)
    hit = partner >= 0
    kept, partner, signature = many.where(hit), partner[hit], many_sig[hit]
    a, b = (one.values[partner], kept.values) if swapped else (kept.values, one.values[partner])
    values, keep = _compute(node, a, b)
    if keep is not None:
        kept, partner, signature, values = kept.where(keep), partner[keep], signature[keep], values[keep]
    labels = _result_labels(node, kept.labels, one.labels, partner)
    if not node.matching.many:
        if len(np.unique(signature)) != len(signature):
            raise EvaluationError(
                f"several series of the left side of {node.op} match one of the right; "
                "match on more labels, or say group_left"
            )
    else:
        refuse_repeats(labels)
    return Vector(labels, values)


def _compute(node: Binary, a: Floats, b: Floats) -> tuple[Floats, np.ndarray | None]:
    """Return values, and for a filter which of them stay."""
    if node.op in ARITHMETIC:
        return ARITHMETIC[node.op](a, b), None
    holds = COMPARISON[node.op](a, b).astype(bool)
    return (holds.astype(float), None) if node.bool_ else (a, holds)


def _result_labels(node: Binary, many: LabelColumns, one: LabelColumns, partner: Index) -> LabelColumns:
    matching = node.matching
    labels = many.drop([METRIC_NAME]) if node.op in ARITHMETIC or node.bool_ else many
    if not matching.many:
        labels = labels.keep(matching.labels) if matching.on else labels.drop(matching.labels)
    return labels.with_columns({name: one.column(name)[partner] for name in matching.include})
