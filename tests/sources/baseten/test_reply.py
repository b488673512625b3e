import copy
import math
from typing import Any

import pytest

from watchdog.errors import SourceError, SourceErrorKind
from watchdog.model import Job, JobReading, JobStatus
from watchdog.sources.baseten.reply import LEADER, ReplyContext, reading_of

NINE = 1_772_442_000.0
CONTEXT = ReplyContext("b", {}, NINE - 3600, NINE + 600)
A, B = "worker-a", "worker-b"
GIB = 2.0**30
METRICS_OF_VRAM = {"gpu_memory_usage_bytes", "gpu_memory_limit_bytes", "gpu_memory_utilization"}


def read(reply: Any, known: Job | None = None) -> JobReading:
    return reading_of(reply, known, CONTEXT)


def point(value: object, minute: int = 1) -> dict[str, object]:
    return {"value": value, "timestamp": f"2026-03-02T09:0{minute}:00Z"}


def single(sample: Any, **changes: Any) -> Any:
    """Return the sample without its nodes: the leader's series only."""
    return {**copy.deepcopy(sample), "per_node_metrics": [], **changes}


def test_the_sample_is_read_as_the_reference_expects(bench: Any, sample: Any) -> None:
    reading = read(sample)
    series = bench.series(reading)
    assert reading.job.gpus == 4
    assert series["gpu_utilization", A, "0"] == {0.0: 0.88, 1.0: 0.91}
    assert series["gpu_utilization", A, "1"] == {1.0: 0.9}
    for key in [(A, "0"), (A, "1"), (B, "0")]:
        assert series["gpu_memory_utilization", *key] == {1.0: 0.75}
        assert series["gpu_memory_usage_bytes", *key] == {1.0: 60 * GIB}
        assert series["gpu_memory_limit_bytes", *key] == {1.0: 80 * GIB}
    assert ("gpu_memory_utilization", B, "1") not in series
    assert series["cpu_usage_cores", A] == {1.0: 5.6}
    assert series["cpu_limit_cores", A] == {1.0: 16.0}
    assert series["cpu_utilization", A] == pytest.approx({1.0: 0.35})
    assert series["memory_usage_bytes", A] == {1.0: 32 * GIB}
    assert series["memory_limit_bytes", A] == {1.0: 128 * GIB}
    assert series["memory_utilization", A] == {1.0: 0.25}
    assert series["ephemeral_storage_usage_bytes", A] == {1.0: 100 * GIB}
    assert series["ephemeral_storage_utilization", A] == {1.0: 0.25}
    assert not [key for key in series if key[1:] == (B,)]
    assert series["gpu_utilization", B, "0"] == {1.0: 0.02}
    assert series["gpu_utilization", B, "1"] == {1.0: 0.01}
    assert [points.metric for points in reading.project_points] == ["cache_usage_bytes", "cache_utilization"]
    assert series["cache_utilization",] == {1.0: 0.95}
    assert series["cache_usage_bytes",] == {1.0: 950e9}
    assert reading.job.project == "pr4zt9w"
    assert (reading.failed_metrics, reading.error, reading.dropped) == (frozenset(), "", {})


def test_the_leader_is_read_from_the_top_level_only_without_nodes(bench: Any, sample: Any) -> None:
    assert LEADER not in {key[1] for key in bench.series(read(sample)) if len(key) > 1}
    series = bench.series(read(single(sample)))
    assert {key[1] for key in series if len(key) > 1} == {LEADER}
    assert series["gpu_utilization", LEADER, "0"] == {0.0: 0.88, 1.0: 0.91}


@pytest.mark.parametrize("nodes", [None, {}, "", [None]])
def test_nodes_that_are_no_list_are_none(bench: Any, sample: Any, nodes: object) -> None:
    reading = read({**sample, "per_node_metrics": nodes})
    assert {key[1] for key in bench.series(reading) if len(key) > 1} == {LEADER}
    assert reading.error == ""


def test_nodes_without_a_sample_leave_the_word_to_the_leader(bench: Any, sample: Any) -> None:
    empty: dict[str, Any] = {
        "gpu_utilization": {},
        "gpu_memory_usage_bytes": {},
        "cpu_usage": [],
        "cpu_memory_usage_bytes": [],
    }
    sample["per_node_metrics"] = [{"node_id": A, "metrics": empty}, {"node_id": B, "metrics": None}]
    reading = read(sample)
    assert {key[1] for key in bench.series(reading) if len(key) > 1} == {LEADER}
    assert reading.failed_metrics == frozenset()


