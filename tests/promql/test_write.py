"""A tree written as text is the same tree when it is read again, in one line or in many."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchdog.promql import parse
from watchdog.promql.nodes import Binary, Matching, Node, Number
from watchdog.promql.write import duration, number, write

EXPRESSIONS = [
    "1",
    "-1",
    "0.05",
    "1e20",
    "Inf",
    "m",
    "-m",
    "-(a + b)",
    "- -m",
    "m > bool 1",
    "-1 ^ 2",
    "(-1) ^ 2",
    "m ^ 2 ^ 3",
    "(m ^ 2) ^ 3",
    "a - b - c",
    "a - (b - c)",
    "a * (b + c)",
    "a + b * c",
    "(a or b) and c",
    "a or b and c",
    "a unless (b or c)",
    "a and on () b",
    "a and on (x, y) b",
    "a * ignoring (x) b",
    "a / on (x) group_left () b",
    "a < on (x) group_right (y, z) b",
    'm{a="b", c!="d", e=~"f.*|\\"g\\"", h!~"\\\\d"}',
    '{__name__=~"a|b", x="y"}',
    '{__name__="a:b"}',
    "m offset 5m",
    "m offset -90s",
    "m @ 1700000000",
    "m @ 1700000000.5 offset 1h",
    "m @ start()",
    "rate(m[5m] @ end() offset 1d)",
    "sum(m)",
    "sum by (a, b) (m)",
    "count without (a) (m)",
    "topk by (a) (3, m)",
    "quantile(0.5, m)",
    'count_values by (a) ("v", m)',
    "avg_over_time(m[1h30m])",
    "quantile_over_time(0.95, m[500ms])",
    "max_over_time((a + b)[1h:1m] offset 5m)",
    "max_over_time(rate(a[5m])[1h:])",
    "max_over_time((-a)[1h:])",
    'label_replace(m, "a", "$1", "b", "(.*)\\\\d\\n")',
    "time()",
    "vector(1) + scalar(m)",
    "clamp(m, 0, 1)",
    'absent(m{a="b"})',
    "timestamp(m)",
    "a == b",
    "a != bool b",
    "a % b atan2 c",
    "a and (b unless on (x) count_over_time(c[5m]) < 3) or d",
]


def bare(item: Any) -> Any:
    """The tree without places."""
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        fields = [f.name for f in dataclasses.fields(item) if f.name not in ("start", "end")]
        return type(item).__name__, *(bare(getattr(item, name)) for name in fields)
    return tuple(bare(one) for one in item) if isinstance(item, tuple) else item


@pytest.mark.parametrize("width", [1, 20, 100])
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_what_is_written_reads_back_as_the_same_tree(text: str, width: int) -> None:
    root = parse(text).root
    written = write(root, width)
    assert bare(parse(written).root) == bare(root), written
    assert write(parse(written).root, width) == written


def combined(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    operator = st.sampled_from(["or", "and", "unless", "==", "<=", "+", "-", "*", "%", "^", "atan2"])
    matching = Matching(on=False, labels=())
    return st.builds(lambda op, left, right: Binary(0, 0, op, left, right, False, matching), operator, parts, parts)


LEAVES = st.sampled_from([parse(text).root for text in ("a", 'b{x="y"}', "-c", "sum by (x) (d)")])


@given(st.recursive(LEAVES, combined, max_leaves=8), st.sampled_from([5, 30, 100]))
def test_brackets_keep_the_shape(tree: Node, width: int) -> None:
    assert bare(parse(write(tree, width)).root) == bare(tree)


def test_lines_are_short_where_they_can_be() -> None:
    text = "max by (a) (max_over_time(m[15m])) < 0.05 and on (a) n"
    assert write(parse(text).root, 60) == text
    assert write(parse(text).root, 50) == "max by (a) (max_over_time(m[15m])) < 0.05\nand on (a) n"
    assert write(parse(text).root, 30) == (
        "(\n  max by (a) (\n    max_over_time(m[15m])\n  )\n  < 0.05\n)\nand on (a) n"
    )


def test_one_tree_may_stand_on_both_sides() -> None:
    leaf = parse("a - b").root
    assert write(Binary(0, 0, "-", leaf, leaf, False, Matching(on=False, labels=()))) == "a - b - (a - b)"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0s"), (-90.0, "-1m30s"), (0.5, "500ms"), (3600.25, "1h250ms"), (1209600.0, "14d")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("value", "text"), [(3.0, "3"), (0.5, "0.5"), (1e15, "1000000000000000.0"), (1e-7, "1e-07")])
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text
    root = parse(text).root
    assert isinstance(root, Number)
    assert root.value == value
