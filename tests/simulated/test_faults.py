"""Scripted faults, seen by a real client."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from watchdog.simulated import faults
from watchdog.simulated.faults import Faults
from watchdog.simulated.server import FakeServer, json_response

TRUE = {"fine": [1, 2, 3]}


class Rig:
    def __init__(self) -> None:
        self.faults = Faults()
        self.server = FakeServer(lambda _: json_response(TRUE), self.faults)

    def get(self, path: str = "/a/metrics") -> httpx.Response:
        return httpx.get(self.server.url + path, timeout=5)


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    with rig.server:
        yield rig


@pytest.mark.parametrize(
    ("fault", "status", "body"),
    [
        (faults.status(500), 500, b'{"message":"simulated"}'),
        (faults.status(403, b""), 403, b""),
        (faults.limited(7), 429, b'{"error":"rate limited","retry_after":7}'),
        (faults.body(b""), 200, b""),
        (faults.body(b"null"), 200, b"null"),
        (faults.html(), 200, faults.HTML),
        (faults.html(502), 502, faults.HTML),
        (faults.truncated(), 200, b'{"fine":'),
        (faults.changed(lambda data: data.replace(b"1", b"NaN")), 200, b'{"fine":[NaN,2,3]}'),
        (faults.slow(0.0), 200, b'{"fine":[1,2,3]}'),
    ],
)
def test_a_fault_is_what_the_client_gets(rig: Rig, fault: faults.Fault, status: int, body: bytes) -> None:
    rig.faults.plan(fault)
    answer = rig.get()
    assert (answer.status_code, answer.content) == (status, body)
    assert answer.headers["content-type"].startswith("text/html" if body == faults.HTML else "application/json")


def test_a_slow_answer_is_late_and_true(rig: Rig) -> None:
    rig.faults.plan(faults.slow(0.5))
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(rig.server.url, timeout=0.1)


def test_a_hang_up_is_no_answer(rig: Rig) -> None:
    rig.faults.plan(faults.dropped())
    with pytest.raises(httpx.RemoteProtocolError):
        rig.get()


def test_a_fault_lasts_as_often_as_planned_on_its_path(rig: Rig) -> None:
    rig.faults.plan(faults.status(500), "/metrics", times=2)
    assert rig.get("/a/jobs").status_code == 200
    assert [rig.get().status_code for _ in range(3)] == [500, 500, 200]


def test_a_fault_without_a_number_lasts_until_cleared(rig: Rig) -> None:
    rig.faults.plan(faults.status(500), times=1)
    rig.faults.plan(faults.status(503))
    assert [rig.get().status_code for _ in range(3)] == [500, 503, 503]
    rig.faults.clear()
    assert json.loads(rig.get().content) == TRUE
    assert [entry.status for entry in rig.server.log] == [500, 503, 503, 200]