def test_ranks_restart_on_every_node_and_keep_their_names(bench: Any, sample: Any) -> None:
    ranks = {str(rank): [point(0.5)] for rank in (0, 9, 10)}
    series = bench.series(read(single(sample, gpu_utilization=ranks)))
    assert {key[2] for key in series if key[0] == "gpu_utilization"} == {"0", "9", "10"}


def test_a_rank_may_be_in_one_of_the_two_maps(bench: Any, sample: Any) -> None:
    reply = single(sample, gpu_utilization={"0": [point(0.5)]}, gpu_memory_usage_bytes={"1": [point(GIB)]})
    series = bench.series(read(reply))
    assert ("gpu_utilization", LEADER, "0") in series
    assert ("gpu_memory_usage_bytes", LEADER, "1") in series
    assert ("gpu_utilization", LEADER, "1") not in series


def test_a_node_without_a_name_has_its_place_as_one(bench: Any, sample: Any) -> None:
    sample["per_node_metrics"][1]["node_id"] = None
    assert ("gpu_utilization", "1", "0") in bench.series(read(sample))


def test_an_answer_without_samples_is_no_data_and_not_zero(sample: Any) -> None:
    empty: dict[str, Any] = {"usage_bytes": [], "utilization": []}
    reading = read(
        single(
            sample,
            gpu_utilization={},
            gpu_memory_usage_bytes={"0": []},
            cpu_usage=[],
            cpu_memory_usage_bytes=[],
            ephemeral_storage=empty,
            cache=None,
        )
    )
    assert (reading.points, reading.project_points) == ((), ())
    assert (reading.failed_metrics, reading.error) == (frozenset(), "")


@pytest.mark.parametrize(
    ("cache", "points", "failed"),
    [
        (None, 0, 0),
        ({"usage_bytes": [], "utilization": []}, 0, 0),
        ({"usage_bytes": [point(1.0)], "utilization": [point(0.0)]}, 2, 0),
        ({"usage_bytes": [point(1.0)], "utilization": None}, 1, 2),
        ([], 0, 2),
    ],
)
def test_a_project_without_a_cache_differs_from_an_empty_one(
    sample: Any, cache: object, points: int, failed: int
) -> None:
    reading = read(single(sample, cache=cache))
    assert len(reading.project_points) == points
    assert len([metric for metric in reading.failed_metrics if metric.startswith("cache")]) == failed


def test_a_missing_cache_is_none(sample: Any) -> None:
    del sample["cache"]
    assert read(sample).project_points == ()


@pytest.mark.parametrize("bad", [None, [], "x", 1])
@pytest.mark.parametrize(
    ("field", "metrics"),
    [("gpu_utilization", {"gpu_utilization"}), ("gpu_memory_usage_bytes", METRICS_OF_VRAM)],
)
def test_a_map_that_is_none_makes_its_metrics_unknown(sample: Any, field: str, metrics: set[str], bad: object) -> None:
    reading = read(single(sample, **{field: bad}))
    assert reading.failed_metrics == metrics
    assert reading.error == f"the answer lacks {field}, or has them in an unknown form"
    assert reading.points


@pytest.mark.parametrize("bad", [None, {}, "x", 1])
@pytest.mark.parametrize(
    ("field", "metrics"),
    [
        ("cpu_usage", {"cpu_usage_cores", "cpu_limit_cores", "cpu_utilization"}),
        ("cpu_memory_usage_bytes", {"memory_usage_bytes", "memory_limit_bytes", "memory_utilization"}),
        ("ephemeral_storage", {"ephemeral_storage_usage_bytes", "ephemeral_storage_utilization"}),
    ],
)
def test_a_list_that_is_none_makes_its_metrics_unknown(sample: Any, field: str, metrics: set[str], bad: object) -> None:
    assert read(single(sample, **{field: bad})).failed_metrics == metrics


def test_a_series_of_one_rank_that_is_none_makes_the_metric_unknown(bench: Any, sample: Any) -> None:
    reading = read(single(sample, gpu_utilization={"0": None, "1": [point(0.5)]}))
    assert reading.failed_metrics == {"gpu_utilization"}
    assert bench.series(reading)["gpu_utilization", LEADER, "1"] == {1.0: 0.5}


@pytest.mark.parametrize("reply", [None, [], "x", 1, {}, {"error": "x"}, {"training_job": {"id": "a"}}])
def test_an_answer_without_any_metric_is_malformed(reply: object) -> None:
    with pytest.raises(SourceError, match="without any of the metrics' fields") as caught:
        read(reply, Job("b", "baseten", "a", JobStatus.RUNNING))
    assert caught.value.kind is SourceErrorKind.MALFORMED


