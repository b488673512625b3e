"""PromQL: parse, check, evaluate."""

from watchdog.promql.evaluate import evaluate
from watchdog.promql.options import Observe, Options, RangeView, Result
from watchdog.promql.parse import Query, parse, point
from watchdog.promql.query import Answer, Series, instant, over_range
from watchdog.promql.values import Scalar, Value, Vector

__all__ = [
    "Answer",
    "Observe",
    "Options",
    "Query",
    "RangeView",
    "Result",
    "Scalar",
    "Series",
    "Value",
    "Vector",
    "evaluate",
    "instant",
    "over_range",
    "parse",
    "point",
]
