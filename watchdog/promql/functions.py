"""Functions of instant vectors and scalars, and the list of everything that may be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from watchdog.promql.calendar import CALENDAR
from watchdog.promql.changes import RANGE_FUNCTIONS
from watchdog.promql.storage import Floats

Elementwise = Callable[[Floats, list[float]], Floats]


def _highest(a: Floats | float, b: Floats) -> Floats:
    """As Go has it: infinity is the highest even beside NaN."""
    return np.where(np.isposinf(a) | np.isposinf(b), np.inf, np.maximum(a, b))


def _lowest(a: Floats | float, b: Floats) -> Floats:
    return -_highest(-a, -b)


def _clamp(values: Floats, bounds: list[float]) -> Floats:
    low, high = bounds
    return _highest(low, _lowest(high, values))


def _round(values: Floats, to: list[float]) -> Floats:
    """Round to the nearest multiple; halves go up."""
    inverse = 1.0 / np.float64(to[0] if to else 1.0)
    return np.asarray(np.floor(values * inverse + 0.5) / inverse)


def _of(function: Callable[[Floats], Floats]) -> Elementwise:
    return lambda values, _: function(values)


ELEMENTWISE: Mapping[str, Elementwise] = {
    "clamp": _clamp,
    "clamp_min": lambda values, bounds: _highest(bounds[0], values),
    "clamp_max": lambda values, bounds: _lowest(bounds[0], values),
    "round": _round,
    **{name: _of(function) for name, function in CALENDAR.items()},
    **{
        name: _of(function)
        for name, function in {
            "abs": np.abs,
            "ceil": np.ceil,
            "floor": np.floor,
            "exp": np.exp,
            "ln": np.log,
            "log2": np.log2,
            "log10": np.log10,
            "sqrt": np.sqrt,
            "sgn": np.sign,
            "deg": np.rad2deg,
            "rad": np.deg2rad,
            "sin": np.sin,
            "cos": np.cos,
            "tan": np.tan,
            "asin": np.arcsin,
            "acos": np.arccos,
            "atan": np.arctan,
            "sinh": np.sinh,
            "cosh": np.cosh,
            "tanh": np.tanh,
            "asinh": np.arcsinh,
            "acosh": np.arccosh,
            "atanh": np.arctanh,
        }.items()
    },
}
"""One value per series from one value per series; the metric's name goes."""

LABELLING = frozenset({"label_replace", "label_join"})
"""Functions that change labels and keep values."""
SCALARS = frozenset({"time", "pi", "scalar"})
"""Functions that give a number."""
SPECIAL = frozenset({"absent", "absent_over_time", "vector", "timestamp", "sort", "sort_desc", *LABELLING, *SCALARS})
"""Functions that the evaluator knows itself."""

FUNCTIONS: frozenset[str] = frozenset(RANGE_FUNCTIONS) | frozenset(ELEMENTWISE) | SPECIAL
AGGREGATIONS: frozenset[str] = frozenset(
    {
        "sum",
        "min",
        "max",
        "avg",
        "count",
        "group",
        "stddev",
        "stdvar",
        "quantile",
        "topk",
        "bottomk",
        "count_values",
    }
)
