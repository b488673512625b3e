"""Which node of an expression is to blame, over every kind of node. The job has GPUs 0 (0.9) and 1 (0.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from watchdog.engine.explain.blame import short, sides
from watchdog.engine.explain.model import Reading, Reason

GPU = "node=n0 gpu="
NEAREST = ", the nearest of 2"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ("gpu_utilization < 0.3", f"{GPU}1: 0.5 < 0.3 does not hold, 0.2 too high{NEAREST}"),
        ("gpu_utilization <= 0.3", f"{GPU}1: 0.5 <= 0.3 does not hold, 0.2 too high{NEAREST}"),
        ("gpu_utilization > 1", f"{GPU}0: 0.9 > 1 does not hold, 0.1 too low{NEAREST}"),
        ("gpu_utilization >= 1", f"{GPU}0: 0.9 >= 1 does not hold, 0.1 too low{NEAREST}"),
        ("1 < gpu_utilization", f"{GPU}0: 1 < 0.9 does not hold, 0.1 too high{NEAREST}"),
        ("gpu_utilization == 0.25", f"{GPU}1: 0.5 == 0.25 does not hold, 0.25 apart{NEAREST}"),
        ('gpu_utilization{gpu="1"} != 0.5', f"{GPU}1: 0.5 != 0.5 does not hold"),
        ("max(gpu_utilization) < 0.25", "0.9 < 0.25 does not hold, 0.65 too high"),
        ("gpu_utilization < -gpu_utilization", f"{GPU}1: 0.5 < -0.5 does not hold, 1 too high{NEAREST}"),
        (
            "gpu_utilization > on (job) group_left () max by (job) (gpu_utilization)",
            f"{GPU}0: 0.9 > 0.9 does not hold{NEAREST}",
        ),
        ("gpu_utilization * 0 / 0 < 1", f"{GPU}0: NaN < 1 does not hold{NEAREST}"),
        ("gpu_utilization < -Inf", f"{GPU}0: 0.9 < -Inf does not hold{NEAREST}"),
        (
            "max by (job) (gpu_utilization < 0.3) < 9",
            f"{GPU}1: 0.5 < 0.3 does not hold, 0.2 too high{NEAREST}, in gpu_utilization < 0.3",
        ),
        (
            "-(gpu_utilization < 0.3)",
            f"{GPU}1: 0.5 < 0.3 does not hold, 0.2 too high{NEAREST}, in gpu_utilization < 0.3",
        ),
        (
            "gpu_utilization < 0.3 or gpu_utilization > 1",
            f"{GPU}1: 0.5 < 0.3 does not hold, 0.2 too high{NEAREST}, in gpu_utilization < 0.3",
        ),
        (
            "gpu_utilization > 0 and gpu_utilization > 1",
            f"{GPU}0: 0.9 > 1 does not hold, 0.1 too low{NEAREST}, in gpu_utilization > 1",
        ),
        (
            'gpu_utilization{gpu="0"} and gpu_utilization{gpu="1"}',
            "no series of the two sides of and have the same labels",
        ),
        (
            'gpu_utilization{gpu="0"} < gpu_utilization{gpu="1"}',
            "no series of the two sides of < have the same labels",
        ),
        (
            'gpu_utilization{gpu="0"} + gpu_utilization{gpu="1"} > 0',
            """no series of the two sides of + have the same labels, \
