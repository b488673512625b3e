"""What one poll asks of Baseten and what it makes of the answers; over real HTTP on loopback."""

import logging
import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from watchdog.model import JobStatus
from watchdog.ports import Source
from watchdog.vocabulary import RESOURCE_METRICS

SEARCH = "/v1/training_jobs/search"
METRICS = "/metrics"
OLD = "2026-02-01T00:00:00Z"
"""Long before any window of these tests."""
PRICES = "/v1/instance_type_prices"
PROJECTS = "/v1/training_projects"


def by_id(poll: Any) -> dict[str, Any]:
    assert len({reading.job.job for reading in poll.readings}) == len(poll.readings)
    return {reading.job.job: reading for reading in poll.readings}


def jobs_read(bench: Any) -> list[str]:
    """Return the jobs whose metrics were asked for, sorted; each as often as it was."""
    return sorted(asked.path.split("/")[5] for asked in bench.cloud.of(METRICS))


def test_it_is_a_source_of_the_core(bench: Any, baseten: Any) -> None:
    source: Source = bench.source("baseten", step="30s")
    assert (source.name, source.provider, source.step) == ("s", "baseten", 30.0)


def test_one_search_finds_the_active_jobs_of_the_organisation(bench: Any, baseten: Any) -> None:
    for number, status in enumerate(["RUNNING", "DEPLOYING", "PENDING", "CREATED", "QUEUED", "COMPLETED", "FAILED"]):
        baseten.add(f"j{number}", status, project=f"p{number % 2}")
    poll = bench.source("baseten").poll(bench.request())
    assert (poll.source, poll.error, poll.error_kind, poll.gone, poll.retry_after) == ("s", "", "", (), None)
    assert {job: reading.job.status.value for job, reading in by_id(poll).items()} == {
        "j0": "running",
        "j1": "starting",
        "j2": "pending",
        "j3": "pending",
        "j4": "pending",
    }
    (search,) = bench.cloud.of(SEARCH)
    assert set(search.json) == {"statuses"}
    assert set(search.json["statuses"]) == {
        f"TRAINING_JOB_{word}" for word in ("PENDING", "CREATED", "QUEUED", "DEPLOYING", "RUNNING")
    }


def test_metrics_are_read_of_jobs_that_may_have_some(bench: Any, baseten: Any) -> None:
    for status in ("RUNNING", "DEPLOYING", "PENDING", "CREATED"):
        baseten.add(status.lower(), status)
    poll = bench.source("baseten").poll(bench.request())
    assert jobs_read(bench) == ["deploying", "running"]
    waiting = by_id(poll)["pending"]
    assert (waiting.points, waiting.failed_metrics, waiting.error) == ((), frozenset(), "")


def test_the_reading_of_a_job_holds_its_samples_price_and_cache(bench: Any, baseten: Any) -> None:
    baseten.add("a", project="pr1", user={"email": "ada@example.com"})
    reading = bench.only(bench.source("baseten").poll(bench.request()))
    series = bench.series(reading)
    assert series["gpu_utilization", "worker-a", "0"] == {0.0: 0.88, 1.0: 0.91}
    assert series["cache_utilization",] == {1.0: 0.95}
    assert (reading.job.owner, reading.job.gpus) == ("ada@example.com", 4)
    assert reading.job.cost_usd_per_hour == pytest.approx(24.0)


def test_only_the_named_projects_are_searched(bench: Any, baseten: Any) -> None:
    for project in ("p1", "p2", "p3"):
        baseten.add(f"of-{project}", project=project)
    poll = bench.source("baseten", projects=["p1", "p3"]).poll(bench.request())
    assert set(by_id(poll)) == {"of-p1", "of-p3"}
    assert [search.json["project_id"] for search in bench.cloud.of(SEARCH)] == ["p1", "p3"]


def test_named_jobs_are_searched_by_their_ids_and_nothing_else_is(bench: Any, baseten: Any) -> None:
    for job in ("a", "b", "c"):
        baseten.add(job)
    source = bench.source("baseten", jobs=["a", "c"])
    assert set(by_id(source.poll(bench.request()))) == {"a", "c"}
    assert [search.json for search in bench.cloud.of(SEARCH)] == [{"job_id": "a"}, {"job_id": "c"}]
    source.poll(bench.request())
    assert bench.cloud.of(PROJECTS) == []


def test_named_jobs_may_be_beside_named_projects(bench: Any, baseten: Any) -> None:
    baseten.add("a", project="p1")
    baseten.add("b", project="p2")
    baseten.add("c", project="p3")
    poll = bench.source("baseten", projects=["p1"], jobs=["a", "b"]).poll(bench.request())
    assert set(by_id(poll)) == {"a", "b"}
    assert jobs_read(bench) == ["a", "b"]


