from datetime import timedelta, timezone
from typing import Any

import pytest

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.model import Job, JobReading, JobStatus
from watchdog.sources.alayanew.reply import (
    METRICS,
    gpu_name,
    id_of,
    job_of,
    period_for,
    status_of,
    type_reading,
)
from watchdog.sources.base.points import PointReader
from watchdog.sources.base.times import epoch_seconds

NINE = 1_772_442_000.0
MASTER, WORKER = "tn-rk04-master-0", "tn-rk04-worker-0"
SHANGHAI = timezone(timedelta(hours=8))


def read(bench: Any, data: Any, kind: str = "gpu") -> tuple[Any, dict[str, int], Any]:
    """Return the series of a reply, what was dropped, and the reading itself."""
    reader = PointReader(epoch_seconds, NINE - 900, NINE + 600)
    found = type_reading(data, kind, reader)
    reading = JobReading(Job("a", "alayanew", "1", JobStatus.RUNNING), points=found.points)
    return bench.series(reading), reader.dropped, found


def entry(pod: object = "p", name: object = "NVIDIA-H20-141G-0", *points: Any, **more: Any) -> dict[str, Any]:
    series = [{"timestamp": NINE + 60 * place, "value": value} for place, value in enumerate(points)]
    return {"type": "gpu", "podName": pod, "gpuName": name, "metricData": series, **more}


def test_the_sample_is_read_as_the_reference_expects(bench: Any, sample: Any) -> None:
    series, dropped, found = read(bench, sample["data"])
    assert series == {
        ("gpu_utilization", MASTER, "0"): {0.0: 0.94, 1.0: 0.96},
        ("gpu_utilization", MASTER, "1"): {0.0: 0.98},
        ("gpu_utilization", WORKER, "0"): {0.0: 0.0, 1.0: 0.01},
    }
    assert dropped == {"null": 1}
    assert found.gpu_type == "NVIDIA-A100-SXM-80G"
    assert found.gpus == {MASTER: 2, WORKER: 2}


@pytest.mark.parametrize(("kind", "metric"), METRICS.items())
def test_each_type_gives_its_metric(bench: Any, kind: str, metric: str) -> None:
    series, _, found = read(bench, {"metricData": [entry("p", "NVIDIA-H20-141G-3", 0.5)]}, kind)
    on_gpu = kind in ("gpu", "vram")
    assert list(series) == [(metric, "p", "3") if on_gpu else (metric, "p")]
    assert found.gpus == {"p": 1 if on_gpu else 0}
    assert found.gpu_type == ("NVIDIA-H20-141G" if on_gpu else "")


@pytest.mark.parametrize("data", [None, {}, [], "x", {"metricData": None}, {"metricData": {}}])
def test_a_reply_without_series_is_malformed_and_not_idle(bench: Any, data: Any) -> None:
    with pytest.raises(SourceError, match=r"metrics \(vram\): an answer without metricData") as caught:
        read(bench, data, "vram")
    assert caught.value.kind is SourceErrorKind.MALFORMED


def test_an_empty_list_of_series_is_no_data(bench: Any) -> None:
    assert read(bench, {"metricData": []})[:2] == ({}, {})


@pytest.mark.parametrize("points", [None, [], {}, "x"])
def test_a_series_without_points_is_no_data(bench: Any, points: Any) -> None:
    series, dropped, found = read(bench, {"metricData": [entry(metricData=points)]})
    assert (series, dropped, found.gpus) == ({}, {}, {"p": 1})


