"""The server that all fakes share: real sockets, keep-alive, a log, an end that is felt."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx
import pytest

from watchdog.simulated.server import FakeServer, Request, Response, json_response


class Echo:
    """Answers with what it was asked; ``/bug`` raises, ``/drop`` hangs up."""

    def __call__(self, request: Request) -> Response:
        if request.path == "/bug":
            raise LookupError("a bug of the fake")
        if request.path == "/gone":
            raise ConnectionResetError("the client went away")
        if request.path == "/drop":
            return Response(0, drop=True)
        seen = {
            "method": request.method,
            "path": request.path,
            "raw": request.raw_path,
            "query": dict(request.query),
            "kind": request.headers.get("content-type"),
            "body": request.body.decode(),
        }
        return json_response(seen, 201, {"X-Made": "here"})


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(Echo()) as server:
        yield server


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_a_handler_sees_the_whole_request(server: FakeServer, method: str) -> None:
    answer = httpx.request(
        method, f"{server.url}/a%20b/c?x=1&x=2&empty=", content="näher", headers={"Content-Type": "t/t"}
    )
    assert (answer.status_code, answer.headers["x-made"]) == (201, "here")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "method": method,
        "path": "/a b/c",
        "raw": "/a%20b/c",
        "query": {"x": ["1", "2"], "empty": [""]},
        "kind": "t/t",
        "body": "näher",
    }


def test_head_has_the_length_and_no_body(server: FakeServer) -> None:
    answer = httpx.head(f"{server.url}/a")
    assert (answer.status_code, answer.content) == (201, b"")
    assert int(answer.headers["content-length"]) > 0


def test_a_connection_is_kept_alive(server: FakeServer) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=5)
    connection.connect()
    socket = connection.sock
    for number in range(3):
        connection.request("GET", f"/{number}")
        assert json.loads(connection.getresponse().read())["path"] == f"/{number}"
        assert connection.sock is socket
    connection.close()


def test_the_log_has_every_answer_in_order(server: FakeServer) -> None:
    httpx.get(f"{server.url}/one?secret=1")
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(f"{server.url}/drop")
    assert [(entry.method, entry.path, entry.status) for entry in server.log] == [
        ("GET", "/one", 201),
        ("POST", "/drop", 0),
    ]
    assert server.log[0].at <= server.log[1].at


def test_a_bug_of_a_handler_is_printed_and_the_client_hung_up_on(
    server: FakeServer, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{server.url}/bug")
    assert httpx.get(f"{server.url}/fine").status_code == 201, "one bug harms one request"
    assert "LookupError: a bug of the fake" in capfd.readouterr().err


def test_a_client_that_goes_away_is_no_news(server: FakeServer, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{server.url}/gone")
    assert httpx.get(f"{server.url}/fine").status_code == 201
    assert capfd.readouterr().err == ""


def test_a_stopped_server_answers_nobody_who_kept_a_connection() -> None:
    server = FakeServer(Echo())
    server.start()
    with httpx.Client(timeout=5) as client:
        assert client.get(f"{server.url}/a").status_code == 201
        server.stop()
        server.stop()
        with pytest.raises(httpx.TransportError):
            client.get(f"{server.url}/a")
    assert len(server.log) == 1


def test_a_given_port_can_be_used_again() -> None:
    with FakeServer(Echo()) as first:
        port = int(first.url.rpartition(":")[2])
    with FakeServer(Echo(), port=port) as second:
        assert httpx.get(f"{second.url}/a").status_code == 201


def test_every_answer_has_a_time(server: FakeServer) -> None:
    answer = httpx.options(f"{server.url}/a")
    assert (answer.status_code, answer.json()["method"]) == (201, "OPTIONS")
    stated = parsedate_to_datetime(answer.headers["date"]).timestamp()
    assert abs(stated - time.time()) < 3600