def test_a_named_job_that_is_not_there_is_said_once(bench: Any, baseten: Any, caplog: pytest.LogCaptureFixture) -> None:
    source = bench.source("baseten", jobs=["typo"])
    for _ in range(3):
        assert source.poll(bench.request()).error == ""
    assert [record.getMessage() for record in caplog.records] == ["no such job, or not for this key"]
    baseten.add("typo")
    assert set(by_id(source.poll(bench.request()))) == {"typo"}
    del baseten.jobs["typo"]
    source.poll(bench.request())
    assert len(caplog.records) == 2


def test_a_named_job_that_ended_before_we_looked_is_not_news(bench: Any, baseten: Any) -> None:
    baseten.add("old", "FAILED")
    source = bench.source("baseten", jobs=["old"])
    assert source.poll(bench.request()).readings == ()
    bench.clock.now += 60
    assert source.poll(bench.request()).readings == ()


def test_a_named_job_that_ends_is_read_once_more(bench: Any, baseten: Any) -> None:
    baseten.add("a", "COMPLETED")
    poll = bench.source("baseten", jobs=["a"]).poll(bench.request(bench.watched("a", bench.nine)))
    assert bench.only(poll).job.status is JobStatus.COMPLETED
    assert jobs_read(bench) == ["a"]


def test_the_window_reaches_back_as_far_as_the_rules_need(bench: Any, baseten: Any) -> None:
    baseten.add("a", created_at=OLD)
    bench.source("baseten", step="30s").poll(bench.request(window=7200))
    (asked,) = bench.cloud.of(METRICS)
    now = int(bench.clock.now * 1000)
    assert asked.query == {
        "start_epoch_millis": str(now - 7_200_000),
        "end_epoch_millis": str(now),
        "step_seconds": "30",
    }
    assert asked.body == b""


@pytest.mark.parametrize(
    ("age", "step", "reach"),
    [
        (60, "60s", 660),
        (0, "60s", 600),
        (-200, "60s", 600),
        (3600, "60s", 4200),
        (10_000, "60s", 7200),
        (60, "5m", 1560),
        (None, "60s", 7200),
    ],
)
def test_what_is_known_is_asked_again_with_an_overlap(
    bench: Any, baseten: Any, age: float | None, step: str, reach: float
) -> None:
    baseten.add("a", created_at=OLD)
    newest = None if age is None else bench.clock.now - age
    bench.source("baseten", step=step).poll(bench.request(bench.watched("a", newest), window=7200))
    (asked,) = bench.cloud.of(METRICS)
    assert bench.clock.now - int(asked.query["start_epoch_millis"]) / 1000 == reach


def test_a_window_shorter_than_the_overlap_is_the_overlap(bench: Any, baseten: Any) -> None:
    baseten.add("a", created_at=OLD)
    bench.source("baseten").poll(bench.request(window=300))
    (asked,) = bench.cloud.of(METRICS)
    assert bench.clock.now - int(asked.query["start_epoch_millis"]) / 1000 == 600


def test_a_long_backfill_is_read_in_parts_oldest_first(bench: Any, baseten: Any) -> None:
    raw = baseten.add("a", node_count=8, created_at=OLD)
    raw["instance_type"]["gpu_count"] = 8

    def metrics(asked: Any) -> Any:
        stamp = datetime.fromtimestamp(int(asked.query["start_epoch_millis"]) / 1000, UTC).isoformat()
        return bench.say({"training_job": raw, "gpu_utilization": {"0": [{"value": 0.5, "timestamp": stamp}, {}]}})

    baseten.metrics("a", metrics)
    (reading,) = bench.source("baseten").poll(bench.request(window=86_400)).readings
    spans = [
        (int(asked.query["start_epoch_millis"]) / 1000, int(asked.query["end_epoch_millis"]) / 1000)
        for asked in bench.cloud.of(METRICS)
    ]
    assert len(spans) == 3
    assert spans[0][0] == bench.clock.now - 86_400
    assert spans[-1][1] == bench.clock.now
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
    assert [list(points.times) for points in reading.points] == [[start] for start, _ in spans]
    assert reading.dropped == {"null": 3}


def test_a_backfill_that_breaks_off_keeps_what_it_has(bench: Any, baseten: Any) -> None:
    raw = baseten.add("a", node_count=8, created_at=OLD)
    raw["instance_type"]["gpu_count"] = 8
    sample = {
        "training_job": raw,
        "gpu_utilization": {"0": [{"value": 0.5, "timestamp": "2026-03-01T12:00:00Z"}, {"value": None}]},
    }
    baseten.metrics("a", sample, bench.say({}, 400))
    poll = bench.source("baseten").poll(bench.request(window=86_400))
    (reading,) = poll.readings
    assert [list(points.values) for points in reading.points] == [[0.5]]
    assert reading.failed_metrics == RESOURCE_METRICS
    assert "HTTP 400" in reading.error
    assert reading.dropped["null"] == 1
    assert reading.job.job == "a"


