"""The nodes of an expression and what they gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from watchdog.engine.explain.label import label
from watchdog.promql import parse

LONG = "max_over_time(gpu_utilization[10m])"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ("gpu_utilization  <  0.05", "gpu_utilization < 0.05"),
        (f"{LONG} + {LONG} < 0.05", "… < 0.05"),
        (f"{LONG} < bool on (job, gpu) group_left () {LONG}", "… < bool on (job, gpu) group_left () …"),
        (f"clamp({LONG} + gpu_memory_utilization, 0, 1)", "clamp(…, 0, 1)"),
        (f"label_replace({LONG}, 'a', 'b', 'c', '(.*)')", 'label_replace(…, "a", "b", "c", "(.*)")'),
        (f"topk by (job) (3, {LONG} + gpu_memory_utilization)", "topk by (job) (3, …)"),
        (f"-({LONG} + gpu_memory_utilization + job_gpus)", "-…"),
        (f"({LONG} + gpu_memory_utilization)[1h:1m] offset 5m", "…[1h:1m] offset 5m"),
        (f'x{{a="{"b" * 70}"}}', f'x{{a="{"b" * 70}"}}'),
    ],
)
def test_a_long_node_leaves_out_what_is_below_it(expr: str, text: str) -> None:
    assert label(parse(expr).root) == text


@pytest.mark.parametrize(("length", "whole"), [(59, True), (60, True), (61, False)])
def test_how_long_a_node_may_be(length: int, whole: bool) -> None:
    expr = f"-{'x' * (length - 1)}"
    assert (label(parse(expr).root) == expr) is whole


def test_every_node_is_there_in_its_place(make_world: Callable[..., Any], rules: Any, tell: Callable[..., Any]) -> None:
    expr = "topk(2, -gpu_utilization + 1) > (1 < bool 2)"
    world = make_world(rules(replace_expr=expr))
    world.run(1, g0=0.5)
    steps = tell(world).expr.steps
    assert [(step.depth, step.text, step.literal) for step in steps] == [
        (0, "topk(2, -gpu_utilization + 1) > (1 < bool 2)", False),
        (1, "topk(2, -gpu_utilization + 1)", False),
        (2, "2", True),
        (2, "-gpu_utilization + 1", False),
        (3, "-gpu_utilization", False),
        (4, "gpu_utilization", False),
        (3, "1", True),
        (1, "1 < bool 2", False),
        (2, "1", True),
        (2, "2", True),
    ]
    assert (expr[steps[1].start : steps[1].end], expr[steps[5].start : steps[5].end]) == ("topk", "gpu_utilization")
    assert [step.number for step in steps] == [None, None, 2.0, None, None, None, 1.0, 1.0, 1.0, 2.0]
    assert {step.note for step in steps} == {""}


def test_a_number_is_shown(make_world: Callable[..., Any], rules: Any, seen: Callable[..., str]) -> None:
    world = make_world(rules(replace_expr="gpu_utilization < scalar(min(gpu_utilization))"))
    world.run(1, g0=0.5)
    lines = [line.strip() for line in seen(world).splitlines()]
    assert "scalar(min(gpu_utilization))                   0.5" in lines


def test_a_comparison_that_cannot_be_matched_shows_what_it_was_given(
    make_world: Callable[..., Any], rules: Any, tell: Callable[..., Any]
) -> None:
    world = make_world(rules(replace_expr="gpu_utilization < on (job) gpu_utilization"))
    world.run(1, g0=0.5, g1=0.7)
    top, left, right = tell(world).expr.steps
    assert (top.note, top.readings) == ("not reached", ())
    assert [one.value for one in left.readings] == [one.value for one in right.readings] == [0.5, 0.7]


@pytest.mark.parametrize(
    ("minutes", "notes"), [(0, ["", "", "no samples"]), (1, ["no series", "no series", "there are samples"])]
)
def test_what_is_absent(
    make_world: Callable[..., Any], rules: Any, tell: Callable[..., Any], minutes: int, notes: list[str]
) -> None:
    world = make_world(rules(replace_expr="absent_over_time(gpu_utilization[10m]) == 1"))
    world.silent(1)
    world.run(minutes, g0=0.5)
    assert [step.note for step in tell(world).expr.steps if not step.literal] == notes


def test_series_beyond_a_hundred_are_counted(world: Any, tell: Callable[..., Any]) -> None:
    world.run(10, **{f"g{gpu}": 0.5 for gpu in range(102)})
    steps = [step for step in tell(world).expr.steps if not step.literal]
    assert [(len(step.readings), step.more) for step in steps] == [(100, 2)] * 3


def test_the_nearest_to_hold_come_first(make_world: Callable[..., Any], rules: Any, tell: Callable[..., Any]) -> None:
    world = make_world(rules(replace_expr="gpu_utilization / gpu_utilization * gpu_utilization < 0.3"))
    world.run(1, g0=0.9, g1=0.2, g2=0.5, g3=0.0, g4=0.1)
    assert [one.left for one in tell(world).expr.steps[0].readings[:4]] == [0.2, 0.1, 0.5, 0.9]
