"""The fake clouds keep to what the references say of the real ones: shapes, errors, limits."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from watchdog.model import JobStatus
from watchdog.simulated import alayanew, baseten
from watchdog.simulated.alayanew import FakeAlaya
from watchdog.simulated.baseten import FakeBaseten
from watchdog.simulated.server import Request, Response
from watchdog.simulated.world import SimJob, World, fleet_world, steady

T0 = 1_772_442_000.0
CACHED = steady(cache_utilization=0.5)


def job(
    id_: str = "j1", status: JobStatus = JobStatus.RUNNING, nodes: tuple[str, ...] = ("n0",), **more: Any
) -> SimJob:
    timeline = [(T0 - 7200.0, JobStatus.PENDING), (T0 - 3600.0, status)]
    return SimJob(id_, "name", "p1", "proj", CACHED, timeline, nodes=nodes, gpus_per_node=2, **more)


def world(*jobs: SimJob) -> World:
    return World(jobs or (job(),), lambda: T0)


def ask(
    handle: Callable[[Request], Response],
    method: str,
    path: str,
    body: Any = None,
    key: str | None = None,
    **query: str,
) -> tuple[int, Any]:
    headers: Mapping[str, str] = {} if key is None else {"authorization": key}
    request = Request(
        method, path, {k: [v] for k, v in query.items()}, headers, json.dumps(body).encode() if body else b""
    )
    response = handle(request)
    is_json = response.content_type == "application/json"
    return response.status, json.loads(response.body) if is_json else response.body


class Baseten:
    def __init__(self, *jobs: SimJob, **options: Any) -> None:
        self.fake = FakeBaseten(world(*jobs), **options)

    def __call__(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
        return ask(self.fake.handle, method, path, body, f"Bearer {baseten.KEY}", **query)

    def metrics(self, **query: str) -> dict[str, Any]:
        status, found = self("GET", "/v1/training_projects/p1/jobs/j1/metrics", **query)
        assert status == 200
        return dict(found)


METRICS_KEYS = {
    "gpu_utilization",
    "gpu_memory_usage_bytes",
    "cpu_usage",
    "cpu_memory_usage_bytes",
    "ephemeral_storage",
    "cache",
    "training_job",
    "per_node_metrics",
}


def test_a_metrics_reply_has_all_eight_keys_and_the_right_units() -> None:
    found = Baseten().metrics(start_epoch_millis=str(int(T0 - 300) * 1000), end_epoch_millis=str(int(T0) * 1000))
    assert set(found) == METRICS_KEYS
    assert set(found["gpu_utilization"]) == {"0", "1"}
    stamps = [point["timestamp"] for point in found["gpu_utilization"]["0"]]
    assert len(stamps) == 6
    assert stamps != sorted(stamps), "no order may be relied on"
    assert all(stamp.endswith("Z") for stamp in stamps)
    assert found["gpu_memory_usage_bytes"]["0"][0]["value"] == 0.72 * 80 * 1024**3
    assert found["cpu_usage"][0]["value"] == pytest.approx(0.35 * 96, rel=0.1), "cores"
    assert found["cache"]["utilization"][0]["value"] == 0.5
    assert found["per_node_metrics"] == []


def test_several_nodes_have_the_leader_on_top_too_and_no_cache_each() -> None:
    found = Baseten(job(nodes=("a", "b"))).metrics()
    assert [node["node_id"] for node in found["per_node_metrics"]] == ["a", "b"]
    assert found["per_node_metrics"][0]["metrics"]["gpu_utilization"] == found["gpu_utilization"]
    assert set(found["per_node_metrics"][0]["metrics"]) == METRICS_KEYS - {"cache", "training_job", "per_node_metrics"}


def test_a_job_without_samples_has_the_empty_forms() -> None:
    waiting = job(status=JobStatus.STARTING)
    waiting.signal = steady()
    found = Baseten(waiting).metrics()
    assert (found["gpu_utilization"], found["cpu_usage"], found["cache"]) == ({}, [], None)
    assert found["ephemeral_storage"] == {"usage_bytes": [], "utilization": []}


@pytest.mark.parametrize(("step", "count"), [("60", 61), ("300", 13), ("1", 61)])
def test_a_step_thins_the_samples(step: str, count: int) -> None:
    assert len(Baseten().metrics(step_seconds=step)["gpu_utilization"]["0"]) == count


def test_the_deprecated_form_of_the_metrics_call_still_answers() -> None:
    ask_ = Baseten()
    body = {"start_epoch_millis": int(T0 - 60) * 1000, "end_epoch_millis": int(T0) * 1000}
    status, found = ask_("POST", "/v1/training_projects/p1/jobs/j1/metrics", body)
    assert (status, len(found["gpu_utilization"]["0"])) == (200, 2)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, ["j1", "j2"]),
        ({"statuses": ["TRAINING_JOB_RUNNING"]}, ["j1"]),
        ({"job_id": "j2"}, ["j2"]),
        ({"job_id": "unknown"}, []),
        ({"project_id": "p1"}, ["j1", "j2"]),
        ({"project_id": "other"}, []),
    ],
)
def test_search(body: dict[str, Any], expected: list[str]) -> None:
    status, found = Baseten(job(), job("j2", JobStatus.FAILED))("POST", "/v1/training_jobs/search", body)
    assert (status, [item["id"] for item in found["training_jobs"]]) == (200, expected)


def test_an_error_message_is_shown_once_the_job_has_failed() -> None:
    ask_ = Baseten(job(status=JobStatus.FAILED, error="OOM", owner="a@example.com"))
    one = ask_("GET", "/v1/training_projects/p1/jobs/j1")[1]["training_job"]
    assert (one["current_status"], one["error_message"], one["user"]) == (
        "TRAINING_JOB_FAILED",
        "OOM",
        {"email": "a@example.com"},
    )


@pytest.mark.parametrize(
    ("method", "path", "query", "status"),
    [
        ("GET", "/v1/training_projects/p1/jobs/none/metrics", {}, 404),
        ("GET", "/v1/training_projects/other/jobs/j1", {}, 404),
        ("GET", "/v1/training_projects/other", {}, 404),
        ("GET", "/v1/nothing", {}, 404),
        ("DELETE", "/v1/training_projects/p1/jobs/j1", {}, 404),
        ("GET", "/v1/training_projects/p1/jobs/j1/metrics", {"start_epoch_millis": ""}, 400),
        ("GET", "/v1/training_projects/p1/jobs/j1/metrics", {"step_seconds": "x"}, 400),
        ("GET", "/v1/training_projects/p1/jobs/j1/metrics", {"start_epoch_millis": "2", "end_epoch_millis": "1"}, 400),
        ("GET", "/v1/training_projects", {}, 200),
        ("GET", "/v1/training_projects/p1", {}, 200),
        ("GET", "/v1/training_projects/p1/jobs", {}, 200),
        ("GET", "/v1/instance_type_prices", {}, 200),
    ],
)
def test_answers_by_status(method: str, path: str, query: dict[str, str], status: int) -> None:
    got, body = Baseten()(method, path, **query)
    assert got == status
    if status >= 400:
        assert set(body) == {"code", "message", "details"}


def test_a_body_that_is_no_object_is_refused() -> None:
    fake = FakeBaseten(world())
    for body in (b"{", b"[1]"):
        request = Request("POST", "/v1/training_jobs/search", {}, {"authorization": f"Bearer {baseten.KEY}"}, body)
        assert fake.handle(request).status == 400


@pytest.mark.parametrize("key", [None, "Bearer wrong", baseten.KEY])
def test_a_key_is_needed(key: str | None) -> None:
    assert ask(FakeBaseten(world()).handle, "GET", "/v1/training_projects", key=key)[0] == 401
    assert ask(FakeBaseten(world()).handle, "GET", "/v1/training_projects", key=f"Api-Key {baseten.KEY}")[0] == 200


def test_a_client_that_is_too_fast_waits_until_its_second_ends() -> None:
    now = [10.0]
    ask_ = Baseten(seconds=lambda: now[0], rate=3)
    statuses = [ask_("GET", "/v1/training_projects")[0] for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert ask_("GET", "/v1/training_projects")[1]["retry_after"] == 1
    assert ask_("GET", "/v1/instance_type_prices")[0] == 200, "each endpoint for itself"
    now[0] = 11.0
    assert ask_("GET", "/v1/training_projects")[0] == 200


def test_a_stop_is_final() -> None:
    ask_ = Baseten()
    path = "/v1/training_projects/p1/jobs/j1/stop"
    assert ask_("POST", path, {})[1]["training_job"]["current_status"] == "TRAINING_JOB_STOPPED"
    assert ask_("POST", path, {})[0] == 400


# --- Alaya NeW ------------------------------------------------------------------------------------


class Alaya:
    def __init__(self, *jobs: SimJob, **options: Any) -> None:
        self.fake = FakeAlaya(world(*jobs), **options)

    def __call__(self, path: str, key: str | None = f"Bearer {alayanew.KEY}", **query: str) -> tuple[int, Any]:
        return ask(self.fake.handle, "GET", path, key=key, **query)


METRICS = "/v1/training/instance/j1/metrics"


@pytest.mark.parametrize("kind", ["gpu", "vram", "cpu", "memory"])
def test_every_number_is_a_string_and_every_list_has_one_name(kind: str) -> None:
    status, found = Alaya(job(gpu_type="NVIDIA-H800A-NV-80G"))(METRICS, type=kind, period="15m")
    assert (status, found["status"], found["message"]) == (200, 200, "OK")
    series = found["data"]["metricData"]
    assert len(series) == (2 if kind in ("gpu", "vram") else 1)
    one = series[0]
    assert one["type"] == kind
    assert one["podName"] == "n0"
    assert ("gpuName" in one) is (kind in ("gpu", "vram"))
    assert one.get("gpuName", "NVIDIA-H800A-NV-80G-0") == "NVIDIA-H800A-NV-80G-0"
    assert all(isinstance(point["value"], str) and isinstance(point["timestamp"], int) for point in one["metricData"])
    assert len(one["metricData"]) == 16
    assert all(isinstance(one[name], str) for name in ("maxRate", "avgRate", "currentRate"))


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({}, 500),
        ({"type": "disk"}, 500),
        ({"type": "gpu", "period": "5m"}, 500),
        ({"type": "gpu"}, 500),
        ({"type": "gpu", "startTime": "2026-03-02 17:00:00", "endTime": "2026-03-02 16:00:00"}, 500),
        ({"type": "gpu", "startTime": "yesterday", "endTime": "2026-03-02 17:00:00"}, 500),
        ({"type": "gpu", "startTime": "2026-03-02 16:50:00", "endTime": "2026-03-02 17:00:00"}, 200),
        ({"type": "gpu", "startTime": "2026-03-02T08:50:00+00:00", "endTime": "2026-03-02T09:00:00+00:00"}, 200),
    ],
)
def test_parameters_of_the_metrics_call(query: dict[str, str], status: int) -> None:
    got, body = Alaya()(METRICS, **query)
    assert (got, body["status"]) == (status, status)
    if status == 200:
        assert len(body["data"]["metricData"][0]["metricData"]) == 11, "naive times are Shanghai's"
    else:
        assert body["data"] == {}


def test_an_unknown_job_is_forbidden_and_an_unknown_path_not_found() -> None:
    assert Alaya()("/v1/training/instance/none/metrics", type="gpu", period="15m")[0] == 403
    assert Alaya()("/v1/training/else")[0] == 404
    assert Alaya()("/v1/training/instance/checkIsEnabled")[1]["data"] is True


def test_outside_its_prefix_the_console_answers() -> None:
    status, body = Alaya(prefix="/api/osm")(METRICS, type="gpu", period="15m")
    assert (status, body[:9]) == (200, b"<!DOCTYPE")
    assert Alaya(prefix="/api/osm")("/api/osm" + METRICS, type="gpu", period="15m")[0] == 200


def test_the_list_has_pages() -> None:
    jobs = [job(f"j{number}") for number in range(5)]
    data = Alaya(*jobs)("/v1/training/instance/list", pageNo="2", pageSize="2")[1]["data"]
    assert (len(data["records"]), data["totalRows"]) == (2, 5)
    assert Alaya(*jobs)("/v1/training/instance/list", pageNo="4", pageSize="2")[1]["data"]["records"] == []
    row = Alaya(job(status=JobStatus.FAILED, error="OOM"))("/v1/training/instance/list")[1]["data"]["records"][0]
    assert (row["status"], row["reason"], row["resource"]["gpuCount"]) == ("FAILED", "OOM", 2)
    assert row["createdTime"] == "2026-03-02 15:00:00"


def signed(secret: str, millis: int, path: str, access: str = "ak") -> str:
    digest = hmac.new(secret.encode(), f"{millis}|GET|{path}".encode(), hashlib.sha256).hexdigest()
    return f"alayanew-HMAC-SHA256 {access}:{millis}:{digest}"


@pytest.mark.parametrize(
    ("key", "status"),
    [
        (None, 40401),
        ("Bearer wrong", 40006),
        ("alayanew-HMAC-SHA256 nonsense", 40001),
        (signed("sk", int(T0 * 1000), METRICS, access="other"), 40006),
        (signed("sk", int(T0 * 1000) - 301_000, METRICS), 40002),
        (signed("wrong", int(T0 * 1000), METRICS), 40003),
        (signed("sk", int(T0 * 1000), METRICS), 200),
        (f"Bearer {alayanew.KEY}", 200),
    ],
)
def test_credentials(key: str | None, status: int) -> None:
    http, body = Alaya(pair=("ak", "sk"))(METRICS, key, type="gpu", period="15m")
    assert (http, body["status"]) == (200 if status == 200 else 401, status)


def test_a_fleet_is_many_busy_jobs() -> None:
    fleet = fleet_world(3, 4, lambda: T0)
    assert len(fleet.present()) == 3
    assert {one.gpus_per_node for one in fleet.jobs} == {4}
    use = fleet.samples(fleet.jobs[0], "gpu_utilization", ("node-0", "3"), (T0 - 600.0, T0))
    assert all(0.9 < value <= 1.0 for _, value in use)