def test_a_window_that_is_refused_as_too_long_is_asked_shorter(bench: Any, baseten: Any) -> None:
    raw = baseten.add("a")
    sample = {"training_job": raw, "gpu_utilization": {}}
    baseten.metrics("a", bench.say({"message": "window too long"}, 400), sample)
    poll = bench.source("baseten").poll(bench.request(window=7200))
    assert poll.error == ""
    first, second = bench.cloud.of(METRICS)
    assert bench.clock.now - int(second.query["start_epoch_millis"]) / 1000 == 600
    assert first.query["end_epoch_millis"] == second.query["end_epoch_millis"]


def test_a_short_window_that_is_refused_is_an_error(bench: Any, baseten: Any) -> None:
    baseten.add("a")
    baseten.metrics("a", bench.say({}, 400))
    poll = bench.source("baseten").poll(bench.request(window=600))
    assert len(bench.cloud.of(METRICS)) == 1
    assert "HTTP 400" in poll.error


def test_an_older_backend_is_asked_by_post_from_then_on(bench: Any, baseten: Any) -> None:
    raw = baseten.add("a")
    baseten.metrics("a", bench.say({}, 405))
    baseten.metrics("a", {"training_job": raw, "gpu_utilization": {}}, method="POST")
    source = bench.source("baseten")
    for _ in range(2):
        assert source.poll(bench.request(window=600)).error == ""
    asked = bench.cloud.of(METRICS)
    assert [item.method for item in asked] == ["GET", "POST", "POST"]
    assert asked[1].query == {}
    assert asked[1].json == {
        "start_epoch_millis": int((bench.clock.now - 600) * 1000),
        "end_epoch_millis": int(bench.clock.now * 1000),
        "step_seconds": 60,
    }


def test_a_job_that_leaves_the_search_is_read_once_more_for_its_end(bench: Any, baseten: Any) -> None:
    baseten.add("a", "FAILED", error_message="out of memory")
    poll = bench.source("baseten").poll(bench.request(bench.watched("a", bench.nine)))
    reading = bench.only(poll)
    assert reading.job.status is JobStatus.FAILED
    assert reading.job.error == "out of memory"
    assert bench.series(reading)["gpu_utilization", "worker-a", "0"] == {0.0: 0.88, 1.0: 0.91}


@pytest.mark.parametrize(
    ("word", "status"),
    [("RUNNING", JobStatus.RUNNING), ("WARMING_UP", JobStatus.UNKNOWN), ("PENDING", JobStatus.PENDING)],
)
def test_a_job_that_is_unlisted_but_not_over_is_kept(bench: Any, baseten: Any, word: str, status: JobStatus) -> None:
    baseten.add("a", word)
    baseten.unlisted.add("a")
    poll = bench.source("baseten").poll(bench.request(bench.watched("a")))
    assert bench.only(poll).job.status is status
    assert poll.gone == ()


def test_a_job_is_gone_when_it_is_not_found_twice_in_a_row(bench: Any, baseten: Any) -> None:
    source = bench.source("baseten")
    watched = bench.watched("a", job_name="train")
    first = source.poll(bench.request(watched))
    (reading,) = first.readings
    assert (first.error, first.gone) == ("", ())
    assert reading.job == watched.job
    assert reading.failed_metrics == RESOURCE_METRICS
    assert reading.error.startswith("metrics: HTTP 404")
    second = source.poll(bench.request(watched))
    assert (second.error, second.gone, second.readings) == ("", ("a",), ())
    assert source.poll(bench.request(watched)).gone == ()


def test_a_job_that_is_found_again_in_between_is_not_gone(bench: Any, baseten: Any) -> None:
    source = bench.source("baseten")
    watched = bench.watched("a")
    path = "/v1/training_projects/pr1/jobs/a/metrics"
    for status, gone in [(404, ()), (200, ()), (404, ()), (500, ()), (404, ()), (404, ("a",))]:
        answer = bench.say({"gpu_utilization": {}}) if status == 200 else bench.say({}, status)
        bench.cloud.on("GET", path, answer)
        assert source.poll(bench.request(watched)).gone == gone


def test_a_listed_job_without_metrics_is_not_gone(bench: Any, baseten: Any) -> None:
    baseten.add("a")
    baseten.metrics("a", bench.say({}, 404))
    source = bench.source("baseten")
    for _ in range(3):
        poll = source.poll(bench.request(bench.watched("a")))
        assert (poll.gone, poll.error) == ((), "")
        assert by_id(poll)["a"].failed_metrics == RESOURCE_METRICS


def test_a_search_that_ignores_its_filter_brings_no_old_jobs(bench: Any, baseten: Any) -> None:
    for job, status in [("old", "COMPLETED"), ("watched", "STOPPED"), ("now", "RUNNING")]:
        baseten.add(job, status)
    bench.cloud.on("POST", SEARCH, {"training_jobs": list(baseten.jobs.values())})
    poll = bench.source("baseten").poll(bench.request(bench.watched("watched")))
    assert {job: reading.job.status.value for job, reading in by_id(poll).items()} == {
        "watched": "stopped",
        "now": "running",
    }


