"""The fakes' answers have the keys and kinds of the contracts' samples: no more, no fewer, on every level."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from watchdog.model import JobStatus
from watchdog.simulated import alayanew, baseten
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.baseten_requests import MOST_POINTS
from watchdog.simulated.server import Request, Response
from watchdog.simulated.world import Signal, SimJob, World, steady

T0 = 1_772_442_000.0
JOB = "/v1/training_projects/p1/jobs/j1"
LIST, TEXT, NUMBER = "list", "text", "number"
STORAGE = {"usage_bytes": LIST, "utilization": LIST}
SERIES = {
    "gpu_utilization": {"0": LIST, "1": LIST},
    "gpu_memory_usage_bytes": {"0": LIST, "1": LIST},
    "cpu_usage": LIST,
    "cpu_memory_usage_bytes": LIST,
    "ephemeral_storage": STORAGE,
}
JOB_SHAPE = {
    "id": TEXT,
    "name": TEXT,
    "training_project_id": TEXT,
    "training_project": {"id": TEXT, "name": TEXT},
    "current_status": TEXT,
    "created_at": TEXT,
    "updated_at": TEXT,
    "error_message": None,
    "node_count": NUMBER,
    "priority": NUMBER,
    "availability_model": TEXT,
    "checkpoint_sync_status": None,
    "user": None,
    "instance_type": {
        "id": TEXT,
        "name": TEXT,
        "gpu_count": NUMBER,
        "gpu_type": TEXT,
        "gpu_memory_limit_mib": NUMBER,
        "memory_limit_mib": NUMBER,
        "millicpu_limit": NUMBER,
    },
}
PROJECT_SHAPE = {
    "id": TEXT,
    "name": TEXT,
    "created_at": TEXT,
    "updated_at": TEXT,
    "team_name": None,
    "latest_job": JOB_SHAPE,
}


def shape(value: Any) -> Any:
    """Return a value with its leaves replaced by their kinds."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return LIST
    return None if value is None else TEXT if isinstance(value, str) else NUMBER


def job(signal: Signal, created: float = T0 - 7200.0, id_: str = "j1", gpus: int = 2) -> SimJob:
    timeline = [(created, JobStatus.RUNNING)]
    return SimJob(id_, "name", "p1", "project", signal, timeline, nodes=("a", "b"), gpus_per_node=gpus)


def ask(handle: Callable[[Request], Response], path: str, body: Any = None, **query: str) -> Any:
    given = {name: [value] for name, value in query.items()}
    content = b"" if body is None else json.dumps(body).encode()
    keys = {"authorization": f"Bearer {baseten.KEY if handle.__qualname__.startswith('FakeB') else alayanew.KEY}"}
    response = handle(Request("POST" if content else "GET", path, given, keys, content))
    return response.status, json.loads(response.body)


def baseten_of(*jobs: SimJob, now: float = T0, lag: float = 0.0) -> Callable[[Request], Response]:
    return FakeBaseten(World(jobs or (job(steady(cache_utilization=0.95)),), lambda: now, lag=lag)).handle


def test_metrics_of_baseten_have_the_contracts_shape() -> None:
    found = ask(baseten_of(), f"{JOB}/metrics")[1]
    nodes = found.pop("per_node_metrics")
    assert shape(found) == {**SERIES, "cache": STORAGE, "training_job": JOB_SHAPE}
    assert [shape(node) for node in nodes] == [{"node_id": TEXT, "metrics": SERIES}] * 2
    assert [shape(point) for point in found["cpu_usage"]] == [{"value": NUMBER, "timestamp": TEXT}] * 121


def test_a_reply_is_rendered_once_for_each_minute_and_not_kept_for_ever() -> None:
    now = [T0]
    fake = FakeBaseten(World([job(steady(), gpus=0)], lambda: now[0]), rate=10_000)

    def body(step: int = 60) -> bytes:
        query = {"start_epoch_millis": [str(int((T0 - 60.0) * 1000))], "step_seconds": [str(step)]}
        key = {"authorization": f"Bearer {baseten.KEY}"}
        return fake.handle(Request("GET", f"{JOB}/metrics", query, key, b"")).body

    first = body()
    now[0] = T0 + 59.0
    assert body() is first
    now[0] = T0 + 60.0
    assert len(json.loads(body())["cpu_usage"]) == 3
    now[0] = T0
    assert body() is first
    for step in range(61, 2062):
        body(step)
    again = body()
    assert again == first
    assert again is not first


