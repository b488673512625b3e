import gzip
import json
import logging
import threading
import traceback
from typing import Any

import pytest

from watchdog import __version__
from watchdog.errors import SourceError, SourceErrorKind
from watchdog.sources.http import Call, Credential, HttpEdge, Site, json_or_raise, segment
from watchdog.sources.http import edge as edge_module

KEY = "bt-secret-1"


@pytest.fixture
def edge(bench: Any) -> Any:
    return make(bench)


def make(bench: Any, base_url: str = "", **options: Any) -> HttpEdge:
    def authorize(_method: str, _path: str) -> Credential:
        key = bench.secrets.find("BASETEN_API_KEY")
        return Credential(f"Bearer {key}", (key,))

    site = {"timeout": 5.0, "rate": 90.0, "burst": 10, **options}
    found = HttpEdge(Site(base_url or bench.cloud.url, authorize, **site), bench.context())
    bench.built.append(found)
    return found


def call(bench: Any, path: str = "/jobs", seconds: float = 60.0, **options: Any) -> Call:
    return Call("jobs", path, bench.clock.now + seconds, **options)


def error_of(edge: HttpEdge, made: Call) -> SourceError:
    with pytest.raises(SourceError) as caught:
        edge.call(made, json_or_raise)
    return caught.value


def test_a_get_carries_key_agent_and_parameters(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", {"ok": True})
    assert edge.call(call(bench, params={"a": 1, "b": "x y&z"}), json_or_raise) == {"ok": True}
    (asked,) = bench.cloud.asked
    assert asked.query == {"a": "1", "b": "x y&z"}
    assert asked.body == b""
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["user-agent"] == f"watchdog/{__version__}"
    assert "content-type" not in asked.headers


def test_a_post_carries_json(bench: Any, edge: Any) -> None:
    bench.cloud.on("POST", "/jobs", [1])
    assert edge.call(call(bench, method="POST", body={"a": ["作"]}), json_or_raise) == [1]
    (asked,) = bench.cloud.asked
    assert asked.json == {"a": ["作"]}
    assert asked.headers["content-type"] == "application/json"


def test_a_base_url_may_have_a_path_and_the_credential_sees_all_of_it(bench: Any) -> None:
    seen = []

    def authorize(method: str, path: str) -> Credential:
        seen.append((method, path))
        return Credential("k", ())

    edge = HttpEdge(Site(bench.cloud.url + "/proxy", authorize, 5, 90, 10), bench.context())
    bench.built.append(edge)
    bench.cloud.on("GET", "/proxy/jobs", {})
    edge.call(call(bench, params={"a": 1}), json_or_raise)
    assert seen == [("GET", "/proxy/jobs")]


def test_a_key_is_read_anew_for_each_try(bench: Any, edge: Any) -> None:
    def rotate(asked: Any) -> Any:
        bench.secrets.values["BASETEN_API_KEY"] = "bt-secret-2"
        return bench.say({}, 500)

    bench.cloud.on("GET", "/jobs", rotate, {})
    edge.call(call(bench), json_or_raise)
    keys = [asked.headers["authorization"] for asked in bench.cloud.asked]
    assert keys == ["Bearer bt-secret-1", "Bearer bt-secret-2"]


def test_connections_are_kept(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", {})
    edge.call(call(bench), json_or_raise)
    (client,) = edge._idle
    edge.call(call(bench), json_or_raise)
    assert edge._idle == [client]


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again_with_growing_jittered_delays(bench: Any, edge: Any, status: int) -> None:
    bench.cloud.on("GET", "/jobs", bench.say({}, status), bench.say({}, status), {"ok": 1})
    assert edge.call(call(bench), json_or_raise) == {"ok": 1}
    first, second = bench.clock.slept
    assert 0.25 <= first <= 0.5
    assert 0.5 <= second <= 1.0


def test_tries_are_bounded(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say(b"bad gateway", 502, kind="text/plain"))
    error = error_of(edge, call(bench))
    assert error.kind is SourceErrorKind.UNAVAILABLE
    assert str(error) == "jobs: HTTP 502"
    assert len(bench.cloud.asked) == 3
    assert error_of(edge, call(bench, tries=1)).kind is SourceErrorKind.UNAVAILABLE
    assert len(bench.cloud.asked) == 4


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 403, 404, 405, 422])
def test_what_does_not_pass_is_not_tried_again(bench: Any, edge: Any, status: int) -> None:
    bench.cloud.on("GET", "/jobs", bench.say({}, status, headers={"location": bench.cloud.url + "/elsewhere"}))
    error_of(edge, call(bench))
    assert [asked.path for asked in bench.cloud.asked] == ["/jobs"]
    assert bench.clock.slept == []