def test_jobs_are_read_once_however_often_they_are_listed(bench: Any, baseten: Any) -> None:
    raw = baseten.add("a")
    bench.cloud.on("POST", SEARCH, {"training_jobs": [raw, raw, raw]})
    assert set(by_id(bench.source("baseten").poll(bench.request()))) == {"a"}
    assert jobs_read(bench) == ["a"]


def test_thousands_of_jobs_are_read(bench: Any, baseten: Any) -> None:
    many = [baseten.add(f"j{number}", "PENDING") for number in range(3000)]
    assert len(bench.source("baseten").poll(bench.request()).readings) == len(many)


def test_entries_that_are_no_jobs_are_left_out_and_said(
    bench: Any, baseten: Any, caplog: pytest.LogCaptureFixture
) -> None:
    raw = baseten.add("a")
    no_project = {**raw, "id": "b", "training_project_id": None, "training_project": None}
    bench.cloud.on("POST", SEARCH, {"training_jobs": [None, {"id": None}, no_project, raw]})
    assert set(by_id(bench.source("baseten").poll(bench.request()))) == {"a"}
    assert len(caplog.records) == 3


@pytest.mark.parametrize("reply", [{}, [], {"training_jobs": None}, {"training_jobs": {}}, {"error": "x"}])
def test_a_search_without_a_list_is_not_an_organisation_without_jobs(bench: Any, baseten: Any, reply: Any) -> None:
    bench.cloud.on("POST", SEARCH, reply)
    poll = bench.source("baseten").poll(bench.request(bench.watched("a")))
    assert (poll.up, poll.error_kind, poll.readings, poll.gone) == (False, "malformed", (), ())
    assert poll.error == "job search: an answer without training_jobs"


def test_an_older_search_that_refuses_a_status_is_asked_without_it(bench: Any, baseten: Any) -> None:
    baseten.add("a")

    def search(asked: Any) -> Any:
        if "TRAINING_JOB_QUEUED" in asked.json["statuses"]:
            return bench.say({"code": "VALIDATION_ERROR"}, 400)
        return baseten.search(asked)

    bench.cloud.on("POST", SEARCH, search)
    source = bench.source("baseten")
    for _ in range(2):
        assert set(by_id(source.poll(bench.request()))) == {"a"}
    assert [len(asked.json["statuses"]) for asked in bench.cloud.of(SEARCH)] == [5, 4, 4]


def test_a_search_that_is_refused_either_way_is_a_configuration_error(bench: Any, baseten: Any) -> None:
    bench.cloud.on("POST", SEARCH, bench.say({"message": "project_id is invalid"}, 400))
    source = bench.source("baseten", projects=["x"])
    for _ in range(2):
        poll = source.poll(bench.request())
        assert (poll.error_kind, poll.retry_after) == ("configuration", 600)
        assert poll.error == "job search: HTTP 400; project_id is invalid"
    assert [len(asked.json["statuses"]) for asked in bench.cloud.of(SEARCH)] == [5, 4, 5, 4]


@pytest.mark.parametrize("status", [401, 403])
def test_a_bad_key_is_one_error_and_slow_retries(bench: Any, baseten: Any, status: int) -> None:
    baseten.add("a")
    bench.cloud.on("POST", SEARCH, bench.say({"message": "nope"}, status))
    poll = bench.source("baseten", interval=120).poll(bench.request(bench.watched("a")))
    assert (poll.up, poll.error_kind, poll.readings, poll.gone) == (False, "credentials", (), ())
    assert poll.retry_after == 1200
    assert str(status) in poll.error
    assert len(bench.cloud.asked) == 1


def test_a_key_that_is_rotated_is_used_at_the_next_request(bench: Any, baseten: Any) -> None:
    baseten.add("a")
    source = bench.source("baseten")
    source.poll(bench.request())
    bench.secrets.values["BASETEN_API_KEY"] = "bt-secret-2\n"
    seen = len(bench.cloud.asked)
    source.poll(bench.request())
    assert {asked.headers["authorization"] for asked in bench.cloud.asked[:seen]} == {"Bearer bt-secret-1"}
    assert {asked.headers["authorization"] for asked in bench.cloud.asked[seen:]} == {"Bearer bt-secret-2"}


def test_a_key_that_vanishes_is_a_credentials_error(bench: Any, baseten: Any) -> None:
    source = bench.source("baseten")
    bench.secrets.values.clear()
    poll = source.poll(bench.request())
    assert (poll.error_kind, poll.retry_after) == ("credentials", 600)
    assert "BASETEN_API_KEY is not set" in poll.error
    assert bench.cloud.asked == []


