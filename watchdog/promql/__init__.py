"""PromQL: parse, check, evaluate."""

from watchdog.promql.evaluate import Observe, Options, RangeView, Result, evaluate
from watchdog.promql.parse import Query, parse, point
from watchdog.promql.values import Scalar, Value, Vector

__all__ = [
    "Observe",
    "Options",
    "Query",
    "RangeView",
    "Result",
    "Scalar",
    "Value",
    "Vector",
    "evaluate",
    "parse",
    "point",
]