def test_entries_that_are_none_are_counted(bench: Any) -> None:
    series, dropped, _ = read(bench, {"metricData": [None, entry("p", "NVIDIA-H20-141G-0", 0.5), 7]})
    assert list(series) == [("gpu_utilization", "p", "0")]
    assert dropped == {"bad_point": 2}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("0.95", 0.95),
        (" 0.95 ", 0.95),
        (0.95, 0.95),
        (1, 1.0),
        ("9.5e-1", 0.95),
        ("95%", 0.95),
        ("0,95", 0.95),
        ("0", 0.0),
        ("1.02", 1.02),
        ("1.5", 1.5),
    ],
)
def test_values_are_read_however_they_are_written(bench: Any, value: object, kept: float) -> None:
    series, dropped, _ = read(bench, {"metricData": [entry("p", "G-80G-0", value)]})
    assert series["gpu_utilization", "p", "0"] == {0.0: kept}
    assert dropped == {}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "null"),
        (None, "null"),
        ("-", "null"),
        ("NaN", "nan"),
        ("95", "unit"),
        ("1.51", "unit"),
        ("-0.1", "negative"),
    ],
)
def test_missing_values_are_never_zero(bench: Any, value: object, reason: str) -> None:
    series, dropped, _ = read(bench, {"metricData": [entry("p", "G-80G-0", value)]})
    assert (series, dropped) == ({}, {reason: 1})


def test_the_hints_about_a_window_are_not_read(bench: Any) -> None:
    """The document's own example breaks the relations between them."""
    given = entry("p", "G-80G-0", "0.95", maxRate="0.93", avgRate="x", currentRate=None)
    old = {"timestamp": 1637224441, "value": "0.5"}
    milliseconds = {"timestamp": int(NINE + 60) * 1000, "value": "0.4"}
    given["metricData"] += [old, milliseconds]
    series, dropped, _ = read(bench, {"metricData": [given]})
    assert series["gpu_utilization", "p", "0"] == {0.0: 0.95, 1.0: 0.4}
    assert dropped == {"too_old": 1}


@pytest.mark.parametrize(
    ("raw", "model", "index"),
    [
        ("NVIDIA-H800A-NV-80G-3", "NVIDIA-H800A-NV-80G", "3"),
        ("NVIDIA-H800A-NV-80G", "NVIDIA-H800A-NV-80G", ""),
        ("NVIDIA-L40S-PCIE-48G", "NVIDIA-L40S-PCIE-48G", ""),
        ("NVIDIA-H20-141G-12", "NVIDIA-H20-141G", "12"),
        ("H800", "H800", ""),
        ("H100-0", "H100", "0"),
        ("RTX-4090", "RTX-4090", ""),
        ("RTX-4090-15", "RTX-4090", "15"),
        ("-", "", ""),
        ("", "", ""),
        (None, "", ""),
        (7, "", ""),
    ],
)
def test_a_gpu_name_is_a_model_and_an_index(raw: object, model: str, index: str) -> None:
    assert gpu_name(raw) == (model, index)


def test_gpus_are_told_apart_by_index_then_by_name_then_by_order(bench: Any) -> None:
    names = ["A-80G-1", "A-80G", "A-80G", "-", None, "A-80G-1", "A-80G"]
    series, dropped, found = read(bench, {"metricData": [entry("p", name, 0.5) for name in names]})
    labels = [key[2] for key in series]
    assert labels == ["1", "A-80G", "A-80G#1", "gpu", "gpu#1", "1#1", "A-80G#2"]
    assert dropped == {"ambiguous_gpu": 4}
    assert found.gpus == {"p": 7}


def test_the_same_name_in_two_pods_is_two_gpus(bench: Any) -> None:
    series, dropped, _ = read(bench, {"metricData": [entry("p", "A-80G", 0.5), entry("q", "A-80G", 0.6)]})
    assert list(series) == [("gpu_utilization", "p", "A-80G"), ("gpu_utilization", "q", "A-80G")]
    assert dropped == {}


def test_gpu_and_vram_are_joined_by_name_and_not_by_place(bench: Any) -> None:
    gpu, _, _ = read(bench, {"metricData": [entry("p", "A-80G-0", 0.1), entry("p", "A-80G-1", 0.2)]}, "gpu")
    vram, _, _ = read(bench, {"metricData": [entry("p", "A-80G-1", 0.9)]}, "vram")
    assert gpu["gpu_utilization", "p", "1"] == {0.0: 0.2}
    assert vram == {("gpu_memory_utilization", "p", "1"): {0.0: 0.9}}