def test_a_search_that_is_limited_says_when_to_come_back(bench: Any, baseten: Any) -> None:
    bench.cloud.on("POST", SEARCH, bench.say({"error": "limit", "retry_after": 90}, 429))
    poll = bench.source("baseten").poll(bench.request())
    assert (poll.error_kind, poll.retry_after) == ("rate_limited", 90)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"content": b"<html>", "kind": "text/html"}, "unavailable"),
        ({"content": b"", "status": 503}, "unavailable"),
        ({"content": b""}, "malformed"),
        ({"content": b'{"training_jobs": ['}, "malformed"),
        ({"content": b'{"training_jobs": [', "cut": 9}, "unavailable"),
    ],
)
def test_a_provider_that_is_down_is_a_poll_with_an_error(
    bench: Any, baseten: Any, answer: dict[str, Any], kind: str
) -> None:
    bench.cloud.on("POST", SEARCH, bench.say(**answer))
    poll = bench.source("baseten").poll(bench.request(bench.watched("a")))
    assert (poll.up, poll.error_kind, poll.readings, poll.gone, poll.retry_after) == (False, kind, (), (), None)
    assert poll.finished_at >= poll.started_at


def test_one_project_that_cannot_be_searched_leaves_the_others(bench: Any, baseten: Any) -> None:
    baseten.add("a", project="p1")
    baseten.add("b", project="p2")

    def search(asked: Any) -> Any:
        return bench.say({}, 403) if asked.json["project_id"] == "p1" else baseten.search(asked)

    bench.cloud.on("POST", SEARCH, search)
    watched = bench.watched("a", project="p1")
    poll = bench.source("baseten", projects=["p1", "p2"]).poll(bench.request(watched))
    assert (poll.up, poll.error_kind, poll.retry_after) == (False, "credentials", None)
    assert {job: reading.error for job, reading in by_id(poll).items()} == {"a": "", "b": ""}


def test_a_key_that_is_not_valid_ends_the_searches(bench: Any, baseten: Any) -> None:
    bench.cloud.on("POST", SEARCH, bench.say({}, 401))
    bench.source("baseten", projects=["p1", "p2"]).poll(bench.request())
    assert len(bench.cloud.of(SEARCH)) == 1


BAD_METRICS = [
    {"content": b""},
    {"content": b"null"},
    {"content": {}},
    {"content": b'{"gpu_utilization": {"0": [', "kind": "application/json"},
    {"content": b"<html>oops</html>", "kind": "text/html"},
    {"content": {}, "status": 401},
    {"content": {}, "status": 403},
    {"content": {}, "status": 404},
    {"content": {"retry_after": 100}, "status": 429},
    {"content": {}, "status": 500},
    {"content": b"", "status": 302, "headers": {"location": "https://elsewhere.example/"}},
    {"content": b"x", "cut": 5},
]


@pytest.mark.parametrize("answer", BAD_METRICS)
def test_one_job_that_cannot_be_read_harms_no_other(bench: Any, baseten: Any, answer: dict[str, Any]) -> None:
    for job in ("a", "b"):
        baseten.add(job)
    baseten.metrics("b", bench.say(**answer))
    poll = bench.source("baseten").poll(bench.request(bench.watched("b"), window=600))
    assert (poll.error, poll.gone) == ("", ())
    good, bad = by_id(poll)["a"], by_id(poll)["b"]
    assert (good.failed_metrics, good.error) == (frozenset(), "")
    assert good.points
    assert bad.failed_metrics == RESOURCE_METRICS
    assert bad.error.startswith("metrics: ")
    assert (bad.points, bad.job.status) == ((), JobStatus.RUNNING)


@pytest.mark.parametrize(
    ("answer", "kind", "wait"),
    [
        ({"content": {}, "status": 500}, "unavailable", None),
        ({"content": {}, "status": 403}, "credentials", None),
        ({"content": {}}, "malformed", None),
        ({"content": {"retry_after": 50}, "status": 429}, "rate_limited", 50),
    ],
)
def test_when_no_job_can_be_read_the_source_is_down_but_states_arrive(
    bench: Any, baseten: Any, answer: dict[str, Any], kind: str, wait: float | None
) -> None:
    for job in ("a", "b"):
        baseten.add(job)
        baseten.metrics(job, bench.say(**answer))
    baseten.add("c", "PENDING")
    poll = bench.source("baseten").poll(bench.request())
    assert (poll.up, poll.error_kind, poll.retry_after) == (False, kind, wait)
    assert poll.error.startswith("no metrics of any job: metrics: ")
    assert {job: reading.job.status.value for job, reading in by_id(poll).items()} == {
        "a": "running",
        "b": "running",
        "c": "pending",
    }


def test_a_source_without_jobs_is_up(bench: Any, baseten: Any) -> None:
    poll = bench.source("baseten").poll(bench.request())
    assert (poll.up, poll.readings) == (True, ())


def test_a_slow_job_costs_its_own_reading_only(bench: Any, baseten: Any) -> None:
    release = threading.Event()
    for job in ("a", "b"):
        baseten.add(job)
    baseten.metrics("b", bench.say({}, wait=release))
    source = bench.source("baseten", timeout="50ms")
    poll = source.poll(bench.request())
    release.set()
    assert poll.error == ""
    assert "no answer within 0.05 s" in by_id(poll)["b"].error
    assert by_id(poll)["a"].points


