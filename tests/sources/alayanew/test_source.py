"""What one poll asks of Alaya NeW and what it makes of the answers; over real HTTP on loopback."""

import logging
import threading
from typing import Any

import pytest

from watchdog.model import JobStatus
from watchdog.ports import Source
from watchdog.sources.alayanew.auth import signature
from watchdog.sources.alayanew.reply import METRICS

ALL = frozenset(METRICS.values())
LIST = "/v1/training/instance/list"
MASTER, WORKER = "tn-rk04-master-0", "tn-rk04-worker-0"


def by_id(poll: Any) -> dict[str, Any]:
    assert len({reading.job.job for reading in poll.readings}) == len(poll.readings)
    return {reading.job.job: reading for reading in poll.readings}


def asked_of(bench: Any, job: str) -> list[Any]:
    return list(bench.cloud.of(f"/{job}/metrics"))


def test_it_is_a_source_of_the_core(bench: Any, alaya: Any) -> None:
    source: Source = bench.source("alayanew", discover=True, step="2m")
    assert (source.name, source.provider, source.step) == ("s", "alayanew", 120.0)


def test_the_four_types_of_a_job_are_asked_one_after_the_other(bench: Any, alaya: Any) -> None:
    alaya.add("5520017")
    reading = bench.only(bench.source("alayanew", jobs=["5520017"]).poll(bench.request(window=900)))
    asked = asked_of(bench, "5520017")
    assert [dict(item.query) for item in asked] == [{"type": kind, "period": "15m"} for kind in METRICS]
    assert {item.headers["authorization"] for item in asked} == {"Bearer an-secret-1"}
    series = bench.series(reading)
    assert series["gpu_utilization", MASTER, "0"] == {0.0: 0.94, 1.0: 0.96}
    assert series["gpu_memory_utilization", MASTER, "1"] == {0.0: 0.98}
    assert series["cpu_utilization", WORKER] == {0.0: 0.0, 1.0: 0.01}
    assert series["memory_utilization", MASTER] == {0.0: 0.94, 1.0: 0.96}
    assert (reading.failed_metrics, reading.error, reading.dropped) == (frozenset(), "", {"null": 2})


def test_a_listed_job_is_described_by_the_list(bench: Any, alaya: Any) -> None:
    alaya.add("1", startTime="2026-03-02 16:30:00")
    job = bench.only(bench.source("alayanew", jobs=["1"]).poll(bench.request())).job
    assert (job.job_name, job.status, job.provider_status) == ("作业 1", JobStatus.RUNNING, "Running")
    assert (job.gpus, job.nodes, job.gpu_type) == (4, 2, "NVIDIA-A100-SXM-80G")
    assert job.started_at == bench.nine - 1800


def test_the_zone_of_the_list_can_be_set(bench: Any, alaya: Any) -> None:
    alaya.add("1", startTime="2026-03-02 08:30:00")
    job = bench.only(bench.source("alayanew", jobs=["1"], timezone="UTC").poll(bench.request())).job
    assert job.started_at == bench.nine - 1800


def test_only_named_jobs_are_watched_without_discovery(bench: Any, alaya: Any) -> None:
    for job in ("1", "2", "3"):
        alaya.add(job)
    assert set(by_id(bench.source("alayanew", jobs=["1", "3"]).poll(bench.request()))) == {"1", "3"}
    assert asked_of(bench, "2") == []


def test_discovery_watches_what_is_not_over(bench: Any, alaya: Any) -> None:
    words = ["Running", "CREATING", "Waiting", "Succeeded", "FAILED", "Paused", "restarting"]
    for number, word in enumerate(words):
        alaya.add(str(number), word)
    poll = bench.source("alayanew", discover=True).poll(bench.request())
    assert {job: reading.job.status.value for job, reading in by_id(poll).items()} == {
        "0": "running",
        "1": "starting",
        "2": "pending",
        "6": "unknown",
    }
    assert asked_of(bench, "2") == []
    assert len(asked_of(bench, "6")) == 4


