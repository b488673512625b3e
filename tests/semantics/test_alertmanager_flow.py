"""Alertmanager's end-to-end cases (reference 6.2) that apply: from series to what receivers were told.

All times of the table times ten, so that one evaluation a second is fine enough: its 1 s group_wait is 10 s here.
Every test compares the whole list of what was said; one word more fails it. Its decision table (6.1) is in
tests/incidents/test_decide.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from watchdog.rules.model import Route

if TYPE_CHECKING:
    from collections.abc import Callable

    Rig = Any
    Make = Callable[..., Any]
    Words = list[tuple[float, str, str]]

FIRST, NEW, SOME = "first notification", "new alerts added", "some alerts resolved"
OVER, REPEAT, LOST = "all alerts resolved", "repeat interval elapsed", "data lost"
END = 130


def firing(since: int, until: int, end: int = END) -> dict[float, float]:
    """A series that the rule finds from ``since`` until before ``until``, and that is read until ``end``."""
    return {float(time): 75.0 if since <= time < until else 10.0 for time in range(end + 1)}


def run(rig: Rig, since: int, until: int) -> None:
    for time in range(since, until + 1):
        rig.at(float(time))


def route(*receivers: str, wait: float = 10.0, repeat: float = 3600.0) -> Route:
    return Route(receivers or ("slack",), group_by=(), group_wait=wait, repeat_interval=repeat)


@pytest.mark.differs("the first word goes at once")
@pytest.mark.differs("no group_interval")
def test_repeat(make_rig: Make, rule: Make) -> None:
    """Alertmanager waits for group_wait first, then looks every group_interval: 20, 30, and resolved at 40."""
    rig = make_rig(rule(), step=1.0, routes=(route(repeat=10.0),))
    rig.has(t=firing(10, 35))
    run(rig, 5, 60)
    assert rig.words() == [(10, FIRST, "t"), (20, REPEAT, "t"), (30, REPEAT, "t"), (35, OVER, "")]


@pytest.mark.differs("each receiver has its own queue")
def test_retry(make_rig: Make, rule: Make) -> None:
    """A sink that fails until 45 gets all that was said, at once, when it works; the other is not held up."""
    rig = make_rig(
        rule(), step=1.0, routes=(route("one", "two", repeat=30.0),), send_resolved={"one": True, "two": True}
    )
    one, two = rig.sink("one"), rig.sink("two", works_from=45.0)
    rig.has(t=firing(10, 999))
    run(rig, 5, 65)
    assert [time for time, _ in one.taken] == [10, 40]
    ((time, delivery),) = two.taken
    assert (time, [row.reason.value for row in delivery.notifications]) == (45, [FIRST, REPEAT])
    assert delivery.maybe_sent, "nobody knows whether the failed tries arrived"


@pytest.mark.differs("the first word goes at once")
def test_batching(make_rig: Make, rule: Make) -> None:
    """Alertmanager: t1 and t5 at 20, all five at 41 and 91."""
    rig = make_rig(rule(), step=1.0, routes=(route(repeat=49.0),))
    rig.has(t1=firing(11, 999), t5=firing(17, 999), **dict.fromkeys(("t2", "t3", "t4"), firing(33, 999)))
    run(rig, 5, 95)
    assert rig.words() == [
        (11, FIRST, "t1"),
        (21, NEW, "t1 t5"),
        (33, NEW, "t1 t2 t3 t4 t5"),
        (82, REPEAT, "t1 t2 t3 t4 t5"),
    ]


@pytest.mark.differs("the first word goes at once")
@pytest.mark.parametrize(("time", "said"), [(20, [NEW]), (21, [NEW]), (22, [NEW])])
def test_a_burst_is_put_together(make_rig: Make, rule: Make, time: int, said: list[str]) -> None:
    """What comes within group_wait of the last word waits for its end; what comes at its end or later does not."""
    rig = make_rig(rule(), step=1.0, routes=(route(),))
    rig.has(t1=firing(11, 999), t2=firing(time, 999))
    run(rig, 5, 60)
    assert rig.words() == [(11, FIRST, "t1"), (max(time, 21), *said, "t1 t2")]


@pytest.mark.differs("the first word goes at once")
def test_what_is_over_within_group_wait_is_said(make_rig: Make, rule: Make) -> None:
    """Alertmanager never tells of it."""
    rig = make_rig(rule(), step=1.0, routes=(route(),))
    rig.has(t=firing(11, 15))
    run(rig, 5, 60)
    assert rig.words() == [(11, FIRST, "t"), (15, OVER, "")]


@pytest.mark.differs("no alert expires")
@pytest.mark.differs("missing data freezes")
def test_resolve_by_timeout(make_rig: Make, rule: Make) -> None:
    """Nobody says that they are over: Alertmanager resolves after resolve_timeout, here they stay, as unknown."""
    rig = make_rig(rule(), step=10.0, routes=(route(),))
    rig.has(v1={10.0: 75.0}, v2={10.0: 75.0}, v3={10.0: 75.0})
    for time in range(10, 3600, 10):
        rig.at(float(time))
    assert rig.words() == [(10, FIRST, "v1 v2 v3"), (610, LOST, "v1 v2 v3")]
    assert rig.states() == "FFF"


@pytest.mark.differs("the first word goes at once")
@pytest.mark.differs("no group_interval")
def test_resolved_filter(make_rig: Make, rule: Make) -> None:
    """Two sinks, one of which is not told of resolves; its log is cleared all the same."""
    rig = make_rig(rule(), step=1.0, routes=(route("on", "off"),), send_resolved={"on": True, "off": False})
    rig.has(v1=firing(10, 40), v2=firing(10, 110), v3=firing(30, 120))
    run(rig, 5, END)
    begin: Words = [(10, FIRST, "v1 v2"), (30, NEW, "v1 v2 v3")]
    assert rig.words("on") == [*begin, (40, SOME, "v2 v3"), (110, SOME, "v3"), (120, OVER, "")]
    assert rig.words("off") == begin
    (incident,) = rig.store.incidents()
    logs = {log.receiver: (log.firing, log.sequence) for log in incident.conversations}
    assert logs == {"on": ((), 5), "off": ((), 2)}


def test_merge(make_rig: Make, rule: Make) -> None:
    """Of one alert the earliest start and the newest words; after its end, the same labels are a new alert.

    Alertmanager merges what several Prometheus servers say; here one engine speaks.
    """
    rig = make_rig(rule(summary="{{ value }}"), step=1.0, routes=(route(repeat=10.0),))
    rig.has(t={**firing(11, 48), **{float(time): 60.0 + time for time in range(11, 48)}}, u={})
    rig.has(t={float(time): 75.0 for time in range(53, 61)})
    run(rig, 5, 60)
    seen = [(row.created_at, row.view.alerts[0]) for row in rig.said]
    zero = rig.said[0].created_at - 11
    told = [(at - zero, view.starts_at - zero, view.ends_at and view.ends_at - zero, view.summary) for at, view in seen]
    assert told == [
        (11, 11, None, "71.0"),
        (21, 11, None, "81.0"),
        (31, 11, None, "91.0"),
        (41, 11, None, "101.0"),
        (48, 11, 48, "107.0"),
        (53, 53, None, "75.0"),
    ]
    assert rig.said[-1].incident != rig.said[0].incident


def test_webhook_timeout(make_rig: Make, rule: Make) -> None:
    """A sink that hangs until 30 gets one message when it works, marked as perhaps sent before."""
    rig = make_rig(rule(), step=1.0, routes=(route("hook"),), send_resolved={"hook": True})
    hook = rig.sink("hook", works_from=30.0)
    rig.has(t=firing(10, 999))
    run(rig, 5, 70)
    ((time, delivery),) = hook.taken
    assert 30 <= time <= 40
    assert ([row.reason.value for row in delivery.notifications], delivery.maybe_sent) == ([FIRST], True)


@pytest.mark.differs("critical does not wait")
@pytest.mark.differs("more reasons")
def test_a_critical_alert_goes_at_once(make_rig: Make, rule: Make) -> None:
    """With no group_wait in the route, a critical alert is not held back by the burst that it is part of."""
    rules = [rule("> 50", labels={"severity": "warning"}), rule("> 80", name="Hotter", labels={"severity": "critical"})]
    rig = make_rig(*rules, step=1.0, routes=(replace(route(), group_wait=None),))
    rig.has(t={float(time): 75.0 if time < 13 else 90.0 for time in range(11, 40)})
    run(rig, 11, 39)
    assert [(time, reason) for time, reason, _ in rig.words()] == [(11, FIRST), (13, "severity raised")]