def test_a_pod_without_a_name_has_a_dash(bench: Any) -> None:
    assert list(read(bench, {"metricData": [entry(None, "A-80G-0", 0.5)]})[0]) == [("gpu_utilization", "-", "0")]


@pytest.mark.parametrize(
    ("seconds", "period"),
    [
        (0, "15m"),
        (900, "15m"),
        (901, "1h"),
        (3600, "1h"),
        (3601, "6h"),
        (21_600, "6h"),
        (21_601, "24h"),
        (86_400, "24h"),
        (86_401, "3d"),
        (259_201, "7d"),
        (604_801, "30d"),
        (9e9, "30d"),
    ],
)
def test_the_shortest_period_that_is_long_enough_is_asked_for(seconds: float, period: str) -> None:
    assert period_for(seconds)[0] == period


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("WAITING QUEUEING QUEUING PENDING QUEUED", JobStatus.PENDING),
        ("CREATING STARTING INITIALIZING", JobStatus.STARTING),
        ("RUNNING Running running", JobStatus.RUNNING),
        ("SUSPENDED SUSPENDING PAUSED", JobStatus.STOPPED),
        ("SUCCEEDED SUCCESS", JobStatus.COMPLETED),
        ("FAILED ERROR", JobStatus.FAILED),
        ("CANCELED CANCELLED DELETED", JobStatus.STOPPED),
        ("RESTARTING 运行中 2", JobStatus.UNKNOWN),
    ],
)
def test_every_status_has_its_class(words: str, status: JobStatus) -> None:
    assert {status_of(word) for word in words.split()} == {status}
    assert status_of("") is JobStatus.UNKNOWN


def test_a_row_of_the_list_is_a_job() -> None:
    row = {
        "id": 5520017,
        "name": "排序模型",
        "status": "Running",
        "resource": {"workerCount": "2", "gpuCount": 8, "gpuName": "NVIDIA-H800A-NV-80G"},
        "createdTime": "2026-03-02 16:00:00",
        "startTime": "2026-03-02T08:30:00.000Z",
        "endTime": None,
        "finishTime": 1772442000000,
        "reason": "",
        "message": "节点重启",
        "new": 1,
    }
    job = job_of(row, "a", SHANGHAI)
    assert (job.source, job.provider, job.job, job.job_name) == ("a", "alayanew", "5520017", "排序模型")
    assert (job.status, job.provider_status) == (JobStatus.RUNNING, "Running")
    assert (job.gpu_type, job.nodes, job.gpus) == ("NVIDIA-H800A-NV-80G", 2, 16)
    assert (job.created_at, job.started_at, job.ended_at) == (NINE - 3600, NINE - 1800, NINE)
    assert (job.error, job.cost_usd_per_hour, job.url, job.project) == ("节点重启", None, "", "")


@pytest.mark.parametrize("resource", [None, {}, [], {"workerCount": -1, "gpuCount": "-", "gpuName": "-"}])
def test_a_row_may_say_little(resource: object) -> None:
    job = job_of({"id": "x", "resource": resource}, "a", SHANGHAI)
    assert (job.gpus, job.gpu_type, job.status) == (None, "", JobStatus.UNKNOWN)
    assert (job.created_at, job.started_at, job.ended_at) == (None, None, None)


def test_half_a_gpu_is_no_count() -> None:
    job = job_of({"id": "x", "resource": {"workerCount": 1, "gpuCount": 0.5}}, "a", SHANGHAI)
    assert (job.nodes, job.gpus) == (1, None)


@pytest.mark.parametrize(
    ("row", "identity"),
    [({"id": "a-1"}, "a-1"), ({"id": 7}, "7"), ({"id": True}, ""), ({"id": None}, ""), ({}, ""), (None, "")],
)
def test_an_id_is_a_text_or_a_number(row: object, identity: str) -> None:
    assert id_of(row) == identity
