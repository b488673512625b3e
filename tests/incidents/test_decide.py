"""The decision whether to notify: Alertmanager's cases, then those that watchdog adds."""

from __future__ import annotations

import pytest

from watchdog.incidents.decide import Standing, why_notify
from watchdog.model import Conversation, Reason

MIN = 60.0
NOW = 100 * MIN


def told(
    firing: str = "", resolved: str = "", age: float = 9 * MIN, severity: str = "", unknown: str = ""
) -> Conversation:
    return Conversation(
        receiver="r",
        sequence=1,
        notified_at=NOW - age,
        pinged_at=NOW - age,
        firing=tuple(firing),
        resolved=tuple(resolved),
        severity=severity,
        repeat_interval=10 * MIN,
        unknown=tuple(unknown),
    )


@pytest.mark.parametrize(
    ("entry", "firing", "resolved", "send_resolved", "expected"),
    [
        pytest.param(None, "234", "", True, Reason.FIRST, id="1"),
        pytest.param(None, "", "234", True, None, id="2"),
        pytest.param(told("123"), "234", "", True, Reason.NEW_ALERTS, id="3"),
        pytest.param(told("123", age=NOW), "123", "", True, Reason.REPEAT, id="4"),
        pytest.param(told("123", age=9 * MIN), "123", "", True, None, id="5"),
        pytest.param(told("123", age=11 * MIN), "123", "", True, Reason.REPEAT, id="6"),
        pytest.param(told("", "123", age=11 * MIN), "", "345", True, None, id="7"),
        pytest.param(told("12", "3"), "1", "23", False, None, id="8"),
        pytest.param(told("12", "3"), "1", "23", True, Reason.SOME_RESOLVED, id="9"),
        pytest.param(told("12", "3"), "", "123", False, Reason.ALL_RESOLVED, id="10"),
        pytest.param(told("12", "3"), "", "123", True, Reason.ALL_RESOLVED, id="11"),
        pytest.param(told("", "1"), "1", "", True, Reason.FIRST, id="12"),
    ],
)
def test_alertmanager_case(
    entry: Conversation | None, firing: str, resolved: str, send_resolved: bool, expected: Reason | None
) -> None:
    standing = Standing(firing=firing, resolved=resolved)
    assert why_notify(entry, standing, NOW, 10 * MIN, send_resolved=send_resolved) is expected


@pytest.mark.parametrize(("age", "expected"), [(599.0, None), (600.0, Reason.REPEAT), (601.0, Reason.REPEAT)])
def test_a_reminder_is_due_exactly_after_the_repeat_interval(age: float, expected: Reason | None) -> None:
    assert why_notify(told("1", age=age), Standing("1", ""), NOW, 600.0) is expected


def test_no_reminder_while_nothing_is_known() -> None:
    assert why_notify(told("1", age=NOW, unknown="1"), Standing("1", "", unknown="1"), NOW, 600.0) is None


def test_a_higher_severity_is_a_reason_of_its_own() -> None:
    entry = told("1", severity="warning")
    assert why_notify(entry, Standing("12", "", severity="critical"), NOW, 600.0) is Reason.SEVERITY
    assert why_notify(entry, Standing("12", "", severity="warning"), NOW, 600.0) is Reason.NEW_ALERTS


def test_an_alert_that_fires_again_in_an_open_incident() -> None:
    assert why_notify(told("1", "2"), Standing("12", ""), NOW, 600.0) is Reason.REFIRED


def test_events_are_said_once() -> None:
    assert why_notify(None, Standing("", "", events="e"), NOW, 600.0) is Reason.EVENT
    assert why_notify(told("", "e"), Standing("", "", events="e"), NOW, 600.0) is None
    assert why_notify(told("1"), Standing("1", "", events="e"), NOW, 600.0) is Reason.EVENT
    assert why_notify(told("1", "e"), Standing("1", "", events="e"), NOW, 600.0) is None
    assert why_notify(told("1"), Standing("", "1", events="e"), NOW, 600.0) is Reason.EVENT


def test_lost_data_and_data_that_is_back() -> None:
    assert why_notify(told("12"), Standing("12", "", unknown="2"), NOW, 600.0) is Reason.UNKNOWN
    assert why_notify(told("12", unknown="2"), Standing("12", "", unknown="2"), NOW, 600.0) is None
    assert why_notify(told("12", unknown="2"), Standing("12", ""), NOW, 600.0) is Reason.KNOWN