in gpu_utilization{gpu="0"} + gpu_utilization{gpu="1"}""",
        ),
        ("gpu_utilization unless gpu_utilization", "what unless excludes is there: gpu_utilization"),
        (
            "gpu_utilization > 1 unless gpu_utilization",
            f"{GPU}0: 0.9 > 1 does not hold, 0.1 too low{NEAREST}, in gpu_utilization > 1",
        ),
        ("absent(gpu_utilization)", "there are samples of gpu_utilization"),
        ("absent_over_time(gpu_utilization[10m])", "there are samples of gpu_utilization[10m]"),
        ("topk(0, gpu_utilization)", "it gives no series"),
        ("clamp(gpu_utilization, 1, 0)", "it gives no series"),
        (
            "max_over_time((gpu_utilization > 1)[10m:1m])",
            f"{GPU}0: 0.9 > 1 does not hold, 0.1 too low{NEAREST}, in gpu_utilization > 1",
        ),
    ],
)
def test_what_is_false(
    make_world: Callable[..., Any], rules: Any, tell: Callable[..., Any], expr: str, text: str
) -> None:
    world = make_world(rules(replace_expr=expr))
    world.run(12, g0=0.9, g1=0.5)
    verdict = tell(world).verdict
    assert (verdict.reason, verdict.text) == (Reason.FALSE, text)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ("cpu_utilization > 0", "there is no sample of cpu_utilization"),
        ('gpu_utilization{gpu="7"} > 0', 'there is no sample of gpu_utilization{gpu="7"} that is fresh enough'),
        ('max_over_time(gpu_utilization{gpu="7"}[10m])', 'there is no sample of gpu_utilization{gpu="7"}[10m]'),
        ("max_over_time(gpu_utilization[10m] offset 1h)", "there is no sample of gpu_utilization[10m] offset 1h"),
        ("max_over_time(cpu_utilization[10m:1m])", "there is no sample of cpu_utilization"),
    ],
)
def test_what_has_no_samples(
    make_world: Callable[..., Any], rules: Any, tell: Callable[..., Any], expr: str, text: str
) -> None:
    world = make_world(rules(replace_expr=expr))
    world.run(12, g0=0.9)
    verdict = tell(world).verdict
    assert (verdict.reason, verdict.text) == (Reason.NO_SAMPLES, text)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ("rate(gpu_utilization[10m])", "gpu_utilization[10m] holds 1 of 10 samples, 8 are needed (node=n0 gpu=0)"),
        (
            "max(max_over_time(gpu_utilization[4m]))",
            "gpu_utilization[4m] holds 1 of 4 samples, 4 are needed (node=n0 gpu=0)",
        ),
        (
            "max_over_time(gpu_utilization[10m:1m])",
            "gpu_utilization[10m:1m] holds 1 of 10 samples, 8 are needed (node=n0 gpu=0)",
        ),
        (
            "max_over_time(max(gpu_utilization)[10m:1m])",
            "max(gpu_utilization)[10m:1m] holds 1 of 10 samples, 8 are needed",
        ),
    ],
)
def test_what_is_not_covered(
    make_world: Callable[..., Any], rules: Any, tell: Callable[..., Any], expr: str, text: str
) -> None:
    world = make_world(rules(replace_expr=expr))
    world.run(1, g0=0.9)
    verdict = tell(world).verdict
    assert (verdict.reason, verdict.text) == (Reason.UNCOVERED, text)


def test_what_counts_samples_needs_no_coverage(make_world: Callable[..., Any], rules: Any, tell: Any) -> None:
    world = make_world(rules(replace_expr="count_over_time(gpu_utilization[10m]) > 5"))
    world.run(1, g0=0.9)
    item = tell(world)
    assert item.verdict.text == "node=n0 gpu=0: 1 > 5 does not hold, 4 too low"
    (window,) = item.expr.steps[2].readings
    assert (window.samples, window.needed, window.short) == (1, 1.0, False)


def test_a_rate_needs_two_samples_whatever_the_coverage(make_world: Callable[..., Any], rules: Any, tell: Any) -> None:
    world = make_world(rules(replace_expr="rate(gpu_utilization[10m])", min_coverage=0.0))
    world.run(1, g0=0.9)
    assert tell(world).verdict.text == "gpu_utilization[10m] holds 1 of 10 samples, 2 are needed (node=n0 gpu=0)"


@pytest.mark.parametrize(
    ("value", "text"), [(0.1 + 0.2, "0.3"), (1e9, "1e+09"), (math.nan, "NaN"), (math.inf, "+Inf"), (-math.inf, "-Inf")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert short(value) == text


def test_what_is_no_comparison_has_no_sides() -> None:
    assert sides(Reading({}, "", value=1.0)) == ""
