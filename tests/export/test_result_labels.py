"""Which labels a result may have, by the shape of its expression."""

from __future__ import annotations

import pytest

from watchdog.export.result_labels import common, is_scalar, result_labels
from watchdog.promql import parse

PROJECT = {"source", "provider", "project", "project_name"}
JOB = PROJECT | {"job", "job_name", "owner", "gpu_type"}
NODE = JOB | {"node"}
GPU = NODE | {"gpu"}


@pytest.mark.parametrize(
    ("expr", "labels"),
    [
        ("gpu_utilization", GPU),
        ("-memory_utilization", NODE),
        ("job_status", JOB | {"status"}),
        ("cache_utilization", PROJECT),
        ("source_up == 0", {"source"}),
        ("0.5 < gpu_utilization", GPU),
        ("1 + 2", set()),
        ("time() - job_running_seconds", JOB),
        ("vector(1)", set()),
        ("scalar(gpu_utilization)", set()),
        ("sum(gpu_utilization)", set()),
        ("sum by (job, nope) (gpu_utilization)", {"job"}),
        ("sum without (node, gpu) (gpu_utilization)", JOB),
        ("topk by (job) (3, gpu_utilization)", GPU),
        ('count_values by (job) ("v", gpu_utilization)', {"job", "v"}),
        ("max_over_time(gpu_utilization[5m]) and on (job) cache_utilization", GPU),
        ("cache_utilization unless gpu_utilization", PROJECT),
        ("cache_utilization or memory_utilization", NODE),
        ("gpu_utilization / gpu_memory_utilization", GPU),
        ("gpu_utilization / on (job, gpu) gpu_memory_utilization", {"job", "gpu"}),
        ("gpu_utilization / ignoring (gpu) gpu_memory_utilization", NODE),
        ("gpu_utilization / on (job) group_left (status) job_status", GPU | {"status"}),
        ("job_gpus / on (job) group_right () gpu_utilization", GPU),
        ("absent(gpu_utilization{job=\"j\", gpu=~\"1\"})", {"job"}),
        ("absent(sum(gpu_utilization))", set()),
        ('label_replace(cache_utilization, "team", "$1", "project", "(.*)")', PROJECT | {"team"}),
        ('label_join(source_up, "x", "-", "source", "job")', {"source", "x"}),
        ("max_over_time(avg by (job) (gpu_utilization)[1h:])", {"job"}),
    ],
)  # fmt: skip
def test_labels_of_a_result(expr: str, labels: set[str]) -> None:
    assert result_labels(parse(expr).root) == labels


def test_a_metric_that_is_not_in_the_vocabulary_may_have_any_label() -> None:
    assert result_labels(parse("something_else").root) == GPU | {"status"}


@pytest.mark.parametrize(
    ("expr", "scalar"),
    [
        ("1", True),
        ("1 + time()", True),
        ("-scalar(source_up)", True),
        ("source_up + 1", False),
        ("vector(1)", False),
        ("sum(source_up)", False),
        ('"a"', True),
    ],
)
def test_what_is_a_number(expr: str, scalar: bool) -> None:
    assert is_scalar(parse(expr).root) is scalar


def test_common_labels_are_those_that_identify_in_their_order() -> None:
    assert common(["gpu", "job", "owner", "source"], GPU) == ("source", "job", "gpu")
    assert common(["gpu"], ["node"]) == ()
