"""Each rule of rules.example.toml fires where it should and is silent just beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from watchdog.history import History, SeriesPoints
from watchdog.model import Points, labels_of
from watchdog.promql import Options, Vector, evaluate, parse
from watchdog.rules.model import Rule, Ruleset

NOW = 1_000_000_020.0
MINUTES = 150
PROJECT = {"source": "baseten", "provider": "baseten", "project": "p"}
JOB = {**PROJECT, "job": "j1", "job_name": "llm", "gpu_type": "H100"}
BASES: Mapping[str, Mapping[str, str]] = {"cache": PROJECT, "source": {"source": "baseten"}}

Levels = Mapping[str, float | tuple[float, float]]
"""``{"metric node gpu": level}``; a pair is the level at the start and at the end, straight between."""


@pytest.fixture
def rules(load_path: Callable[[Path], Ruleset]) -> Mapping[str, Rule]:
    return {rule.name: rule for rule in load_path(Path(__file__).parents[2] / "rules.example.toml").rules}


def history(levels: Levels) -> History:
    held = History(4 * 3600.0)
    times = [NOW - 60.0 * back for back in range(MINUTES, -1, -1)]
    batch = []
    for name, level in levels.items():
        metric, *rest = name.split()
        first, last = level if isinstance(level, tuple) else (level, level)
        values = [first + (last - first) * step / MINUTES for step in range(MINUTES + 1)]
        own = {"status": rest[0]} if metric == "job_status" else dict(zip(("node", "gpu"), rest, strict=False))
        base = BASES.get(metric.split("_", maxsplit=1)[0], JOB)
        batch.append(SeriesPoints(labels_of(base), Points(metric, labels_of(own), times, values)))
    held.ingest(batch, 60.0, NOW)
    return held


def hits(expr: str, levels: Levels) -> list[dict[str, str]]:
    value = evaluate(parse(expr), history(levels), NOW, Options(min_coverage=0.8)).value
    assert isinstance(value, Vector)
    return value.labels.rows()


def per_gpu(metric: str, *levels: float) -> dict[str, float]:
    return {f"{metric} n{number // 8} {number % 8}": level for number, level in enumerate(levels)}


def gpus(*levels: float) -> dict[str, float]:
    return per_gpu("gpu_utilization", *levels)


def memory(first: float, last: float) -> Levels:
    """One GPU whose memory goes from one level to another in the whole of the past."""
    return {"gpu_memory_utilization n0 0": (first, last)}


CASES: Sequence[tuple[str, Levels, Levels]] = [
    ("GPUIdle", gpus(0.0, 0.049), gpus(0.0, 0.05)),
    ("JobPartlyIdle", gpus(0.9, 0.04), gpus(0.3, 0.04)),
    ("JobPartlyIdle", gpus(0.9, 0.9, 0.049), gpus(0.9, 0.9, 0.05)),
    (
        "VRAMHeldWhileIdle",
        {**gpus(0.09), **per_gpu("gpu_memory_utilization", 0.51)},
        {**gpus(0.09), **per_gpu("gpu_memory_utilization", 0.5)},
    ),
    (
        "VRAMHeldWhileIdle",
        {**gpus(0.09, 0.0), **per_gpu("gpu_memory_utilization", 0.9, 0.9)},
        {**gpus(0.1, 0.0), **per_gpu("gpu_memory_utilization", 0.9, 0.9)},
    ),
    ("VRAMNearLimit", memory(0.84, 0.96), memory(0.96, 0.96)),
    ("VRAMNearLimit", memory(0.83, 0.957), memory(0.83, 0.952)),
    ("VRAMNearLimit", memory(0.86, 0.98), memory(0.92, 0.98)),
    ("MemoryNearLimit", {"memory_utilization n0": 0.951}, {"memory_utilization n0": 0.95}),
    (
        "EphemeralStorageNearlyFull",
        {"ephemeral_storage_utilization n0": 0.951},
        {"ephemeral_storage_utilization n0": 0.95},
    ),
    (
        "EphemeralStorageFilling",
        {"ephemeral_storage_utilization n0": (0.5, 0.75), "ephemeral_storage_usage_bytes n0": (5e11, 7.5e11)},
        {"ephemeral_storage_utilization n0": (0.5, 0.75), "ephemeral_storage_usage_bytes n0": 5e11},
    ),
    (
        "EphemeralStorageFilling",
        {"ephemeral_storage_utilization n0": (0.5, 0.75)},
        {"ephemeral_storage_utilization n0": (0.4, 0.6)},
    ),
    (
        "EphemeralStorageFilling",
        {"ephemeral_storage_utilization n0": (0.5, 0.7), "ephemeral_storage_usage_bytes n0": (5e11, 7e11)},
        {"ephemeral_storage_utilization n0": (0.5, 0.65), "ephemeral_storage_usage_bytes n0": (5e11, 6.5e11)},
    ),
    ("CacheNearlyFull", {"cache_utilization": 0.901}, {"cache_utilization": 0.9}),
    ("CacheFilling", {"cache_utilization": (0.7, 0.78)}, {"cache_utilization": (0.7, 0.73)}),
    ("GPULagging", gpus(0.9, 0.9, 0.9, 0.67), gpus(0.9, 0.9, 0.9, 0.68)),
    ("GPULagging", gpus(0.31, 0.31, 0.31, 0.1), gpus(0.3, 0.3, 0.3, 0.1)),
    ("GPULagging", gpus(0.9, 0.9, 0.9, 0.05), gpus(0.9, 0.9, 0.9, 0.049)),
    (
        "GPULagging",
        {**gpus(0.9, 0.9, 0.5), **per_gpu("gpu_power_watts", 300.0, 300.0, 239.0)},
        {**gpus(0.9, 0.9, 0.5), **per_gpu("gpu_power_watts", 300.0, 300.0, 240.0)},
    ),
    ("NodeLagging", gpus(*[0.9] * 16, *[0.6] * 8), gpus(*[0.9] * 16, *[0.7] * 8)),
    ("JobFailed", {"job_status failed": 1.0, "job_status running": 0.0}, {"job_status failed": 0.0}),
    ("JobPendingTooLong", {"job_pending_seconds": 1801.0}, {"job_pending_seconds": 1800.0}),
    ("JobMetricsMissing", {"job_sample_age_seconds": 901.0}, {"job_sample_age_seconds": 900.0}),
    ("SourceDown", {"source_up": 0.0}, {"source_up": 1.0}),
]


@pytest.mark.parametrize(("name", "wrong", "fine"), CASES, ids=[case[0] for case in CASES])
def test_a_rule_fires_there_and_not_beside_it(
    rules: Mapping[str, Rule], name: str, wrong: Levels, fine: Levels
) -> None:
    found = hits(rules[name].expr, wrong)
    assert {labels["source"] for labels in found} == {"baseten"}
    assert hits(rules[name].expr, fine) == []


def test_every_rule_is_tried(rules: Mapping[str, Rule]) -> None:
    assert {name for name, _, _ in CASES} == set(rules)


def test_an_alert_names_its_job_and_its_part(rules: Mapping[str, Rule]) -> None:
    idle = hits(rules["GPUIdle"].expr, gpus(0.0, 0.0))
    assert [(labels["job_name"], labels["node"], labels["gpu"]) for labels in idle] == [
        ("llm", "n0", "0"),
        ("llm", "n0", "1"),
    ]
    assert hits(rules["GPUIdle"].expr, gpus(0.0, 0.9)) == []
    (lagging,) = hits(rules["GPULagging"].expr, gpus(0.9, 0.9, 0.5))
    assert (lagging["job_name"], lagging["node"], lagging["gpu"]) == ("llm", "n0", "2")
    (node,) = hits(rules["NodeLagging"].expr, gpus(*[0.9] * 16, *[0.5] * 8))
    assert (node["job_name"], node["node"], node.get("gpu")) == ("llm", "n2", None)


def test_an_idle_job_clears_only_well_beyond_the_limit(rules: Mapping[str, Rule]) -> None:
    clear = rules["GPUIdle"].clear_expr
    assert clear is not None
    assert hits(clear, gpus(0.0, 0.149)) == []
    (cleared,) = hits(clear, gpus(0.0, 0.15))
    assert cleared == {name: JOB[name] for name in ("source", "project", "job")}
