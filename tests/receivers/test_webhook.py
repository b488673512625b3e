import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from pydantic import ValidationError

from watchdog.errors import DeliveryError, UsageError
from watchdog.model import Reason
from watchdog.ports import Triable
from watchdog.receivers import webhook
from watchdog.receivers.webhook import WebhookConfig, body_of, kind_of, reason_of, signature
from watchdog.simulated.server import Request, Response


class Sink:
    """Takes webhooks and answers as told."""

    def __init__(self) -> None:
        self.taken: list[Request] = []
        self.answer = Response(200, b"", "text/plain", {})

    def __call__(self, request: Request) -> Response:
        self.taken.append(request)
        return self.answer


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def url(serve: Callable[[Any], str], sink: Sink) -> str:
    return serve(sink).rstrip("/") + "/hook"


def config(**options: Any) -> WebhookConfig:
    return WebhookConfig.model_validate({"name": "pager", "type": "webhook", "url": "https://x.example/", **options})


def headers_of(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


def test_the_body_is_alertmanagers_version_4(make: Any) -> None:
    first = make.alert("0", runbook_url="https://wiki.example/idle", fingerprint="00000000000000a1")
    over = make.ended(make.alert("1", starts_at=make.noon + 0.25, fingerprint="00000000000000b2"))
    assert body_of(make.note(make.view(first, over), Reason.SOME_RESOLVED), config()) == {
        "version": "4",
        "groupKey": '{}:{job="abc123", source="baseten"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "pager",
        "groupLabels": {"job": "abc123", "source": "baseten"},
        "commonLabels": {"alertname": "GPUIdle", "job": "abc123", "node": "node-1", "source": "baseten"},
        "commonAnnotations": {},
        "routeLabels": {},
        "externalURL": "",
        "notification_reason": "some alerts resolved",
        "alerts": [
            {
                "status": "firing",
                "labels": {"alertname": "GPUIdle", "gpu": "0", "job": "abc123", "node": "node-1", "source": "baseten"},
                "annotations": {
                    "summary": "GPU 0 of train-7b has been idle for 20m",
                    "runbook_url": "https://wiki.example/idle",
                },
                "startsAt": "2026-03-02T11:40:00Z",
                "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": "https://provider.example/jobs/abc123",
                "fingerprint": "00000000000000a1",
            },
            {
                "status": "resolved",
                "labels": {"alertname": "GPUIdle", "gpu": "1", "job": "abc123", "node": "node-1", "source": "baseten"},
                "annotations": {"summary": "GPU 1 of train-7b has been idle for 20m"},
                "startsAt": "2026-03-02T12:00:00.250000Z",
                "endsAt": "2026-03-02T12:00:00Z",
                "generatorURL": "https://provider.example/jobs/abc123",
                "fingerprint": "00000000000000b2",
            },
        ],
    }


def test_one_alert_shares_all_it_has(make: Any) -> None:
    body = body_of(make.note(), config(external_url="https://watchdog.example"))
    assert body["commonAnnotations"] == body["alerts"][0]["annotations"]
    assert body["commonLabels"] == body["alerts"][0]["labels"]
    assert body["externalURL"] == "https://watchdog.example"


def test_the_end(make: Any) -> None:
    body = body_of(make.resolved(), config())
    assert (body["status"], body["notification_reason"]) == ("resolved", "all alerts resolved")
    unknown_end = make.view(make.ended(make.alert(), at=None))
    assert body_of(make.note(unknown_end), config())["alerts"][0]["endsAt"] == "0001-01-01T00:00:00Z"


def test_an_event_fires_and_has_no_end(make: Any) -> None:
    body = body_of(make.note(make.view(make.alert(event=True, ends_at=make.noon)), Reason.EVENT), config())
    assert body["status"] == "firing"
    assert body["alerts"][0]["endsAt"] == "0001-01-01T00:00:00Z"


def test_without_send_resolved_only_what_fires_is_told(make: Any) -> None:
    view = make.view(make.alert("0"), make.ended(make.alert("1")))
    assert [a["status"] for a in body_of(make.note(view), config(send_resolved=False))["alerts"]] == ["firing"]
    body = body_of(make.resolved(), config(send_resolved=False))
    assert (body["alerts"], body["commonLabels"], body["status"]) == ([], {}, "resolved")


@pytest.mark.parametrize(("most", "shown", "cut"), [(0, 3, 0), (2, 2, 1), (3, 3, 0), (4, 3, 0)])
def test_max_alerts_cuts_and_counts(make: Any, most: int, shown: int, cut: int) -> None:
    view = make.view(*(make.alert(str(gpu)) for gpu in range(3)))
    body = body_of(make.note(view), config(max_alerts=most))
    assert (len(body["alerts"]), body["truncatedAlerts"]) == (shown, cut)


def test_without_a_job_there_is_no_generator_url(make: Any) -> None:
    assert body_of(make.note(make.view(job=None)), config())["alerts"][0]["generatorURL"] == ""


def test_the_signature_is_that_of_the_standard_webhooks_specification() -> None:
    """The test vector of the specification's reference implementations."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    found = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_without_prefix_is_taken_as_it_is() -> None:
    """The value is what openssl dgst -sha256 -hmac gives."""
    assert signature("plain", "a", "1", b"{}") == "v1,9gANenXI7azKMUSDjUP7zfn/2LL7b0dhDFZeVWclj6E="


def test_a_broken_secret_is_permanent_and_not_repeated() -> None:
    with pytest.raises(DeliveryError, match="not base64") as caught:
        signature("whsec_!!!", "a", "1", b"{}")
    assert caught.value.kind.value == "permanent"
    assert "!!!" not in str(caught.value)


def test_the_id_is_stable_and_the_time_is_that_of_the_try(bench: Any, make: Any, sink: Sink, url: str) -> None:
    bench.secrets.values["KEY"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    receiver = bench.build("webhook", url=url, signing_secret={"env": "KEY"})
    for now in (make.noon + 0.9, make.noon + 60):
        assert receiver.deliver(make.delivery(now=now)) == {}
    receiver.close()
    first, second = (headers_of(request) for request in sink.taken)
    assert first["webhook-id"] == second["webhook-id"] == "inc1-r-1"
    assert (first["webhook-timestamp"], second["webhook-timestamp"]) == ("1772452800", "1772452860")
    for request, headers in zip(sink.taken, (first, second), strict=True):
        secret = bench.secrets.values["KEY"]
        wanted = signature(secret, "inc1-r-1", headers["webhook-timestamp"], request.body)
        assert headers["webhook-signature"] == wanted
        assert headers["content-type"] == "application/json"
        assert json.loads(request.body)["version"] == "4"


def test_without_a_secret_there_is_no_signature(bench: Any, make: Any, sink: Sink, url: str) -> None:
    bench.build("webhook", url=url).deliver(make.delivery())
    assert "webhook-signature" not in headers_of(sink.taken[0])


def test_an_address_may_be_a_secret(bench: Any, make: Any, sink: Sink, url: str) -> None:
    bench.secrets.values["PAGER_URL"] = url
    receiver = bench.build("webhook", url={"env": "PAGER_URL"})
    receiver.deliver(make.delivery())
    assert sink.taken[0].path == "/hook"
    del bench.secrets.values["PAGER_URL"]
    with pytest.raises(DeliveryError, match="PAGER_URL is not set"):
        receiver.deliver(make.delivery())


@pytest.mark.parametrize("options", [{"url": {"env": "NONE"}}, {"url": "http://x/", "signing_secret": {"env": "NONE"}}])
def test_a_missing_secret_is_found_at_the_start(bench: Any, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r'receiver "r": NONE is not set'):
        bench.build("webhook", **options)


@pytest.mark.parametrize(("key", "value"), [("url", "x.example"), ("url", {"env": "lower"}), ("max_alerts", -1),
                                            ("timeout", 5), ("signing_secret", "text"), ("channel", "#a")])  # fmt: skip
def test_mistakes_are_refused(key: str, value: object) -> None:
    with pytest.raises(ValidationError, match=key):
        config(**{key: value})


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (301, "permanent", "other"),
        (307, "permanent", "other"),
        (400, "permanent", "clientError"),
        (401, "permanent", "authError"),
        (403, "permanent", "authError"),
        (404, "permanent", "clientError"),
        (405, "permanent", "clientError"),
        (408, "transient", "clientError"),
        (410, "permanent", "clientError"),
        (413, "permanent", "clientError"),
        (422, "permanent", "clientError"),
        (429, "transient", "rateLimited"),
        (500, "transient", "serverError"),
        (503, "transient", "serverError"),
        (599, "transient", "serverError"),
    ],
)
def test_what_a_status_means(status: int, kind: str, reason: str) -> None:
    assert (kind_of(status).value, reason_of(status)) == (kind, reason)


@pytest.mark.parametrize(
    ("status", "retry", "ambiguous"), [(429, 30.0, False), (503, None, False), (500, None, True), (302, None, False)]
)
def test_a_refusal_is_an_error(
    bench: Any, make: Any, sink: Sink, url: str, status: int, retry: float | None, ambiguous: bool
) -> None:
    sink.answer = Response(status, b"", "text/plain", {"Retry-After": "30"} if retry else {"Location": url})
    with pytest.raises(DeliveryError, match=rf'webhook "r": HTTP {status}$') as caught:
        bench.build("webhook", url=url).deliver(make.delivery())
    assert (caught.value.retry_after, caught.value.ambiguous) == (retry, ambiguous)
    assert len(sink.taken) == 1


@pytest.mark.parametrize("status", [200, 202, 204, 299])
def test_any_2xx_is_accepted(bench: Any, make: Any, sink: Sink, url: str, status: int) -> None:
    sink.answer = Response(status, b"", "text/plain", {})
    assert bench.build("webhook", url=url).deliver(make.delivery()) == {}


@pytest.mark.parametrize(
    ("url", "reason", "kind", "ambiguous"),
    [
        ("http://127.0.0.1:9/secret", "other", "transient", False),
        ("http://x:port/secret", "invalid_url", "permanent", False),
        ("ftp://x/secret", "invalid_url", "permanent", False),
    ],
)
def test_an_address_is_never_repeated(bench: Any, make: Any, url: str, reason: str, kind: str, ambiguous: bool) -> None:
    bench.secrets.values["URL"] = url
    with pytest.raises(DeliveryError) as caught:
        bench.build("webhook", url={"env": "URL"}).deliver(make.delivery())
    error = caught.value
    assert (error.reason, error.kind.value, error.ambiguous) == (reason, kind, ambiguous)
    assert "secret" not in str(error)


@pytest.mark.parametrize(("value", "seconds"), [("Mon, 02 Mar 2026 12:00:40 GMT", 40.0), ("2.5", 2.5), ("9e9", 3600.0)])
def test_retry_after_may_be_a_date_or_a_fraction(
    bench: Any, make: Any, sink: Sink, url: str, value: str, seconds: float
) -> None:
    sink.answer = Response(429, b"", "text/plain", {"Retry-After": value})
    with pytest.raises(DeliveryError) as caught:
        bench.build("webhook", url=url).deliver(make.delivery())
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize(
    ("most", "alerts", "second"), [(0, 30, (10, 20)), (4, 30, (4, 26)), (0, 10, None), (4, 4, None)]
)
def test_a_body_that_is_too_large_goes_once_more_with_fewer_alerts(
    bench: Any, make: Any, sink: Sink, url: str, most: int, alerts: int, second: tuple[int, int] | None
) -> None:
    sink.answer = Response(413, b"", "text/plain", {})
    view = make.view(*(make.alert(str(gpu)) for gpu in range(alerts)))
    with pytest.raises(DeliveryError, match="HTTP 413") as caught:
        bench.build("webhook", url=url, max_alerts=most).deliver(make.delivery(make.note(view)))
    assert caught.value.kind.value == "permanent"
    bodies = [json.loads(request.body) for request in sink.taken]
    sizes = [(len(body["alerts"]), body["truncatedAlerts"]) for body in bodies]
    assert sizes[1:] == ([second] if second and most == 0 else [])
    assert len({headers_of(request)["webhook-id"] for request in sink.taken}) == 1


def test_fewer_alerts_may_be_taken(bench: Any, make: Any, serve: Callable[[Any], str]) -> None:
    def handle(request: Request) -> Response:
        return Response(200 if len(json.loads(request.body)["alerts"]) <= 10 else 413, b"", "text/plain", {})

    view = make.view(*(make.alert(str(gpu)) for gpu in range(11)))
    assert bench.build("webhook", url=serve(handle)).deliver(make.delivery(make.note(view))) == {}


class Dripping:
    """Takes one request and answers byte by byte, without end."""

    def __init__(self, head: bytes, drop: bytes, pause: float) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/hook"
        self._answer = (head, drop, pause)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        head, drop, pause = self._answer
        connection, _ = self.socket.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(head)
            while not self._over.wait(pause):
                connection.sendall(drop)

    def close(self) -> None:
        self._over.set()
        self.socket.close()
        self._thread.join(5)


@pytest.fixture
def drip() -> Iterator[Callable[[bytes, bytes, float], Dripping]]:
    made: list[Dripping] = []

    def make_one(head: bytes, drop: bytes, pause: float) -> Dripping:
        made.append(Dripping(head, drop, pause))
        return made[-1]

    yield make_one
    for server in made:
        server.close()


def test_an_answer_that_never_ends_is_given_up(
    bench: Any, make: Any, drip: Any, monkeypatch: pytest.MonkeyPatch, sink: Sink, url: str
) -> None:
    """Each byte comes within the time of a read; the next delivery has a connection of its own."""
    monkeypatch.setattr(webhook, "DEADLINE", 0.3)
    server = drip(b"HTTP/1.1 200 OK\r\nx: ", b"y", 0.02)
    bench.secrets.values["URL"] = server.url
    receiver = bench.build("webhook", url={"env": "URL"}, timeout="200ms")
    with pytest.raises(DeliveryError) as caught:
        receiver.deliver(make.delivery())
    assert (caught.value.reason, caught.value.ambiguous) == ("contextDeadlineExceeded", True)
    bench.secrets.values["URL"] = url
    assert receiver.deliver(make.delivery()) == {}
    assert len(sink.taken) == 1


def test_a_long_answer_is_not_read_to_its_end(bench: Any, make: Any, drip: Any) -> None:
    server = drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2000\r\n" + b"x" * 8192 + b"\r\n", 0)
    assert bench.build("webhook", url=server.url).deliver(make.delivery()) == {}


TLS = "name an address that speaks TLS with a valid certificate, or a file with its issuer's in SSL_CERT_FILE"
CHECK = "check url, the network and HTTPS_PROXY"


@pytest.fixture
def tried(bench: Any) -> Callable[..., list[str]]:
    def go(url: Any, **options: Any) -> list[str]:
        receiver = bench.build("webhook", url=url, **options)
        assert isinstance(receiver, Triable)
        found = receiver.try_out()
        return ["; ".join(part for part in (f"{item.level}: {item.text}", item.remedy) if part) for item in found]

    return go


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (200, "ok: 127.0.0.1 answers HTTP 200 to OPTIONS"),
        (204, "ok: 127.0.0.1 answers HTTP 204 to OPTIONS"),
        (400, "ok: 127.0.0.1 answers HTTP 400 to OPTIONS"),
        (405, "ok: 127.0.0.1 answers HTTP 405 to OPTIONS"),
        (500, "ok: 127.0.0.1 answers HTTP 500 to OPTIONS"),
        (501, "ok: 127.0.0.1 answers HTTP 501 to OPTIONS"),
        (301, "write the address that it leads to: redirects are not followed"),
        (401, "see whether url needs credentials"),
        (403, "see whether url needs credentials"),
        (404, "check the path of url"),
        (410, "check the path of url"),
        (429, "try again later"),
        (503, "try again later"),
    ],
)
def test_a_try_asks_and_posts_nothing(tried: Any, serve: Any, status: int, said: str) -> None:
    asked: list[tuple[str, bytes]] = []

    def hook(request: Request) -> Response:
        asked.append((request.method, request.body))
        return Response(status, b"<html>page</html>", "text/html")

    note = f"note: 127.0.0.1 answers HTTP {status} to OPTIONS, and nothing was posted; {said}, or use send-test"
    assert tried(f"{serve(hook)}/secret-path") == [said if said.startswith("ok") else note]
    assert asked == [("OPTIONS", b"")]


def test_a_try_without_an_answer(tried: Any, serve: Any, bench: Any) -> None:
    assert tried("http://127.0.0.1:1/secret") == [
        f"FAILED: no answer (ConnectError: [Errno 111] Connection refused); {CHECK}"
    ]
    assert tried(serve(lambda _: Response(0, drop=True))) == [f"FAILED: no answer (RemoteProtocolError); {CHECK}"]
    slow = threading.Event()
    url = serve(lambda _: Response(200 if slow.wait(2) else 500))
    assert tried(url, timeout="100ms") == [f"FAILED: no answer (ReadTimeout); {CHECK}"]
    slow.set()
    bench.secrets.values["URL"] = "no address"
    assert tried({"env": "URL"}) == ["FAILED: its url is no web address; it begins with https://"]


def test_a_try_of_a_server_without_tls(tried: Any, serve: Any) -> None:
    [said] = tried(serve(lambda _: Response(200)).replace("http://", "https://") + "/secret")
    assert said.startswith("FAILED: no answer (ConnectError: [SSL")
    assert said.endswith(f"; {TLS}")
    assert "secret" not in said


def test_a_try_looks_at_the_signing_secret(tried: Any, serve: Any, bench: Any) -> None:
    url = serve(lambda _: Response(200))
    bench.secrets.values["KEY"] = "whsec_not base64"
    assert tried(url, signing_secret={"env": "KEY"}) == [
        "FAILED: the signing secret begins with whsec_ but is not base64 after that; copy it again"
    ]
    bench.secrets.values["KEY"] = "whsec_" + base64.b64encode(b"key").decode()
    assert tried(url, signing_secret={"env": "KEY"}) == ["ok: 127.0.0.1 answers HTTP 200 to OPTIONS"]