def test_without_its_own_job_an_answer_is_of_the_known_one(sample: Any) -> None:
    del sample["training_job"]
    known = Job("b", "baseten", "a", JobStatus.RUNNING)
    reading = read(sample, known)
    assert reading.job is known
    assert not [points for points in reading.points if "limit" in points.metric]
    assert [points for points in reading.points if points.metric == "gpu_memory_usage_bytes"]
    with pytest.raises(SourceError, match="without its job"):
        read(sample)


def test_the_answer_s_own_job_is_newer_than_the_known_one(sample: Any) -> None:
    sample["training_job"]["current_status"] = "TRAINING_JOB_FAILED"
    known = Job("b", "baseten", "jb7kq2m", JobStatus.RUNNING)
    assert read(sample, known).job.status is JobStatus.FAILED


def test_nodes_are_counted_where_the_job_does_not_say(sample: Any) -> None:
    del sample["training_job"]["node_count"]
    assert (read(sample).job.nodes, read(sample).job.gpus) == (2, 4)
    assert (read(single(sample)).job.nodes, read(single(sample)).job.gpus) == (1, 2)


def test_cores_may_exceed_their_limit(bench: Any, sample: Any) -> None:
    series = bench.series(read(single(sample, cpu_usage=[point(40.0)])))
    assert series["cpu_utilization", LEADER] == {1.0: 2.5}


@pytest.mark.parametrize(("gib", "known"), [(120.0, True), (120.01, False)])
def test_gpu_memory_far_above_its_limit_has_no_ratio(bench: Any, sample: Any, gib: float, known: bool) -> None:
    """Whether the limit is per GPU or in total is not documented: 1.5 times 80 GiB is the most that is believed."""
    reading = read(single(sample, gpu_memory_usage_bytes={"0": [point(gib * GIB)]}))
    series = bench.series(reading)
    assert series["gpu_memory_usage_bytes", LEADER, "0"] == {1.0: gib * GIB}
    assert (("gpu_memory_utilization", LEADER, "0") in series) is known
    assert (("gpu_memory_limit_bytes", LEADER, "0") in series) is known
    assert reading.dropped == ({} if known else {"unit": 1})


@pytest.mark.parametrize(("value", "kept"), [(0, True), (1.0, True), (1.5, True), (1.51, False), (91, False)])
def test_a_fraction_above_one_and_a_half_is_never_rescaled(bench: Any, sample: Any, value: float, kept: bool) -> None:
    reading = read(single(sample, gpu_utilization={"0": [point(value)]}))
    assert bench.series(reading).get(("gpu_utilization", LEADER, "0")) == ({1.0: value} if kept else None)
    assert reading.dropped == ({} if kept else {"unit": 1})


@pytest.mark.parametrize("limit", [None, 0, -1, "", "all", math.nan, True])
def test_without_a_limit_there_is_no_ratio(bench: Any, sample: Any, limit: object) -> None:
    sample["training_job"]["instance_type"] |= {
        "gpu_memory_limit_mib": limit,
        "memory_limit_mib": limit,
        "millicpu_limit": limit,
    }
    names = {key[0] for key in bench.series(read(single(sample)))}
    assert not names & {"gpu_memory_utilization", "memory_utilization", "cpu_utilization"}
    assert not {name for name in names if "limit" in name}
    assert {"gpu_memory_usage_bytes", "memory_usage_bytes", "cpu_usage_cores"} <= names


def test_bad_points_are_counted_and_good_ones_kept(bench: Any, sample: Any) -> None:
    series = [
        point(0.1, 0),
        point(None, 1),
        point(math.nan, 2),
        point(-0.5, 3),
        point(True, 4),
        {"value": 0.5, "timestamp": "2026-03-02T09:05:00"},
        {"value": 0.5, "timestamp": "2027-03-02T09:05:00Z"},
        {"value": 0.5, "timestamp": "2025-03-02T09:05:00Z"},
        point("4e-1", 6),
        point(0.7, 6),
    ]
    reading = read(single(sample, gpu_utilization={"0": series}))
    assert bench.series(reading)["gpu_utilization", LEADER, "0"] == {0.0: 0.1, 6.0: 0.7}
    assert reading.dropped == {
        "null": 1,
        "nan": 1,
        "negative": 1,
        "bad_value": 1,
        "bad_timestamp": 1,
        "future": 1,
        "too_old": 1,
    }


def test_times_come_in_several_forms(bench: Any, sample: Any) -> None:
    stamps = ["2026-03-02T09:00:00+00:00", "2026-03-02 09:01:00+0000", "2026-03-02T09:02:00.000000000Z"]
    series = [{"value": 0.5, "timestamp": stamp} for stamp in stamps]
    found = bench.series(read(single(sample, gpu_utilization={"0": series})))
    assert set(found["gpu_utilization", LEADER, "0"]) == {0.0, 1.0, 2.0}