def test_jobs_for_which_there_was_no_time_are_unknown_and_first_at_the_next_poll(
    bench: Any, baseten: Any, sample: Any
) -> None:
    order: list[str] = []

    def slow(asked: Any) -> Any:
        order.append(asked.path.split("/")[5])
        bench.clock.now += 7
        return bench.say(sample)

    del sample["training_job"]
    jobs = [f"j{number:02}" for number in range(30)]
    for job in jobs:
        baseten.add(job)
        baseten.metrics(job, slow)
    source = bench.source("baseten")
    watched = [bench.watched(job, bench.clock.now - 60 - number) for number, job in enumerate(jobs)]
    poll = source.poll(bench.request(*watched))
    late = {job for job, reading in by_id(poll).items() if reading.failed_metrics}
    assert poll.error == ""
    assert 10 <= len(late) < 30
    assert all(by_id(poll)[job].failed_metrics == RESOURCE_METRICS for job in late)
    assert all("time of a poll" in by_id(poll)[job].error for job in late)
    assert set(order[:8]) <= set(jobs[-16:])


def test_jobs_are_read_side_by_side_but_not_more_than_eight(bench: Any, baseten: Any) -> None:
    lock = threading.Lock()
    reading: set[str] = set()
    most: list[int] = []

    def metrics(asked: Any) -> Any:
        return bench.say({"gpu_utilization": {}}, wait=Counted(asked.path))

    class Counted(threading.Event):
        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

        def wait(self, timeout: float | None = None) -> bool:
            with lock:
                reading.add(self.path)
                most.append(len(reading))
            time.sleep(0.005)
            with lock:
                reading.discard(self.path)
            return True

    for number in range(24):
        baseten.add(f"j{number}")
        baseten.metrics(f"j{number}", metrics)
    assert len(bench.source("baseten").poll(bench.request()).readings) == 24
    assert 2 <= max(most) <= 8


def test_prices_are_read_once_an_hour(bench: Any, baseten: Any) -> None:
    baseten.add("a")
    source = bench.source("baseten")
    started = bench.clock.now
    for seconds, times in [(0, 1), (60, 1), (3599, 1), (3600, 2), (3660, 2)]:
        bench.clock.now = started + seconds
        poll = source.poll(bench.request())
        assert by_id(poll)["a"].job.cost_usd_per_hour == pytest.approx(24.0)
        assert len(bench.cloud.of(PRICES)) == times


@pytest.mark.parametrize("answer", [{"status": 403}, {"status": 500}, {"content": b"<html>"}, {"content": {}}])
def test_without_prices_the_cost_is_not_known_and_never_zero(bench: Any, baseten: Any, answer: dict[str, Any]) -> None:
    baseten.add("a")
    bench.cloud.on("GET", PRICES, bench.say(**answer))
    reading = bench.only(bench.source("baseten").poll(bench.request()))
    assert reading.job.cost_usd_per_hour is None
    assert len(bench.cloud.of(PRICES)) == 1


def test_prices_that_failed_are_asked_again_later_and_old_ones_are_kept(bench: Any, baseten: Any) -> None:
    baseten.add("a")
    source = bench.source("baseten")
    source.poll(bench.request())
    started = bench.clock.now
    bench.cloud.on("GET", PRICES, bench.say({}, 500))
    for seconds, times in [(3600, 2), (4199, 2), (4200, 3)]:
        bench.clock.now = started + seconds
        assert by_id(source.poll(bench.request()))["a"].job.cost_usd_per_hour == pytest.approx(24.0)
        assert len(bench.cloud.of(PRICES)) == times


def test_prices_may_be_left_alone(bench: Any, baseten: Any) -> None:
    baseten.add("a")
    reading = bench.only(bench.source("baseten", prices=False).poll(bench.request()))
    assert reading.job.cost_usd_per_hour is None
    assert bench.cloud.of(PRICES) == []


def test_a_job_that_lived_between_two_polls_is_found(bench: Any, baseten: Any) -> None:
    source = bench.source("baseten")
    baseten.add("old", "FAILED", project="p0")
    assert source.poll(bench.request()).readings == ()
    assert bench.cloud.of(PROJECTS) == []
    bench.clock.now += 60
    baseten.add("short", "FAILED", created_at="2026-03-02T09:02:10Z", updated_at="2026-03-02T09:02:40Z")
    reading = bench.only(source.poll(bench.request()))
    assert (reading.job.job, reading.job.status) == ("short", JobStatus.FAILED)
    assert reading.job.project_name == "name of pr1"
    assert reading.points
    bench.clock.now += 60
    assert source.poll(bench.request()).readings == ()


