"""Functions of instant vectors and scalars, and the list of everything that may be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from watchdog.promql.ranges import RANGE_FUNCTIONS
from watchdog.promql.storage import Floats

Elementwise = Callable[[Floats, list[float]], Floats]


def _clamp(values: Floats, bounds: list[float]) -> Floats:
    low, high = bounds
    return np.maximum(low, np.minimum(high, values))


ELEMENTWISE: Mapping[str, Elementwise] = {
    "abs": lambda values, _: np.abs(values),
    "clamp": _clamp,
    "clamp_min": lambda values, bounds: np.maximum(bounds[0], values),
    "clamp_max": lambda values, bounds: np.minimum(bounds[0], values),
}
"""One value per series from one value per series; the metric's name goes."""

SPECIAL = frozenset({"absent", "scalar", "vector", "time"})
"""Functions that the evaluator knows itself."""

FUNCTIONS: frozenset[str] = frozenset(RANGE_FUNCTIONS) | frozenset(ELEMENTWISE) | SPECIAL
AGGREGATIONS: frozenset[str] = frozenset({"sum", "min", "max", "avg", "count", "quantile", "topk", "bottomk"})
