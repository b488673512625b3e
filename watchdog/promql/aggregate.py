"""Aggregations over the series of one time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from watchdog.errors import EvaluationError
from watchdog.labels import METRIC_NAME, Index, LabelColumns
from watchdog.promql.nodes import Aggregate
from watchdog.promql.numbers import format_float
from watchdog.promql.ranges import quantile_of_sorted
from watchdog.promql.storage import Floats
from watchdog.promql.values import Vector


def aggregate(node: Aggregate, vector: Vector, param: float, version: int = 3) -> Vector:
    """Return the aggregation of ``vector``; ``param`` is the number of quantile, topk and bottomk."""
    kept = _kept(node, vector.labels, node.labels)
    group, first = kept.group()
    if node.op in ("topk", "bottomk"):
        return _best(vector, group, param, largest=node.op == "topk")
    values = _reduce(node.op, vector.values, group, len(first), param)
    if version < 3 and node.op in ("stddev", "stdvar"):
        # Prometheus 2 says that one value varies by 0 even when it is no number.
        values = np.where(np.bincount(group, minlength=len(first)) == 1, 0.0, values)
    return Vector(kept.take(first), values)


def count_values(node: Aggregate, vector: Vector, label: str) -> Vector:
    """Return how many series of each group have each value, which becomes the label ``label``."""
    table = vector.labels.table
    distinct, which = np.unique(vector.values, return_inverse=True)
    codes = np.array([table.code(format_float(value)) for value in distinct.tolist()], dtype=np.int32)
    labelled = vector.labels.with_columns({label: codes[which]})
    kept = _kept(node, labelled, (*node.labels, label) if not node.without else node.labels)
    group, first = kept.group()
    return Vector(kept.take(first), np.bincount(group, minlength=len(first)).astype(float))


def _kept(node: Aggregate, labels: LabelColumns, named: Iterable[str]) -> LabelColumns:
    return labels.drop([METRIC_NAME, *named]) if node.without else labels.keep(named)


def _reduce(op: str, values: Floats, group: Index, groups: int, param: float) -> Floats:
    counts = np.bincount(group, minlength=groups)
    if op in ("count", "group"):
        return counts.astype(float) if op == "count" else np.ones(groups)
    if op == "sum":
        return _sum(values, group, groups)
    if op == "avg":
        return _avg(values, group, groups, counts)
    if op in ("stddev", "stdvar"):
        variance = _variance(values, group, groups, counts)
        return variance if op == "stdvar" else np.sqrt(variance)
    if op == "quantile":
        return _quantile(values, group, groups, param)
    result = np.full(groups, np.nan)
    (np.fmin if op == "min" else np.fmax).at(result, group, values)
    return result


def _sum(values: Floats, group: Index, groups: int) -> Floats:
    return np.asarray(np.bincount(group, weights=values, minlength=groups), dtype=float)


def _avg(values: Floats, group: Index, groups: int, counts: Index) -> Floats:
    total = _sum(values, group, groups)
    if not np.isinf(total).any():
        return total / counts
    small = _sum(values / counts[group], group, groups)  # finite where only the sum is too large
    return np.where(np.isinf(total), small, total / counts)


def _variance(values: Floats, group: Index, groups: int, counts: Index) -> Floats:
    """Return the variance around the mean. Distances are from a value of the group: equal values give 0."""
    origin = np.zeros(groups)
    origin[group] = values
    away = values - origin[group]
    away = away - (_sum(away, group, groups) / counts)[group]
    return _sum(away * away, group, groups) / counts


def _quantile(values: Floats, group: Index, groups: int, q: float) -> Floats:
    counts = np.bincount(group, minlength=groups)
    order = np.lexsort((np.where(np.isnan(values), -np.inf, values), group))
    place = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((int(counts.max(initial=1)), groups), np.inf)
    table[place, group[order]] = values[order]
    return quantile_of_sorted(q, table, counts)


def _best(vector: Vector, group: Index, k: float, *, largest: bool) -> Vector:
    """Return the k best of each group with all their labels; NaN is never better than a number."""
    if np.isnan(k) or k > 2**62 or k < -(2**62):
        raise EvaluationError(f"{k} series cannot be picked; give a whole number")
    keys = np.where(np.isnan(vector.values), np.inf, -vector.values if largest else vector.values)
    order = np.lexsort((keys, group))
    counts = np.bincount(group)
    place = np.arange(vector.size) - np.repeat(np.cumsum(counts) - counts, counts)
    picked = order[place < int(k)]
    return Vector(vector.labels.take(picked), vector.values[picked])