@pytest.mark.parametrize(
    ("word", "status"),
    [("Succeeded", JobStatus.COMPLETED), ("Failed", JobStatus.FAILED), ("Paused", JobStatus.STOPPED)],
)
def test_a_watched_job_that_ends_is_read_once_more(bench: Any, alaya: Any, word: str, status: JobStatus) -> None:
    alaya.add("1", word, reason="内存不足")
    poll = bench.source("alayanew", discover=True).poll(bench.request(bench.watched("1", bench.nine)))
    reading = bench.only(poll)
    assert (reading.job.status, reading.job.error) == (status, "内存不足")
    assert reading.points


@pytest.mark.parametrize(
    ("age", "window", "period"),
    [
        (None, 900, "15m"),
        (None, 901, "1h"),
        (None, 7200, "6h"),
        (None, 9e9, "30d"),
        (60, 7200, "15m"),
        (600, 7200, "15m"),
        (601, 7200, "1h"),
        (3300, 7200, "1h"),
        (3301, 7200, "6h"),
        (80_000, 1800, "1h"),
        (80_000, 60, "15m"),
    ],
)
def test_the_period_is_the_shortest_that_holds_what_is_missing(
    bench: Any, alaya: Any, age: float | None, window: float, period: str
) -> None:
    alaya.add("1")
    newest = None if age is None else bench.clock.now - age
    bench.source("alayanew", jobs=["1"]).poll(bench.request(bench.watched("1", newest), window=window))
    assert {asked.query["period"] for asked in asked_of(bench, "1")} == {period}


def test_no_time_zone_is_ever_sent(bench: Any, alaya: Any) -> None:
    alaya.add("1")
    bench.source("alayanew", jobs=["1"]).poll(bench.request())
    assert all({"type", "period"} == set(asked.query) for asked in asked_of(bench, "1"))


BAD = [
    {"content": b""},
    {"content": {"status": 200, "data": {}}},
    {"content": {"status": 200, "data": {"metricData": None}}},
    {"content": {"status": 500, "message": "error", "data": {}}},
    {"content": {"status": 500, "data": {}}, "status": 500},
    {"content": {"status": 403, "data": {}}, "status": 403},
    {"content": {"status": 404, "data": {}}, "status": 404},
    {"content": b'{"status": 200, "data": {"metricD'},
    {"content": b"<html></html>", "kind": "text/html"},
    {"content": {"status": 429}, "status": 429, "headers": {"retry-after": "100"}},
    {"content": b"", "status": 302, "headers": {"location": "https://elsewhere.example/"}},
    {"content": b"{", "cut": 9},
]


@pytest.mark.parametrize("kind", sorted(METRICS))
@pytest.mark.parametrize("answer", BAD)
def test_one_type_that_fails_is_unknown_and_the_others_are_told(
    bench: Any, alaya: Any, kind: str, answer: dict[str, Any]
) -> None:
    alaya.add("1")
    alaya.answers["1", kind] = bench.say(**answer)
    poll = bench.source("alayanew", jobs=["1"]).poll(bench.request(bench.watched("1", bench.nine)))
    reading = bench.only(poll)
    assert reading.failed_metrics == {METRICS[kind]}
    assert {points.metric for points in reading.points} == ALL - {METRICS[kind]}
    assert f"metrics ({kind}): " in reading.error
    assert (reading.job.status, poll.gone) == (JobStatus.RUNNING, ())


def test_an_empty_reply_is_no_data_and_not_idle(bench: Any, alaya: Any) -> None:
    alaya.add("1")
    for kind in METRICS:
        alaya.answers["1", kind] = alaya.ok({"metricData": []})
    reading = bench.only(bench.source("alayanew", jobs=["1"]).poll(bench.request()))
    assert (reading.points, reading.failed_metrics, reading.job.status) == ((), frozenset(), JobStatus.RUNNING)