def test_jobs_and_projects_of_baseten_have_the_contracts_shape() -> None:
    handle = baseten_of()
    assert shape(ask(handle, JOB)[1]) == {"training_job": JOB_SHAPE, "training_project": PROJECT_SHAPE}
    (project,) = ask(handle, "/v1/training_projects")[1]["training_projects"]
    assert shape(project) == PROJECT_SHAPE
    (price,) = ask(handle, "/v1/instance_type_prices")[1]["instance_types"]
    assert shape(price) == {"instance_type": JOB_SHAPE["instance_type"], "price": NUMBER}


def test_a_kind_without_a_list_price_is_in_no_list() -> None:
    unpriced = job(steady(), id_="j2", gpus=1)
    unpriced.usd_per_minute = None
    found = ask(baseten_of(job(steady()), unpriced), "/v1/instance_type_prices")[1]["instance_types"]
    assert [(item["instance_type"]["gpu_count"], item["price"]) for item in found] == [(2, 0.86667)]


def test_a_job_without_gpus_has_no_gpu_facts_and_no_ranks() -> None:
    found = ask(baseten_of(job(steady(), gpus=0)), f"{JOB}/metrics")[1]
    kind = found["training_job"]["instance_type"]
    assert (kind["gpu_count"], kind["gpu_type"], kind["gpu_memory_limit_mib"]) == (0, None, None)
    assert (found["gpu_utilization"], found["gpu_memory_usage_bytes"]) == ({}, {})
    assert found["cpu_usage"]


def test_an_absent_rank_is_absent_and_not_empty() -> None:
    """Missing is not zero: a GPU without samples has no key."""
    busy = steady()
    partly = job(lambda metric, node, gpu, time: None if (node, gpu) == ("b", "1") else busy(metric, node, gpu, time))
    leader, other = ask(baseten_of(partly), f"{JOB}/metrics")[1]["per_node_metrics"]
    assert set(leader["metrics"]["gpu_utilization"]) == {"0", "1"}
    assert set(other["metrics"]["gpu_utilization"]) == {"0"}


@pytest.mark.parametrize(
    ("asked", "points"),
    [
        (MOST_POINTS, MOST_POINTS + 1),  # both ends of the window
        (MOST_POINTS + 1, (MOST_POINTS + 1) // 2 + 1),
        (10 * MOST_POINTS, MOST_POINTS + 1),
    ],
)
def test_without_a_step_a_large_window_has_fewer_points(asked: int, points: int) -> None:
    """Windows of ``asked`` minutes; a step is then a whole number of minutes."""
    start = T0 - 60.0 * asked
    handle = baseten_of(job(steady(), created=start - 864000.0))
    found = ask(handle, f"{JOB}/metrics", start_epoch_millis=str(int(start * 1000)))[1]
    assert abs(len(found["cpu_usage"]) - points) <= 1


def test_the_beginning_of_time_is_a_start_like_others() -> None:
    found = ask(baseten_of(), f"{JOB}/metrics", start_epoch_millis="0", step_seconds="60")[1]
    assert len(found["cpu_usage"]) == 121


def test_metrics_come_late_by_the_lag_of_the_world() -> None:
    found = ask(baseten_of(lag=90.0), f"{JOB}/metrics", step_seconds="60")[1]
    assert max(point["timestamp"] for point in found["cpu_usage"]) == "2026-03-02T08:58:00Z"


@pytest.mark.parametrize("step", ["0", "-60", "1.5", "", "60s"])
def test_a_step_is_a_positive_whole_number(step: str) -> None:
    status, refused = ask(baseten_of(), f"{JOB}/metrics", step_seconds=step)
    assert (status, refused["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "body",
    [
        {"statuses": "TRAINING_JOB_RUNNING"},
        {"statuses": [1]},
        {"job_id": 7},
        {"project_id": ["p1"]},
        {"order_by": "created_at"},
        {"order_by": [{"field": "name", "order": "asc"}]},
        {"order_by": [{"field": "created_at", "order": "up"}]},
        {"order_by": ["created_at"]},
    ],
)
def test_a_search_that_is_not_of_the_published_types_is_refused(body: dict[str, Any]) -> None:
    status, refused = ask(baseten_of(), "/v1/training_jobs/search", body)
    assert (status, refused["code"], set(refused)) == (400, "VALIDATION_ERROR", {"code", "message", "details"})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"statuses": None, "project_id": None, "job_id": None}, ["new", "mid", "old"]),
        ({"order_by": [{"field": "created_at", "order": "desc"}]}, ["new", "mid", "old"]),
        ({"order_by": [{"field": "created_at", "order": "asc"}]}, ["old", "mid", "new"]),
        ({"order_by": []}, ["old", "mid", "new"]),
        ({"statuses": []}, []),
        ({"statuses": ["TRAINING_JOB_RUNNING", "NEVER_HEARD"]}, ["new", "mid", "old"]),
    ],
)
def test_a_search_sorts_the_newest_first_unless_told_otherwise(body: dict[str, Any], expected: list[str]) -> None:
    jobs = [job(steady(), T0 - 60.0 * age, name) for name, age in (("mid", 2), ("old", 3), ("new", 1))]
    found = ask(baseten_of(*jobs), "/v1/training_jobs/search", body)[1]["training_jobs"]
    assert [item["id"] for item in found] == expected


