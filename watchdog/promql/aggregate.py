"""Aggregations over the series of one time."""

from __future__ import annotations

import numpy as np

from watchdog.errors import EvaluationError
from watchdog.labels import METRIC_NAME, Index
from watchdog.promql.nodes import Aggregate
from watchdog.promql.ranges import quantile_of_sorted
from watchdog.promql.storage import Floats
from watchdog.promql.values import Vector


def aggregate(node: Aggregate, vector: Vector, param: float) -> Vector:
    """Return the aggregation of ``vector``; ``param`` is the number of quantile, topk and bottomk."""
    kept = vector.labels.drop([METRIC_NAME, *node.labels]) if node.without else vector.labels.keep(node.labels)
    group, first = kept.group()
    if node.op in ("topk", "bottomk"):
        return _best(vector, group, param, largest=node.op == "topk")
    return Vector(kept.take(first), _reduce(node.op, vector.values, group, len(first), param))


def _reduce(op: str, values: Floats, group: Index, groups: int, param: float) -> Floats:
    if op == "count":
        return np.bincount(group, minlength=groups).astype(float)
    if op == "sum":
        return np.asarray(np.bincount(group, weights=values, minlength=groups), dtype=float)
    if op == "avg":
        return np.bincount(group, weights=values, minlength=groups) / np.bincount(group, minlength=groups)
    if op == "quantile":
        return _quantile(values, group, groups, param)
    result = np.full(groups, np.nan)
    (np.fmin if op == "min" else np.fmax).at(result, group, values)
    return result


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