@pytest.mark.parametrize(
    ("answer", "kind", "wait"),
    [
        ({"content": {"status": 40401}, "status": 401}, "credentials", 600),
        ({"content": {"status": 403}, "status": 403}, "credentials", 600),
        ({"content": b"<html>", "kind": "text/html"}, "configuration", 600),
        ({"content": {"status": 500}, "status": 500}, "unavailable", None),
        ({"content": {"status": 429}, "status": 429, "headers": {"retry-after": "90"}}, "rate_limited", 90),
        ({"content": {"status": 200, "data": {}}}, "malformed", None),
    ],
)
def test_an_account_of_which_nothing_can_be_read_is_down(
    bench: Any, alaya: Any, answer: dict[str, Any], kind: str, wait: float | None
) -> None:
    alaya.list_answers(bench.say(**answer))
    for job in ("1", "2"):
        alaya.serve(job)
        for type_ in METRICS:
            alaya.answers[job, type_] = bench.say(**answer)
    poll = bench.source("alayanew", jobs=["1", "2"]).poll(bench.request(bench.watched("1")))
    assert (poll.up, poll.error_kind, poll.retry_after, poll.gone) == (False, kind, wait, ())
    assert poll.error.startswith("no metrics of any job: ")
    assert by_id(poll)["1"].job.status is JobStatus.RUNNING
    assert by_id(poll)["2"].job.status is JobStatus.UNKNOWN
    assert all(reading.failed_metrics == ALL for reading in poll.readings)


def test_a_page_in_place_of_json_names_the_option_that_helps(bench: Any, alaya: Any) -> None:
    page = bench.say(b"<!doctype html><html></html>", kind="text/html")
    alaya.list_answers(page)
    poll = bench.source("alayanew", discover=True).poll(bench.request())
    assert (poll.error_kind, poll.retry_after) == ("configuration", 600)
    assert "path_prefix" in poll.error


def test_the_prefix_comes_before_every_path(bench: Any, alaya: Any) -> None:
    alaya.prefix = "/api/osm"
    alaya.list_answers(alaya.page)
    alaya.add("1")
    assert bench.only(bench.source("alayanew", discover=True, path_prefix="/api/osm").poll(bench.request())).points
    assert {asked.path[:9] for asked in bench.cloud.asked} == {"/api/osm/"}


@pytest.mark.parametrize(
    ("answer", "kind", "wait"),
    [
        ({"content": {"status": 40006}, "status": 401}, "credentials", 600),
        ({"content": {"status": 40002}, "status": 401}, "credentials", 600),
        ({"content": {"status": 403}, "status": 403}, "credentials", 600),
        ({"content": {"status": 404}, "status": 404}, "not_found", None),
        ({"content": {"status": 500}, "status": 500}, "unavailable", None),
        ({"content": {"status": 200, "data": {}}}, "malformed", None),
        ({"content": {"status": 200, "data": {"records": None, "totalRows": 3}}}, "malformed", None),
        ({"content": {"status": 200, "data": []}}, "malformed", None),
    ],
)
def test_discovery_without_a_list_is_a_source_that_is_down(
    bench: Any, alaya: Any, answer: dict[str, Any], kind: str, wait: float | None
) -> None:
    alaya.list_answers(bench.say(**answer))
    poll = bench.source("alayanew", discover=True).poll(bench.request(bench.watched("1")))
    assert (poll.up, poll.error_kind, poll.retry_after) == (False, kind, wait)
    assert (poll.readings, poll.gone) == ((), ())


def test_an_account_without_jobs_is_up(bench: Any, alaya: Any) -> None:
    alaya.list_answers(alaya.ok({"records": None, "totalRows": 0}))
    poll = bench.source("alayanew", discover=True).poll(bench.request())
    assert (poll.up, poll.readings) == (True, ())


@pytest.mark.parametrize("first_page", [0, 1])
@pytest.mark.parametrize("told_total", [True, False])
@pytest.mark.parametrize("jobs", [1, 99, 100, 101, 250])
def test_all_pages_are_read_wherever_they_begin(
    bench: Any, alaya: Any, first_page: int, told_total: bool, jobs: int
) -> None:
    alaya.first_page, alaya.told_total = first_page, told_total
    for number in range(jobs):
        alaya.add(str(number), "Pending")
    poll = bench.source("alayanew", discover=True).poll(bench.request())
    assert len(by_id(poll)) == jobs
    pages = [asked.query["pageNo"] for asked in bench.cloud.of(LIST)]
    assert len(pages) == len(set(pages))
    if first_page == 1 and told_total:
        assert "0" not in pages


