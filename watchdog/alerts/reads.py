"""What an expression makes of the metrics it reads: which it sums up, which it only misses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from watchdog.promql import Query
from watchdog.promql.nodes import Aggregate, Call, Selector
from watchdog.promql.parse import walk
from watchdog.vocabulary import METRICS, Scope

_PICKS = ("topk", "bottomk")
"""Aggregations whose result is single series, each speaking for itself."""


class Sum(NamedTuple):
    """A metric of GPUs or nodes of which several series become one: with one missing it speaks of a part."""

    metric: str
    per_node: bool
    """Whether each node has a result of its own."""


def sums_of(queries: Iterable[Query]) -> frozenset[Sum]:
    """Return what the expressions sum up over GPUs or nodes."""
    nodes = [node for query in queries for node in walk(query.root)]
    sums = [node for node in nodes if isinstance(node, Aggregate) and node.op not in _PICKS]
    return frozenset(
        Sum(selector.metric, per_node=_keeps(node, "node"))
        for node in sums
        for selector in walk(node.expr)
        if isinstance(selector, Selector) and selector.metric in METRICS
        if _drops(node, METRICS[selector.metric].scope)
    )


def only_missed(query: Query) -> frozenset[str]:
    """Return the metrics that an expression reads only to see that they are not there."""
    calls = [n for n in walk(query.root) if isinstance(n, Call) and n.name in ("absent", "absent_over_time")]
    missed = [one for call in calls for one in walk(call) if isinstance(one, Selector)]
    others = {one.metric for one in query.selectors if not any(one is other for other in missed)}
    return frozenset(one.metric for one in missed if one.metric is not None) - others


def _drops(node: Aggregate, scope: Scope) -> bool:
    if scope is Scope.GPU:
        return not _keeps(node, "gpu")
    return scope is Scope.NODE and not _keeps(node, "node")


def _keeps(node: Aggregate, label: str) -> bool:
    return (label in node.labels) is not node.without