def test_the_deadline_ends_the_tries(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say({}, 503))
    assert error_of(edge, call(bench, seconds=0.2)).kind is SourceErrorKind.UNAVAILABLE
    assert len(bench.cloud.asked) == 1
    assert bench.clock.slept == []


@pytest.mark.parametrize(("seconds", "asked"), [(-0.1, 0), (0.0, 0), (0.1, 1)])
def test_nothing_is_begun_at_or_after_the_deadline(bench: Any, edge: Any, seconds: float, asked: int) -> None:
    bench.cloud.on("GET", "/jobs", bench.say({}, 404))
    text = str(error_of(edge, call(bench, seconds=seconds)))
    assert ("not read within the time of a poll" in text) is (asked == 0)
    assert len(bench.cloud.asked) == asked


def test_a_short_retry_after_is_waited_for(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say({"error": "limit", "retry_after": 2.5}, 429), {"ok": 1})
    assert edge.call(call(bench), json_or_raise) == {"ok": 1}
    assert bench.clock.slept == [1.0, 1.0, 0.5]


def test_a_retry_after_of_zero_is_taken_at_its_word(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say({"retry_after": 0}, 429), {"ok": 1})
    assert edge.call(call(bench), json_or_raise) == {"ok": 1}
    assert bench.clock.slept == []


def test_a_429_without_a_time_backs_off(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say(b"", 429), {"ok": 1})
    edge.call(call(bench), json_or_raise)
    assert 0.25 <= sum(bench.clock.slept) <= 0.5


@pytest.mark.parametrize(("seconds", "asked"), [(30, 2), (31, 1)])
def test_a_long_retry_after_is_left_to_the_next_poll(bench: Any, edge: Any, seconds: int, asked: int) -> None:
    limited = bench.say({}, 429, headers={"retry-after": str(seconds)})
    bench.cloud.on("GET", "/jobs", limited, limited)
    error = error_of(edge, call(bench, seconds=600, tries=2))
    assert (error.kind, error.retry_after) == (SourceErrorKind.RATE_LIMITED, seconds)
    assert len(bench.cloud.asked) == asked


def test_a_limited_endpoint_is_left_alone_by_everybody_until_its_time(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say({"retry_after": 45}, 429), {"ok": 1})
    bench.cloud.on("GET", "/other", {"ok": 2})
    error_of(edge, call(bench))
    error = error_of(edge, call(bench, seconds=44))
    assert error.kind is SourceErrorKind.RATE_LIMITED
    assert "no place" in str(error)
    assert len(bench.cloud.asked) == 1
    assert edge.call(Call("other", "/other", bench.clock.now + 10), json_or_raise) == {"ok": 2}
    assert edge.call(call(bench, seconds=46), json_or_raise) == {"ok": 1}
    assert sum(bench.clock.slept) == pytest.approx(45)


def test_calls_beyond_the_rate_wait(bench: Any) -> None:
    edge = make(bench, rate=2.0, burst=1)
    bench.cloud.on("GET", "/jobs", {})
    for _ in range(4):
        edge.call(call(bench), json_or_raise)
    assert bench.clock.slept == [0.5, 0.5, 0.5]


def test_a_provider_that_is_silent_is_given_up(bench: Any) -> None:
    edge = make(bench, timeout=0.05)
    release = threading.Event()
    bench.cloud.on("GET", "/jobs", bench.say({}, wait=release))
    error = error_of(edge, call(bench, tries=1))
    release.set()
    assert error.kind is SourceErrorKind.UNAVAILABLE
    assert str(error) == "jobs: no answer within 0.05 s (ReadTimeout)"


def test_a_closed_port_is_no_connection(bench: Any) -> None:
    edge = make(bench, base_url="http://127.0.0.1:9")
    error = error_of(edge, call(bench))
    assert error.kind is SourceErrorKind.UNAVAILABLE
    assert "no connection to 127.0.0.1" in str(error)
    assert len(bench.clock.slept) == 2


def test_an_answer_that_breaks_off_is_tried_again(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say(b'{"a": 1', cut=100), {"ok": 1})
    assert edge.call(call(bench), json_or_raise) == {"ok": 1}
    bench.cloud.on("GET", "/jobs", bench.say(b'{"a": 1', cut=100))
    assert "the connection broke (RemoteProtocolError)" in str(error_of(edge, call(bench)))