def test_a_server_that_repeats_its_page_is_not_read_for_ever(bench: Any, alaya: Any) -> None:
    alaya.list_answers(alaya.ok({"records": [{"id": "1", "status": "Pending"}, {"name": "no id"}], "totalRows": 9}))
    poll = bench.source("alayanew", discover=True).poll(bench.request(bench.watched("2")))
    assert set(by_id(poll)) == {"1", "2"}
    assert len(bench.cloud.of(LIST)) == 3


def test_pages_have_an_end(bench: Any, alaya: Any) -> None:
    def endless(asked: Any) -> Any:
        return alaya.ok({"records": [{"id": asked.query["pageNo"], "status": "Succeeded"}]})

    alaya.list_answers(endless)
    poll = bench.source("alayanew", discover=True).poll(bench.request())
    assert (poll.up, poll.readings) == (True, ())
    assert len(bench.cloud.of(LIST)) == 101


def test_page_zero_may_be_refused(bench: Any, alaya: Any) -> None:
    alaya.add("1", "Pending")
    alaya.told_total = False

    def strict(asked: Any) -> Any:
        return bench.say({"status": 400}, 400) if asked.query["pageNo"] == "0" else alaya.page(asked)

    alaya.list_answers(strict)
    assert set(by_id(bench.source("alayanew", discover=True).poll(bench.request()))) == {"1"}


def test_a_job_that_lived_between_two_polls_is_found(bench: Any, alaya: Any) -> None:
    source = bench.source("alayanew", discover=True)
    alaya.add("old", "Failed")
    assert source.poll(bench.request()).readings == ()
    alaya.add("short", "Failed")
    assert bench.only(source.poll(bench.request())).job.job == "short"
    assert source.poll(bench.request()).readings == ()


def test_a_discovered_job_that_leaves_the_list_is_gone_at_the_second_poll(bench: Any, alaya: Any) -> None:
    source = bench.source("alayanew", discover=True)
    watched = bench.watched("1", job_name="train")
    first = source.poll(bench.request(watched))
    (reading,) = first.readings
    assert (first.error, first.gone) == ("", ())
    assert (reading.job, reading.error) == (watched.job, "not in the job list")
    assert reading.failed_metrics >= ALL
    second = source.poll(bench.request(watched))
    assert (second.gone, second.readings) == (("1",), ())


def test_a_job_that_comes_back_to_the_list_is_not_gone(bench: Any, alaya: Any) -> None:
    source = bench.source("alayanew", discover=True)
    watched = bench.watched("1")
    for listed in (False, True, False):
        alaya.rows.clear()
        if listed:
            alaya.add("1")
        assert source.poll(bench.request(watched)).gone == ()


NO_LIST = [
    {"content": {"status": 404}, "status": 404},
    {"content": {"status": 403}, "status": 403},
    {"content": b"<html>", "kind": "text/html"},
]


@pytest.mark.parametrize("answer", NO_LIST)
@pytest.mark.parametrize(
    ("seconds", "status"),
    [(60, JobStatus.RUNNING), (659, JobStatus.RUNNING), (660, JobStatus.UNKNOWN), (3000, JobStatus.UNKNOWN)],
)
def test_without_a_list_a_job_runs_while_its_samples_are_fresh(
    bench: Any, alaya: Any, answer: dict[str, Any], seconds: float, status: JobStatus
) -> None:
    """The newest sample of the simulated answer is of 09:01."""
    alaya.list_answers(bench.say(**answer))
    alaya.serve("1")
    bench.clock.now = bench.nine + seconds
    reading = bench.only(bench.source("alayanew", jobs=["1"]).poll(bench.request(window=7200)))
    assert (reading.job.status, reading.job.provider_status) == (status, "")
    assert reading.job.gpu_type == "NVIDIA-A100-SXM-80G"
    assert (reading.job.gpus, reading.job.nodes) == ((4, 2) if status is JobStatus.RUNNING else (None, None))


def test_without_a_list_fresh_samples_of_the_history_count_too(bench: Any, alaya: Any) -> None:
    alaya.list_answers(bench.say({}, 404))
    alaya.serve("1")
    for kind in METRICS:
        alaya.answers["1", kind] = alaya.ok({"metricData": []})
    source = bench.source("alayanew", jobs=["1"])
    for age, status in [(599, JobStatus.RUNNING), (600, JobStatus.UNKNOWN)]:
        watched = bench.watched("1", bench.clock.now - age)
        assert bench.only(source.poll(bench.request(watched))).job.status is status


