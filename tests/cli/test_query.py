"""``watchdog query`` over files and over a service, which here is any server of Prometheus's API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from watchdog.cli import main

T = 1_700_000_000
FILE = (
    "# TYPE power gauge\n"
    + "".join(f'power{{gpu="{gpu}"}} {gpu + minute / 4} {T + 60 * minute}\n' for gpu in range(2) for minute in range(5))
    + f'odd{{text="a \\"b\\""}} NaN {T + 240}\n# EOF\n'
)


@pytest.fixture
def history(tmp_path: Path) -> str:
    path = tmp_path / "power.om"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command; return exit status, output, errors."""

    def go(*words: str) -> tuple[int, str, str]:
        try:
            status = main(["query", *words])
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return go


def test_the_newest_values_of_a_file(say: Any, history: str) -> None:
    assert say("power", "--history", history) == (
        0,
        f'power{{gpu="0"}} => 1 @[{T + 240}]\npower{{gpu="1"}} => 2 @[{T + 240}]\n',
        "",
    )


def test_a_time_in_the_past(say: Any, history: str) -> None:
    for text in (f"{T + 60}", "2023-11-14T22:14:20Z"):
        assert say("sum(power)", "--history", history, "--at", text)[1] == f"{{}} => 1.5 @[{T + 60}]\n"


def test_a_range(say: Any, history: str) -> None:
    words = ("--history", history, "--start", f"{T}", "--end", f"{T + 120}", "--step", "1m")
    out = f"{{}} =>\n1 @[{T}]\n1.5 @[{T + 60}]\n2 @[{T + 120}]\n"
    assert say("sum(power)", *words) == (0, out, "")
    data = json.loads(say("sum(power)", *words, "--format", "json")[1])
    values = [[T, "1"], [T + 60, "1.5"], [T + 120, "2"]]
    assert data == {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": values}]}}


def test_every_kind_of_answer_has_its_text(say: Any, history: str) -> None:
    assert say("1/4", "--history", history)[1] == f"scalar: 0.25 @[{T + 240}]\n"
    assert say('"words"', "--history", history)[1] == "words\n"
    assert say("odd", "--history", history)[1] == f'odd{{text="a \\"b\\""}} => NaN @[{T + 240}]\n'
    assert say('power{gpu="1"}[90s]', "--history", history)[1] == (
        f'power{{gpu="1"}} =>\n1.75 @[{T + 180}]\n2 @[{T + 240}]\n'
    )
    assert say("nothing", "--history", history) == (0, "", "no series\n")


def test_several_files(say: Any, history: str, tmp_path: Path) -> None:
    later = tmp_path / "later.om"
    later.write_text(f'power{{gpu="0"}} 9 {T + 300}\n# EOF\n', encoding="utf-8")
    assert say("power", "--history", history, str(later))[1] == (
        f'power{{gpu="0"}} => 9 @[{T + 300}]\npower{{gpu="1"}} => 2 @[{T + 300}]\n'
    )


def test_the_place_of_a_mistake_is_shown(say: Any, history: str) -> None:
    status, out, err = say("sum(rte(power[5m]))", "--history", history)
    assert (status, out) == (2, "")
    assert err.splitlines()[1:] == ["sum(rte(power[5m]))", "    ^^^"]
    status, out, err = say("sum(rte(power[5m]))", "--history", history, "--format", "json")
    body = json.loads(out)
    assert (status, body["status"], body["errorType"], err) == (2, "error", "bad_data", "")
    assert "rte" in body["error"]


def test_an_evaluation_that_fails_is_told(say: Any, history: str) -> None:
    status, out, err = say("power + on () power", "--history", history)
    assert (status, out) == (1, "")
    assert "power + on () power\n" in err
    status, out, _ = say("power + on () power", "--history", history, "--format", "json")
    assert (status, json.loads(out)["errorType"]) == (1, "execution")


def test_a_wrong_file_is_told_with_its_line(say: Any, tmp_path: Path) -> None:
    path = tmp_path / "wrong.om"
    path.write_text("a 1\n# EOF\n", encoding="utf-8")
    status, _, err = say("a", "--history", str(path))
    assert status == 2
    assert err.startswith(f"error: {path}:1: the sample has no timestamp; ")
    status, out, _ = say("a", "--history", str(path), "--format", "json")
    assert (status, json.loads(out)["errorType"]) == (2, "bad_data")


def test_files_without_samples_need_a_time(say: Any, tmp_path: Path) -> None:
    path = tmp_path / "empty.om"
    path.write_text("# EOF\n", encoding="utf-8")
    status, _, err = say("vector(1)", "--history", str(path))
    assert (status, "--at" in err) == (2, True)
    assert say("vector(1)", "--history", str(path), "--at", "5")[:2] == (0, "{} => 1 @[5]\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--start", "1"),
        ("--start", "1", "--end", "2"),
        ("--at", "1", "--start", "1", "--end", "2", "--step", "1"),
        ("--at", "yesterday"),
        ("--start", "1", "--end", "2", "--step", "x"),
        ("--url", "localhost:9469"),
        ("--url", "http://a", "--history", "b"),
    ],
)
def test_words_that_do_not_fit_are_refused(say: Any, words: tuple[str, ...]) -> None:
    status, out, err = say("1", *words)
    assert (status, out) == (2, "")
    assert "error: " in err