@pytest.mark.parametrize(("second", "found"), [("01:59", False), ("02:00", False), ("02:01", True)])
def test_a_short_job_must_have_changed_after_the_last_poll(bench: Any, baseten: Any, second: str, found: bool) -> None:
    source = bench.source("baseten")
    source.poll(bench.request())
    bench.clock.now += 60
    baseten.add("short", "COMPLETED", updated_at=f"2026-03-02T09:{second}Z")
    assert bool(source.poll(bench.request()).readings) is found


def test_the_time_without_an_answer_counts_for_short_jobs(bench: Any, baseten: Any) -> None:
    source = bench.source("baseten")
    source.poll(bench.request())
    baseten.add("short", "FAILED", updated_at="2026-03-02T09:02:30Z")
    bench.cloud.on("POST", SEARCH, bench.say({}, 500), bench.say({}, 500), bench.say({}, 500), baseten.search)
    bench.clock.now += 600
    assert not source.poll(bench.request()).up
    bench.clock.now += 600
    assert bench.only(source.poll(bench.request())).job.job == "short"


def test_a_job_that_was_watched_to_its_end_is_not_found_again(bench: Any, baseten: Any) -> None:
    raw = baseten.add("a")
    source = bench.source("baseten")
    source.poll(bench.request())
    bench.clock.now += 60
    raw |= {"current_status": "TRAINING_JOB_COMPLETED", "updated_at": "2026-03-02T09:10:00Z"}
    assert bench.only(source.poll(bench.request(bench.watched("a")))).job.status is JobStatus.COMPLETED
    bench.clock.now += 60
    assert source.poll(bench.request()).readings == ()


def test_seen_jobs_are_forgotten_after_a_day(bench: Any, baseten: Any) -> None:
    baseten.add("a")
    source = bench.source("baseten")
    source.poll(bench.request())
    assert set(source._discovery._seen) == {"a"}
    baseten.jobs.clear()
    bench.clock.now += 86_400
    source.poll(bench.request())
    assert source._discovery._seen == {}


@pytest.mark.parametrize("answer", [{"status": 403}, {"status": 404}, {"status": 500}, {"content": {}}])
def test_a_list_of_projects_that_is_refused_is_ignored(bench: Any, baseten: Any, answer: dict[str, Any]) -> None:
    baseten.add("a")
    source = bench.source("baseten")
    source.poll(bench.request())
    bench.cloud.on("GET", PROJECTS, bench.say(**answer))
    poll = source.poll(bench.request())
    assert (poll.error, set(by_id(poll))) == ("", {"a"})
    assert len(bench.cloud.of(PROJECTS)) == 1


def test_short_jobs_of_other_projects_and_odd_entries_are_left_out(bench: Any, baseten: Any) -> None:
    source = bench.source("baseten", projects=["p1"])
    source.poll(bench.request())
    bench.clock.now += 60
    raw = baseten.add("short", "FAILED", project="p1", updated_at="2026-03-02T09:02:30Z")
    bare = {key: value for key, value in raw.items() if not key.startswith("training_project")}
    bench.cloud.on(
        "GET",
        PROJECTS,
        {
            "training_projects": [
                None,
                {"id": "p1", "latest_job": None},
                {"id": "p1", "latest_job": {"id": None}},
                {"id": "p1", "latest_job": {"id": "running", "current_status": "TRAINING_JOB_RUNNING"}},
                {"id": "p1", "latest_job": {"id": "timeless", "current_status": "TRAINING_JOB_FAILED"}},
                {"id": "p2", "latest_job": {**bare, "id": "other"}},
                {"id": "p1", "name": "one", "latest_job": bare},
            ]
        },
    )
    reading = bench.only(source.poll(bench.request()))
    assert (reading.job.job, reading.job.project) == ("short", "p1")


def test_a_search_that_ignores_its_filter_finds_short_jobs_too(bench: Any, baseten: Any) -> None:
    source = bench.source("baseten")
    source.poll(bench.request())
    bench.clock.now += 60
    baseten.add("short", "STOPPED", updated_at="2026-03-02T09:02:30Z")
    bench.cloud.on("POST", SEARCH, {"training_jobs": list(baseten.jobs.values())})
    assert bench.only(source.poll(bench.request())).job.status is JobStatus.STOPPED


def test_stale_samples_are_handed_over_with_their_own_times(bench: Any, baseten: Any) -> None:
    """Whether they are too old to judge by is the core's to say."""
    baseten.add("a")
    bench.clock.now += 1200
    reading = bench.only(bench.source("baseten").poll(bench.request()))
    assert max(points.times[-1] for points in reading.points) == bench.nine + 60


def test_polls_take_their_times_from_the_clock(bench: Any, baseten: Any) -> None:
    baseten.add("a")

    def slow(asked: Any) -> Any:
        bench.clock.now += 5
        return baseten.search(asked)

    bench.cloud.on("POST", SEARCH, slow)
    started = bench.clock.now
    poll = bench.source("baseten").poll(bench.request())
    assert (poll.started_at, poll.finished_at) == (started, started + 5)