def test_a_list_that_fails_for_a_moment_leaves_a_watched_job_its_state(bench: Any, alaya: Any) -> None:
    alaya.list_answers(bench.say({"status": 500}, 500))
    alaya.serve("1")
    source = bench.source("alayanew", jobs=["1"])
    waiting = bench.watched("1", status=JobStatus.PENDING, provider_status="Waiting")
    reading = bench.only(source.poll(bench.request(waiting)))
    assert (reading.job.status, reading.job.provider_status) == (JobStatus.PENDING, "Waiting")
    assert asked_of(bench, "1") == []
    assert bench.only(source.poll(bench.request())).job.status is JobStatus.RUNNING


def test_a_named_job_that_a_good_list_lacks_is_judged_by_its_samples(bench: Any, alaya: Any) -> None:
    alaya.add("2")
    alaya.serve("1")
    poll = bench.source("alayanew", jobs=["1"]).poll(bench.request(bench.watched("1")))
    assert by_id(poll)["1"].job.status is JobStatus.RUNNING


def test_a_named_job_that_is_not_known_is_gone_at_the_second_poll(bench: Any, alaya: Any) -> None:
    alaya.add("2")
    source = bench.source("alayanew", jobs=["1", "2"])
    watched = bench.watched("1")
    first = source.poll(bench.request(watched))
    assert (first.error, first.gone) == ("", ())
    assert (by_id(first)["1"].job.status, by_id(first)["1"].failed_metrics) == (JobStatus.RUNNING, ALL)
    second = source.poll(bench.request(watched))
    assert (second.gone, set(by_id(second))) == (("1",), {"2"})


def test_a_named_job_that_never_was_is_said_once_and_not_told(
    bench: Any, alaya: Any, caplog: pytest.LogCaptureFixture
) -> None:
    alaya.add("1")
    source = bench.source("alayanew", jobs=["typo"])
    for _ in range(3):
        poll = source.poll(bench.request())
        assert (poll.error, poll.readings, poll.gone) == ("", (), ())
    assert [record.getMessage() for record in caplog.records] == ["no such job, or not for this key"]


def test_gpus_of_a_pod_that_was_replaced_are_not_counted(bench: Any, alaya: Any, sample: Any) -> None:
    alaya.list_answers(bench.say({}, 404))
    alaya.serve("1")
    for entry in sample["data"]["metricData"][:2]:
        for point in entry["metricData"]:
            point["timestamp"] -= 700
    for kind in METRICS:
        alaya.answers["1", kind] = bench.say(sample)
    job = bench.only(bench.source("alayanew", jobs=["1"]).poll(bench.request())).job
    assert (job.gpus, job.nodes) == (2, 1)


def test_gpus_are_not_known_where_no_reply_on_gpus_was_read(bench: Any, alaya: Any) -> None:
    alaya.list_answers(bench.say({}, 404))
    alaya.serve("1")
    for kind in ("gpu", "vram"):
        alaya.answers["1", kind] = bench.say({}, 500)
    job = bench.only(bench.source("alayanew", jobs=["1"]).poll(bench.request())).job
    assert (job.gpus, job.nodes, job.gpu_type, job.status) == (None, None, "", JobStatus.RUNNING)


def test_a_signed_request_is_signed_with_its_own_path_and_time(bench: Any, alaya: Any) -> None:
    alaya.prefix = "/api/osm"
    alaya.list_answers(alaya.page)
    alaya.add("1")
    bench.secrets.values |= {"AK": "ak-1", "SK": "sk-1"}
    source = bench.source(
        "alayanew", discover=True, path_prefix="/api/osm", access_key={"env": "AK"}, secret_key={"env": "SK"}
    )
    assert bench.only(source.poll(bench.request())).points
    milliseconds = int(bench.clock.now * 1000)
    for asked in bench.cloud.asked:
        code = signature("sk-1", milliseconds, "GET", asked.path)
        assert asked.headers["authorization"] == f"alayanew-HMAC-SHA256 ak-1:{milliseconds}:{code}"


