"""Which labels the result of an expression may have, read off its syntax tree and the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable

from watchdog.promql.nodes import Aggregate, Binary, Call, Node, Number, Selector, Text, children
from watchdog.promql.storage import MatchOp
from watchdog.vocabulary import METRICS

IDENTITY = ("source", "project", "job", "node", "gpu", "status")
"""The labels of the vocabulary that tell two things apart; the others describe what these name."""
_KEEPING = ("topk", "bottomk")
_SCALARS = ("time", "pi", "scalar")


def result_labels(node: Node) -> frozenset[str]:
    """Return the names of all labels that a series of the result may have, the metric's name left out."""
    if isinstance(node, Selector):
        return _of_selector(node)
    if isinstance(node, Aggregate):
        return _of_aggregate(node)
    if isinstance(node, Binary):
        return _of_binary(node)
    if isinstance(node, Call):
        return _of_call(node)
    return frozenset().union(*(result_labels(child) for child in children(node)))


def common(names: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """Return the identifying labels that both have, in the order of the vocabulary."""
    both = set(names) & set(others)
    return tuple(name for name in IDENTITY if name in both)


def is_scalar(node: Node) -> bool:
    """Whether it is a number, not a vector."""
    if isinstance(node, Number | Text):
        return True
    if isinstance(node, Call):
        return node.name in _SCALARS
    if isinstance(node, Aggregate | Selector):
        return False
    return all(is_scalar(child) for child in children(node))


def _of_selector(node: Selector) -> frozenset[str]:
    if node.metric in METRICS:
        return frozenset(METRICS[node.metric].labels)
    return frozenset(name for metric in METRICS.values() for name in metric.labels)


def _of_aggregate(node: Aggregate) -> frozenset[str]:
    inner = result_labels(node.expr)
    if node.op in _KEEPING:
        return inner
    named = frozenset({node.param.value}) if isinstance(node.param, Text) else frozenset()
    return (inner - set(node.labels) if node.without else inner & set(node.labels)) | named


def _of_binary(node: Binary) -> frozenset[str]:
    left, right, matching = result_labels(node.left), result_labels(node.right), node.matching
    if is_scalar(node.left) or node.op == "or":
        return left | right
    if is_scalar(node.right) or node.op in ("and", "unless"):
        return left
    if matching.many:
        return (left if matching.many == "left" else right) | set(matching.include)
    return left & set(matching.labels) if matching.on else left - set(matching.labels)


def _of_call(node: Call) -> frozenset[str]:
    inner = frozenset().union(*(result_labels(child) for child in children(node)))
    texts = [item.value for item in node.arguments if isinstance(item, Text)]
    if node.name in ("absent", "absent_over_time"):
        return _equalities(node.arguments[0])
    if node.name in ("label_replace", "label_join"):
        return inner | {texts[0]}
    return frozenset() if node.name in _SCALARS else inner


def _equalities(node: Node) -> frozenset[str]:
    matchers = node.matchers if isinstance(node, Selector) else ()
    return frozenset(one.name for one in matchers if one.op is MatchOp.EQUAL and one.name != "__name__")
