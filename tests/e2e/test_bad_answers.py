"""A bad answer never fires an idle alert and never resolves one, at either cloud."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from watchdog.model import Reason, Snapshot
from watchdog.simulated import faults
from watchdog.simulated.faults import Fault

CLOUDS = ("baseten", "alaya")


def _nulls(data: bytes) -> bytes:
    return re.sub(rb'"value":"?[0-9.e-]+"?', b'"value":null', data)


def _nans(data: bytes) -> bytes:
    return re.sub(rb'"value":"?[0-9.e-]+"?', b'"value":NaN', data)


BAD: dict[str, Fault] = {
    "empty body": faults.body(b""),
    "empty object": faults.body(b"{}"),
    "null": faults.body(b"null"),
    "a list": faults.body(b"[]"),
    "null values": faults.changed(_nulls),
    "NaN values": faults.changed(_nans),
    "truncated": faults.truncated(),
    "html": faults.html(),
    "401": faults.status(401),
    "403": faults.status(403, b'{"status":403,"message":"Forbidden","data":{}}'),
    "404": faults.status(404),
    "429": faults.limited(2),
    "500": faults.status(500),
    "502 html": faults.html(502),
    "hang-up": faults.dropped(),
    "slow": faults.slow(0.4),
}


CASES = [(kind, name, path) for kind in CLOUDS for name in BAD for path in ("", "/metrics")]


@pytest.mark.parametrize(("kind", "name", "path"), CASES)
def test_a_bad_answer_never_resolves(cloud: Callable[..., Any], kind: str, name: str, path: str) -> None:
    watched = cloud(kind, 0.0)
    (first,) = watched.run(1)
    assert first.reason is Reason.FIRST
    assert {(dict(a.instance)["node"], dict(a.instance)["gpu"]) for a in watched.idle_alerts()} == {
        ("leader" if kind == "baseten" else "sft-master-0", gpu) for gpu in ("0", "1")
    }
    watched.faults.plan(BAD[name], path)
    said = watched.run(3 if name == "slow" else 25)
    assert not {row.reason for row in said} & {Reason.ALL_RESOLVED, Reason.SOME_RESOLVED}
    assert len(watched.idle_alerts()) == 2
    watched.faults.clear()
    after = watched.run(12)
    assert not {row.reason for row in after} & {Reason.ALL_RESOLVED, Reason.FIRST, Reason.REFIRED}
    assert all(alert.unknown_since is None for alert in watched.idle_alerts())


@pytest.mark.parametrize(("kind", "name", "path"), CASES)
def test_a_bad_answer_never_fires(cloud: Callable[..., Any], kind: str, name: str, path: str) -> None:
    watched = cloud(kind, 0.9)
    watched.run(2)
    watched.busy(0.0)  # idle in truth, but nobody can know it
    watched.run(3)
    watched.faults.plan(BAD[name], path)
    assert watched.run(3 if name == "slow" else 25) == []
    assert watched.idle_alerts() == []


@pytest.mark.parametrize("kind", CLOUDS)
def test_stale_answers_neither_fire_nor_resolve(cloud: Callable[..., Any], kind: str) -> None:
    watched = cloud(kind, 0.0)
    watched.run(1)
    frozen = watched.now[0]
    watched.world.clock = lambda: frozen
    said = watched.run(25)
    assert {row.reason for row in said} <= {Reason.UNKNOWN, Reason.NEW_ALERTS}
    new = {alert.name for row in said for alert in row.view.alerts} - {"GPUIdle", "VRAMHeldWhileIdle"}
    assert new == {"JobMetricsMissing"}, "the job runs without samples, which is said"
    assert len(watched.idle_alerts()) == 2
    busy = cloud(kind, 0.9)
    busy.run(1)
    busy.busy(0.0)
    busy.run(4)
    still = busy.now[0]
    busy.world.clock = lambda: still
    assert busy.run(25) == []


@pytest.mark.parametrize("kind", CLOUDS)
def test_the_truth_fires_and_resolves(cloud: Callable[..., Any], kind: str) -> None:
    """The same set-up without faults does both: the tests above can fail."""
    watched = cloud(kind, 0.9)
    assert watched.run(2) == []
    watched.busy(0.0)
    assert [row.reason for row in watched.run(16)] == [Reason.FIRST]
    watched.busy(0.9)
    assert Reason.ALL_RESOLVED in {row.reason for row in watched.run(3)}


@pytest.mark.parametrize("kind", CLOUDS)
def test_one_failed_type_or_metric_does_not_harm_the_others(cloud: Callable[..., Any], kind: str) -> None:
    watched = cloud(kind, 0.0)
    watched.run(1)
    signal = watched.world.jobs[0].signal
    watched.world.jobs[0].signal = lambda m, n, g, t: None if m == "cpu_utilization" else signal(m, n, g, t)
    watched.run(10)
    assert len(watched.idle_alerts()) == 2
    assert all(alert.unknown_since is None for alert in watched.idle_alerts())


@pytest.mark.parametrize("kind", CLOUDS)
def test_a_restart_into_an_outage_changes_nothing(cloud: Callable[..., Any], kind: str) -> None:
    watched = cloud(kind, 0.0)
    watched.run(1)
    watched.snapshot = Snapshot(
        jobs=tuple(watched.engine.registry.all()),
        alerts=tuple(watched.engine.judge.alerts.values()),
        incidents=tuple(watched.engine.book.incidents),
    )
    watched.faults.plan(faults.status(500))
    watched.restart()
    assert not {row.reason for row in watched.run(5)} & {Reason.ALL_RESOLVED, Reason.FIRST}
    watched.faults.clear()
    assert watched.run(5) == []
    assert len(watched.idle_alerts()) == 2