# --- over a service -------------------------------------------------------------------------------


class Server(HTTPServer):
    """Answers every request alike and remembers what it was asked."""

    status, body = 200, b""
    asked: tuple[str, dict[str, list[str]]] | None = None


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked = (self.path, parse_qs(form))
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name that the library gives it
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as one:
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield one
        finally:
            one.shutdown()
            thread.join()


def answers(server: Server, status: int, body: object) -> str:
    server.status, server.body = status, json.dumps(body).encode()
    return f"http://127.0.0.1:{server.server_port}"


VECTOR = {"resultType": "vector", "result": [{"metric": {"__name__": "up", "job": "a"}, "value": [1.5, "+Inf"]}]}


def test_a_service_is_asked_for_now(say: Any, server: Server) -> None:
    url = answers(server, 200, {"status": "success", "data": VECTOR})
    assert say("up", "--url", f"{url}/prefix/") == (0, 'up{job="a"} => +Inf @[1.5]\n', "")
    assert server.asked == ("/prefix/api/v1/query", {"query": ["up"]})
    assert json.loads(say("up", "--url", url, "--format", "json")[1]) == {"status": "success", "data": VECTOR}


def test_a_service_is_asked_for_a_time_and_for_a_range(say: Any, server: Server) -> None:
    url = answers(server, 200, {"status": "success", "data": {"resultType": "matrix", "result": []}})
    say("up", "--url", url, "--at", f"{T}.25")
    assert server.asked == ("/api/v1/query", {"query": ["up"], "time": [f"{T}.25"]})
    say("up", "--url", url, "--start", "0", "--end", f"{T}", "--step", "1h")
    form = {"query": ["up"], "start": ["0"], "end": [f"{T}"], "step": ["3600"]}
    assert server.asked == ("/api/v1/query_range", form)


def test_the_default_is_where_the_service_of_this_machine_listens(
    say: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(server, 200, {"status": "success", "data": VECTOR})
    for host in ("127.0.0.1", "0.0.0.0"):
        monkeypatch.setenv("WATCHDOG_LISTEN", f"{host}:{server.server_port}")
        assert say("up")[0] == 0
    monkeypatch.setenv("WATCHDOG_LISTEN", "[::]:1")
    status, _, err = say("up")
    assert (status, "http://[::1]:1" in err) == (1, True)


@pytest.mark.parametrize(
    ("status", "kind", "leaves"), [(400, "bad_data", 2), (422, "execution", 1), (503, "timeout", 1)]
)
def test_what_the_service_refuses_is_passed_on(say: Any, server: Server, status: int, kind: str, leaves: int) -> None:
    body = {"status": "error", "errorType": kind, "error": "because"}
    url = answers(server, status, body)
    assert say("up", "--url", url) == (leaves, "", "error: because\n")
    left, out, _ = say("up", "--url", url, "--format", "json")
    assert (left, json.loads(out)) == (leaves, body)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"status": "success"}', b"\xff"])
def test_what_is_no_such_service_is_told(say: Any, server: Server, body: bytes) -> None:
    server.status, server.body = 404, body
    url = f"http://user:secret@127.0.0.1:{server.server_port}"
    status, _, err = say("up", "--url", url)
    assert status == 1
    assert f"http://127.0.0.1:{server.server_port} does not speak Prometheus's HTTP API (status 404)" in err
    assert "secret" not in err


def test_an_answer_that_is_none_is_told(say: Any, server: Server) -> None:
    url = answers(server, 200, {"status": "success", "data": {"resultType": "tensor"}})
    status, _, err = say("up", "--url", url)
    assert (status, "is not an answer" in err) == (1, True)


def test_a_service_that_is_not_there_is_told(say: Any, server: Server) -> None:
    with Server(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_port
    status, out, _ = say("up", "--url", f"http://127.0.0.1:{port}", "--format", "json")
    assert (status, json.loads(out)["errorType"]) == (1, "unavailable")
    assert say("sum(", "--url", f"http://127.0.0.1:{port}")[0] == 2