def test_a_key_that_is_rotated_is_used_at_the_next_request(bench: Any, alaya: Any) -> None:
    alaya.add("1")
    source = bench.source("alayanew", jobs=["1"])
    source.poll(bench.request())
    seen = len(bench.cloud.asked)
    bench.secrets.values["ALAYANEW_API_KEY"] = "an-secret-2"
    source.poll(bench.request())
    assert {asked.headers["authorization"] for asked in bench.cloud.asked[seen:]} == {"Bearer an-secret-2"}


def test_a_slow_type_costs_only_itself(bench: Any, alaya: Any) -> None:
    release = threading.Event()
    alaya.add("1")
    alaya.answers["1", "vram"] = bench.say({}, wait=release)
    reading = bench.only(bench.source("alayanew", jobs=["1"], timeout="50ms").poll(bench.request()))
    release.set()
    assert reading.failed_metrics == {"gpu_memory_utilization"}
    assert "no answer within 0.05 s" in reading.error


def test_jobs_for_which_there_was_no_time_are_unknown(bench: Any, alaya: Any) -> None:
    for number in range(12):
        alaya.add(str(number))
        slow = alaya.ok({"metricData": []})

        def answer(_asked: Any, said: Any = slow) -> Any:
            bench.clock.now += 2
            return said

        bench.cloud.on("GET", f"/v1/training/instance/{number}/metrics", answer)
    poll = bench.source("alayanew", discover=True).poll(bench.request())
    late = [reading for reading in poll.readings if reading.failed_metrics == ALL]
    assert poll.error == ""
    assert 1 <= len(late) < 12
    assert all("time of a poll" in reading.error for reading in late)


