"""What expressions sum up, and what they only miss."""

from __future__ import annotations

import pytest

from watchdog.alerts.reads import Sum, only_missed, sums_of
from watchdog.promql import parse

UTIL = "gpu_utilization"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu_utilization < 1", set()),
        ("max by (source, job, node, gpu) (gpu_utilization) < 1", set()),
        ("topk by (job) (1, gpu_utilization)", set()),
        ("max by (job) (gpu_utilization)", {Sum(UTIL, per_node=False)}),
        ("max by (job, node) (gpu_utilization)", {Sum(UTIL, per_node=True)}),
        ("max without (gpu) (max_over_time(gpu_utilization[5m]))", {Sum(UTIL, per_node=True)}),
        ("max without (gpu, node) (gpu_utilization)", {Sum(UTIL, per_node=False)}),
        ("max without (owner) (gpu_utilization)", set()),
        ("gpu_utilization < 1 and on (job) avg by (job) (gpu_utilization) < 1", {Sum(UTIL, per_node=False)}),
        (
            "quantile by (job) (0.5, avg by (job, node) (gpu_utilization))",
            {Sum(UTIL, per_node=True), Sum(UTIL, per_node=False)},
        ),
        ("sum by (node) (memory_usage_bytes)", set()),
        ("sum by (job) (memory_usage_bytes)", {Sum("memory_usage_bytes", per_node=False)}),
        ("sum(job_gpus)", set()),
        ("count(absent_from_the_vocabulary)", set()),
    ],
)
def test_what_is_summed_up(text: str, expected: set[Sum]) -> None:
    assert sums_of([parse(text)]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu_utilization", set()),
        ("absent(gpu_utilization)", {UTIL}),
        ('absent_over_time(gpu_utilization{job="a"}[5m])', {UTIL}),
        ("absent(gpu_utilization) or gpu_utilization > 1", set()),
        ("absent(gpu_utilization) and job_gpus > 0", {UTIL}),
    ],
)
def test_what_is_only_missed(text: str, expected: set[str]) -> None:
    assert only_missed(parse(text)) == expected