def test_a_packed_answer_is_unpacked(bench: Any, edge: Any) -> None:
    packed = gzip.compress(json.dumps({"a": "b" * 1000}).encode())
    bench.cloud.on("GET", "/jobs", bench.say(packed, headers={"content-encoding": "gzip"}))
    assert edge.call(call(bench), json_or_raise) == {"a": "b" * 1000}


def test_an_answer_that_cannot_be_unpacked_is_malformed(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say(b"{}", headers={"content-encoding": "gzip"}))
    error = error_of(edge, call(bench))
    assert error.kind is SourceErrorKind.MALFORMED
    assert "cannot be unpacked" in str(error)


@pytest.mark.parametrize(("size", "fine"), [(999, True), (1000, True), (1001, False)])
@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_has_a_largest_size_also_when_unpacked(
    bench: Any, edge: Any, monkeypatch: pytest.MonkeyPatch, size: int, fine: bool, packed: bool
) -> None:
    monkeypatch.setattr(edge_module, "MAX_BODY", 1000)
    body = b'"' + b"x" * (size - 2) + b'"'
    headers = {"content-encoding": "gzip"} if packed else {}
    bench.cloud.on("GET", "/jobs", bench.say(gzip.compress(body) if packed else body, headers=headers))
    if fine:
        assert len(edge.call(call(bench), json_or_raise)) == size - 2
    else:
        error = error_of(edge, call(bench))
        assert error.kind is SourceErrorKind.MALFORMED
        assert "larger than" in str(error)
        assert len(bench.cloud.asked) == 1


def test_the_largest_size_is_32_mib() -> None:
    assert edge_module.MAX_BODY == 32 * 1024 * 1024


def test_an_answer_that_drips_in_beyond_the_deadline_is_given_up(bench: Any, edge: Any) -> None:
    def slow(asked: Any) -> Any:
        bench.clock.now += 61
        return bench.say({"ok": 1})

    bench.cloud.on("GET", "/jobs", slow)
    error = error_of(edge, call(bench))
    assert error.kind is SourceErrorKind.UNAVAILABLE
    assert "longer than the time of a poll" in str(error)


def test_a_redirect_is_not_followed(bench: Any, edge: Any) -> None:
    bench.cloud.on("GET", "/jobs", bench.say(b"", 307, headers={"location": bench.cloud.url + "/other"}))
    bench.cloud.on("GET", "/other", {"ok": 1})
    error = error_of(edge, call(bench))
    assert error.kind is SourceErrorKind.CONFIGURATION
    assert "set base_url to the final address" in str(error)
    assert [asked.path for asked in bench.cloud.asked] == ["/jobs"]


@pytest.mark.parametrize(
    ("identity", "path"),
    [("abc123", "abc123"), ("a/b?c#d e", "a%2Fb%3Fc%23d%20e"), ("作业", "%E4%BD%9C%E4%B8%9A"), ("..", "%2E%2E")],
)
def test_an_opaque_id_is_one_segment_of_the_path(bench: Any, edge: Any, identity: str, path: str) -> None:
    assert segment(identity) == path
    bench.cloud.on("GET", f"/jobs/{path}/metrics", {"ok": 1})
    assert edge.call(call(bench, f"/jobs/{segment(identity)}/metrics"), json_or_raise) == {"ok": 1}


def test_no_text_holds_the_key_whatever_goes_wrong(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"you sent Bearer {KEY}"
    answers = [
        bench.say({"message": echo}, 401),
        bench.say({"error": echo}, 400),
        bench.say(echo.encode(), 500, kind="text/plain"),
        bench.say(echo.encode(), 200, kind="text/html"),
        bench.say(echo.encode(), cut=10),
        bench.say(b"", 302, headers={"location": f"https://evil.example/?key={KEY}"}),
    ]
    edge = make(bench)
    texts = []
    for answer in answers:
        bench.cloud.on("GET", "/jobs", answer)
        try:
            edge.call(call(bench, tries=1), json_or_raise)
        except SourceError as error:
            texts += ["".join(traceback.format_exception(error)), repr(error), repr(error.__context__)]
    assert len(texts) == 3 * len(answers)
    assert KEY not in "".join(texts)
    assert KEY not in caplog.text
    assert "/jobs" not in caplog.text


def test_after_close_nothing_is_asked_and_pauses_end(bench: Any, edge: Any) -> None:
    def closing(asked: Any) -> Any:
        edge.close()
        return bench.say({}, 503)

    bench.cloud.on("GET", "/jobs", closing)
    error = error_of(edge, call(bench))
    assert "watchdog is stopping" in str(error)
    assert len(bench.cloud.asked) == 1
    assert bench.clock.slept == []
    assert edge._idle == []