def test_no_text_of_a_poll_or_log_holds_a_secret(bench: Any, alaya: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bench.secrets.values |= {"AK": "ak-secret", "SK": "sk-secret"}

    def echo(asked: Any) -> Any:
        return bench.say({"status": 40003, "message": "bad: " + asked.headers["authorization"]}, 401)

    alaya.list_answers(echo)
    for job in ("1", "2"):
        bench.cloud.on("GET", f"/v1/training/instance/{job}/metrics", echo)
    signed = bench.source("alayanew", jobs=["1", "2"], access_key={"env": "AK"}, secret_key={"env": "SK"})
    polls = [signed.poll(bench.request()), bench.source("alayanew", discover=True).poll(bench.request())]
    code = bench.cloud.asked[0].headers["authorization"].rpartition(":")[2]
    text = "".join(map(repr, polls)) + caplog.text
    assert "***" in text
    assert not [secret for secret in ("ak-secret", "sk-secret", "an-secret-1", code) if secret in text]


def test_close_ends_a_poll_that_hangs(bench: Any, alaya: Any) -> None:
    release, asked = threading.Event(), threading.Event()

    def hang(_asked: Any) -> Any:
        asked.set()
        return bench.say({}, wait=release)

    alaya.list_answers(hang)
    source = bench.source("alayanew", discover=True)
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


def test_opaque_ids_are_encoded(bench: Any, alaya: Any) -> None:
    alaya.list_answers(bench.say({}, 404))
    bench.cloud.on("GET", "/v1/training/instance/a%2Fb/metrics", lambda asked: alaya.metrics("a/b", asked))
    assert bench.only(bench.source("alayanew", jobs=["a/b"]).poll(bench.request())).job.job == "a/b"


def test_an_outage_that_answers_404_everywhere_ends_no_job(bench: Any, alaya: Any) -> None:
    alaya.list_answers(bench.say({}, 404))
    source = bench.source("alayanew", jobs=["1", "2"])
    watched = bench.watched("1"), bench.watched("2")
    for _ in range(4):
        poll = source.poll(bench.request(*watched))
        assert (poll.up, poll.error_kind, poll.gone) == (False, "unavailable", ())
        assert poll.error.startswith("no job was found, nor a job list; ")
        assert {job: reading.failed_metrics for job, reading in by_id(poll).items()} == {"1": ALL, "2": ALL}
    alaya.serve("2")  # the cloud is back, and still does not know the first: now that means something
    first = source.poll(bench.request(*watched))
    assert (first.up, first.gone, set(by_id(first))) == (True, (), {"1", "2"})
    second = source.poll(bench.request(*watched))
    assert (second.up, second.gone, set(by_id(second))) == (True, ("1",), {"2"})


def test_404_and_500_together_are_an_outage_too(bench: Any, alaya: Any) -> None:
    alaya.list_answers(bench.say({}, 404))
    for kind in METRICS:
        alaya.answers["2", kind] = bench.say({}, 500)
    alaya.serve("2")
    source = bench.source("alayanew", jobs=["1", "2"])
    for _ in range(3):
        poll = source.poll(bench.request(bench.watched("1"), bench.watched("2")))
        assert (poll.up, poll.error_kind, poll.gone) == (False, "unavailable", ())


@pytest.mark.parametrize("odd", ["\ud800", "a/b", "a\nb", "..", "x" * 70_000, "?#%", "作业"])
def test_an_odd_id_harms_only_its_own_job(bench: Any, alaya: Any, odd: str) -> None:
    alaya.add("1")
    alaya.rows["odd"] = {"id": odd, "status": "Running"}
    alaya.rows["none"] = {"id": "", "status": "Running"}
    poll = bench.source("alayanew", discover=True).poll(bench.request())
    readings = by_id(poll)
    assert poll.error == ""
    assert readings["1"].points
    assert readings["1"].failed_metrics == frozenset()
    (other,) = [reading for job, reading in readings.items() if job != "1"]
    assert other.failed_metrics == ALL
    assert other.error
    assert other.job.job == odd.replace("\ud800", "\ufffd")


def test_a_type_that_failed_is_read_back_to_where_it_was(bench: Any, alaya: Any) -> None:
    alaya.add("1")
    source = bench.source("alayanew", jobs=["1"])

    def periods(newest: float) -> dict[str, str]:
        before = len(asked_of(bench, "1"))
        source.poll(bench.request(bench.watched("1", newest), window=7200))
        return {asked.query["type"]: asked.query["period"] for asked in asked_of(bench, "1")[before:]}

    usual = dict.fromkeys(METRICS, "15m")
    alaya.answers["1", "gpu"] = bench.say({}, 400)
    start = bench.clock.now
    assert periods(start - 60) == usual
    for minutes in (10, 20):
        bench.clock.now = start + minutes * 60
        last = periods(bench.clock.now - 60)
    assert last == usual | {"gpu": "1h"}, "20 minutes, and the overlap"
    del alaya.answers["1", "gpu"]
    assert periods(bench.clock.now - 60) == usual | {"gpu": "1h"}
    assert periods(bench.clock.now - 60) == usual


def test_a_type_that_failed_at_the_backfill_is_asked_for_all_of_it(bench: Any, alaya: Any) -> None:
    alaya.add("1")
    source = bench.source("alayanew", jobs=["1"])
    alaya.answers["1", "vram"] = bench.say({}, 400)
    source.poll(bench.request(window=7200))
    del alaya.answers["1", "vram"]
    source.poll(bench.request(bench.watched("1", bench.clock.now - 60), window=7200))
    asked = asked_of(bench, "1")[-4:]
    assert [item.query["period"] for item in asked] == ["15m", "6h", "15m", "15m"]


@pytest.mark.parametrize(("every", "said"), [(60, False), (90, False), (91, True), (120, True)])
def test_samples_slower_than_the_step_are_said_once(
    bench: Any, alaya: Any, caplog: pytest.LogCaptureFixture, every: int, said: bool
) -> None:
    alaya.add("1")
    points = [{"timestamp": bench.clock.now - every * number, "value": "0.5"} for number in range(6)]
    entry = {"podName": MASTER, "gpuName": "H100-0", "metricData": points}
    for kind in METRICS:
        alaya.answers["1", kind] = alaya.ok({"metricData": [entry]})
    source = bench.source("alayanew", jobs=["1"])
    for _ in range(2):
        source.poll(bench.request(bench.watched("1", bench.clock.now)))
    text = f'samples come every {every} s; write step = "{every}s" for this source, or its coverage looks low'
    assert [record.getMessage() for record in caplog.records] == ([text] if said else [])