def test_close_ends_a_poll_that_hangs(bench: Any, baseten: Any) -> None:
    release, asked = threading.Event(), threading.Event()

    def hang(_asked: Any) -> Any:
        asked.set()
        return bench.say({}, wait=release)

    bench.cloud.on("POST", SEARCH, hang)
    source = bench.source("baseten")
    polls: list[Any] = []
    thread = threading.Thread(target=lambda: polls.append(source.poll(bench.request())))
    thread.start()
    assert asked.wait(5)
    source.close()
    thread.join(2)
    alive = thread.is_alive()
    release.set()
    assert not alive
    assert (polls[0].error, polls[0].readings) == ("watchdog is stopping", ())


def test_no_text_of_a_poll_or_log_holds_the_key(bench: Any, baseten: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"message": "key bt-secret-1 is bad", "error": "bt-secret-1"}
    for job in ("a", "b"):
        baseten.add(job)
        baseten.metrics(job, bench.say(echo, 403))
    bench.cloud.on("GET", PRICES, bench.say(echo, 403))
    source = bench.source("baseten")
    polls = [source.poll(bench.request()) for _ in range(2)]
    bench.cloud.on("POST", SEARCH, bench.say(echo, 401))
    polls.append(source.poll(bench.request()))
    assert "***" in polls[0].error
    assert "***" in polls[2].error
    assert "bt-secret" not in "".join(map(repr, polls)) + caplog.text


def test_a_reading_for_a_watched_job_keeps_its_last_description(bench: Any, baseten: Any) -> None:
    watched = bench.watched("a", bench.nine, job_name="train", owner="ada@example.com")
    bench.cloud.on("GET", "/v1/training_projects/pr1/jobs/a/metrics", bench.say({}, 500))
    baseten.add("b")
    poll = bench.source("baseten").poll(bench.request(watched))
    assert by_id(poll)["a"].job == watched.job


@pytest.mark.parametrize(
    ("created", "reach"),
    [
        ("2026-03-02T08:00:00Z", 62 * 60 + 60),
        ("2026-03-02T09:01:00Z", 600),
        ("2026-03-02T10:00:00Z", 600),
        ("2026-02-01T00:00:00Z", 7200),
        (None, 7200),
    ],
)
def test_nothing_is_asked_for_from_before_the_job_was_made(
    bench: Any, baseten: Any, created: str | None, reach: float
) -> None:
    baseten.add("a", created_at=created)
    bench.source("baseten").poll(bench.request(window=7200))
    (asked,) = bench.cloud.of(METRICS)
    assert bench.clock.now - int(asked.query["start_epoch_millis"]) / 1000 == reach


def test_a_backfill_has_an_end_whatever_is_asked_for(bench: Any, baseten: Any) -> None:
    raw = baseten.add("a", node_count=64, created_at="2000-01-01T00:00:00Z")
    raw["instance_type"]["gpu_count"] = 8
    now = bench.clock.now
    bench.source("baseten").poll(bench.request(window=1e9))
    asked = bench.cloud.of(METRICS)
    assert len(asked) == 200
    assert int(asked[-1].query["end_epoch_millis"]) / 1000 == now
    part = 200_000 // (2 * (2 * 512 + 4 * 64)) * 60
    assert now - int(asked[0].query["start_epoch_millis"]) / 1000 == 200 * part


@pytest.mark.parametrize("odd", ["\ud800", "a/b", "a\nb", "..", "x" * 70_000, "?#%"])
def test_an_odd_id_harms_only_its_own_job(bench: Any, baseten: Any, odd: str) -> None:
    baseten.add("a")
    baseten.jobs["odd"] = {**baseten.jobs["a"], "id": odd}
    baseten.jobs["none"] = {**baseten.jobs["a"], "id": ""}
    poll = bench.source("baseten").poll(bench.request())
    readings = by_id(poll)
    assert poll.error == ""
    assert readings["a"].points
    (other,) = [reading for job, reading in readings.items() if job != "a"]
    assert other.failed_metrics == RESOURCE_METRICS
    assert other.error
    assert other.job.job == odd.replace("\ud800", "\ufffd")


def test_nothing_is_gone_while_a_search_fails(bench: Any, baseten: Any) -> None:
    def search(asked: Any) -> Any:
        return bench.say({}, 404) if asked.json["project_id"] == "pr1" else bench.say({"training_jobs": []})

    bench.cloud.on("POST", "/v1/training_jobs/search", search)
    source = bench.source("baseten", projects=["pr1", "pr2"])
    for _ in range(3):
        poll = source.poll(bench.request(bench.watched("a")))
        assert (poll.up, poll.gone, set(by_id(poll))) == (False, (), {"a"})


def test_prices_are_read_again_when_the_clock_was_set_back(bench: Any, baseten: Any) -> None:
    source = bench.source("baseten")
    for hours, times in [(0, 1), (-1.1, 2), (-1.1, 2)]:
        bench.clock.now = bench.nine + 3600 * hours
        source.poll(bench.request())
        assert len(bench.cloud.of("/v1/instance_type_prices")) == times