SERIES_OF_ALAYA = {
    "type": TEXT,
    "podName": TEXT,
    "gpuName": TEXT,
    "maxRate": TEXT,
    "avgRate": TEXT,
    "currentRate": TEXT,
    "metricData": LIST,
}


def alaya_of(*jobs: SimJob) -> Callable[[Request], Response]:
    return FakeAlaya(World(jobs or (job(steady()),), lambda: T0)).handle


def test_metrics_of_alaya_have_the_contracts_shape() -> None:
    found = ask(alaya_of(), "/v1/training/instance/j1/metrics", type="gpu", period="15m")[1]
    assert shape(found) == {
        "status": NUMBER,
        "message": TEXT,
        "data": {"startTime": TEXT, "endTime": TEXT, "metricData": LIST},
    }
    assert [shape(series) for series in found["data"]["metricData"]] == [SERIES_OF_ALAYA] * 4
    points = found["data"]["metricData"][0]["metricData"]
    assert [shape(point) for point in points] == [{"timestamp": NUMBER, "value": TEXT}] * 16
    assert [point["timestamp"] for point in points] != sorted(point["timestamp"] for point in points)
    assert found["data"]["endTime"] == "2026-03-02 17:00:00"


def test_a_series_without_points_has_empty_rates() -> None:
    found = ask(alaya_of(job(lambda *_: None)), "/v1/training/instance/j1/metrics", type="cpu", period="15m")[1]
    series = found["data"]["metricData"][0]
    assert [series[name] for name in ("maxRate", "avgRate", "currentRate", "metricData")] == ["", "", "", []]


@pytest.mark.parametrize("types", [[], ["gpu", "vram"], ["gpu", "gpu"], ["GPU"]])
def test_exactly_one_type_is_asked_for(types: list[str]) -> None:
    key = {"authorization": f"Bearer {alayanew.KEY}"}
    query = {"type": types, "period": ["15m"]} if types else {"period": ["15m"]}
    response = alaya_of()(Request("GET", "/v1/training/instance/j1/metrics", query, key, b""))
    assert response.status == 500
    assert json.loads(response.body)["data"] == {}


def test_alaya_only_reads() -> None:
    status, found = ask(alaya_of(), "/v1/training/instance/j1/metrics", {"type": "gpu"})
    assert (status, found["status"]) == (405, 405)


@pytest.mark.parametrize("query", [{"pageNo": "0"}, {"pageNo": "-1"}, {"pageSize": "0"}, {"pageSize": "ten"}])
def test_pages_are_counted_from_one(query: dict[str, str]) -> None:
    assert ask(alaya_of(), "/v1/training/instance/list", **query)[0] == 500


def test_a_row_of_the_list_has_the_known_fields() -> None:
    (row,) = ask(alaya_of(), "/v1/training/instance/list")[1]["data"]["records"]
    assert shape(row) == {
        "id": TEXT,
        "name": TEXT,
        "status": TEXT,
        "aidcId": TEXT,
        "resource": {"workerCount": NUMBER, "gpuCount": NUMBER, "gpuName": TEXT},
        "createdTime": TEXT,
        "startTime": TEXT,
        "endTime": None,
        "reason": None,
    }


def test_a_signature_is_of_the_path_as_sent() -> None:
    """The provider's test vector; the path goes with its prefix and without the query, still encoded."""
    fake = FakeAlaya(World((job(steady()),), lambda: 123.456), prefix="/api/osm", pair=("test-access", "test-secret"))
    code = "75b861affb0513a335904a768af94f065b1fe0eb2fe980b5223883b151db639b"
    path = "/api/osm/v1/product/list-for-training-task"
    for raw, status in ((path, 404), (path.replace("list", "l%69st"), 401)):
        header = {"authorization": f"alayanew-HMAC-SHA256 test-access:123456:{code}"}
        assert fake.handle(Request("GET", path, {}, header, b"", raw)).status == status
