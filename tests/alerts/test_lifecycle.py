"""Walks through the life of one alert: what is seen at each step, and the state after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from watchdog.alerts.lifecycle import Sighting, Verdict, advance, begin, close
from watchdog.model import Alert, AlertState
from watchdog.rules.model import Rule

STEP = 60.0
SEEN = {"x": Verdict.HOLDS, ".": Verdict.CLEAR, "?": Verdict.UNKNOWN}


def rule(for_seconds: float = 0.0, keep: float = 0.0) -> Rule:
    return Rule(name="R", expr="up < 1", place="r.toml:1", for_seconds=for_seconds, keep_firing_for=keep)


def new_alert(now: float, value: float | None = 1.0) -> Alert:
    return Alert("R", "f", (), (), AlertState.PENDING, active_at=now, value=value, worst=value)


def walk(steps: str, for_seconds: float, keep: float) -> tuple[str, list[Alert | None]]:
    """Return one letter per step (P pending, F firing, I inactive) and the alert after each."""
    the_rule, alert, letters, states = rule(for_seconds, keep), None, "", list[Alert | None]()
    for number, mark in enumerate(steps):
        now = number * STEP
        if alert is None or alert.state is AlertState.INACTIVE:
            alert = begin(new_alert(now), the_rule, now) if mark == "x" else None
        else:
            alert = advance(alert, Sighting(SEEN[mark], 1.0 if mark == "x" else None), the_rule, now, below=True)
        state = alert.state if alert else AlertState.INACTIVE
        letters += {"pending": "P", "firing": "F", "inactive": "I"}[state.value]
        states.append(alert)
    return letters, states


@pytest.mark.parametrize(
    ("for_seconds", "keep", "steps", "expected"),
    [
        # vmalert's walks (one step between marks)
        (0, 0, "x.x..x", "FIFIIF"),
        (60, 0, "x", "P"),
        (STEP, 0, "xx", "PF"),
        (600, 0, "xx.", "PPI"),
        (STEP, 0, "xx.xx", "PFIPF"),
        (STEP, STEP, "xx.x", "PFFF"),
        (STEP, 2 * STEP, "xx...xx", "PFFFIPF"),
        # Prometheus: 75 85 70 70 then 10 five times, > 50, for 1 min, keep 1 min
        (STEP, STEP, "xxxx.....", "PFFFFIIII"),
        (STEP, STEP, "x.", "PI"),
        # what is not known changes nothing, however long
        (0, 0, "x????", "FFFFF"),
        (STEP, 0, "x????x", "PPPPPF"),
        (2 * STEP, 0, "x?xx", "PPPF"),
        (STEP, 0, "xx??.", "PFFFI"),
        (STEP, STEP, "xx.??.", "PFFFFI"),
        (STEP, 2 * STEP, "xx.??..", "PFFFFFI"),
    ],
)
def test_walk(for_seconds: float, keep: float, steps: str, expected: str) -> None:
    assert walk(steps, for_seconds, keep)[0] == expected


def test_a_gap_after_firing_starts_a_new_for() -> None:
    """ActiveAt after the gap is the first step that holds again."""
    _, states = walk("xx.xx", STEP, 0)
    last = states[-1]
    assert last is not None
    assert last.active_at == 3 * STEP


@pytest.mark.parametrize(("now", "state"), [(299.9, "pending"), (300.0, "firing"), (300.1, "firing")])
def test_for_is_reached_exactly(now: float, state: str) -> None:
    alert = begin(new_alert(0.0), rule(300.0), 0.0)
    after = advance(alert, Sighting(Verdict.HOLDS, 1.0), rule(300.0), now, below=True)
    assert after is not None
    assert after.state.value == state


def test_frozen_time_does_not_count_towards_for() -> None:
    alert = begin(new_alert(0.0), rule(100.0), 0.0)
    frozen = advance(alert, Sighting(Verdict.UNKNOWN), rule(100.0), 60.0, below=True)
    assert frozen is not None
    assert frozen.unknown_since == 60.0
    still = advance(frozen, Sighting(Verdict.UNKNOWN), rule(100.0), 500.0, below=True)
    assert still is frozen
    thawed = advance(frozen, Sighting(Verdict.HOLDS, 1.0), rule(100.0), 1000.0, below=True)
    assert thawed is not None
    assert (thawed.state, thawed.active_at, thawed.unknown_since) == (AlertState.PENDING, 940.0, None)


@pytest.mark.parametrize(("below", "worst"), [(True, 0.1), (False, 0.9)])
def test_worst_follows_the_direction_of_the_rule(below: bool, worst: float) -> None:
    alert = begin(new_alert(0.0, 0.5), rule(), 0.0)
    for value in (0.9, 0.1, 0.4):
        after = advance(alert, Sighting(Verdict.HOLDS, value), rule(), 60.0, below=below)
        assert after is not None
        alert = after
    assert (alert.value, alert.worst, alert.value_at_fire) == (0.4, worst, 0.5)


def test_a_value_that_is_not_known_does_not_replace_one_that_is() -> None:
    alert = begin(new_alert(0.0, 0.5), rule(), 0.0)
    alert = replace(alert, last_seen_at=0.0)
    after = advance(alert, Sighting(Verdict.HOLDS, None), rule(), 60.0, below=True)
    assert after is not None
    assert (after.value, after.worst, after.last_seen_at) == (0.5, 0.5, 0.0)


def test_an_alert_of_missing_data_is_seen_as_long_as_the_data_is_missing() -> None:
    alert = replace(begin(new_alert(0.0, None), rule(), 0.0), no_data=True, last_seen_at=0.0)
    after = advance(alert, Sighting(Verdict.HOLDS, None), rule(), 60.0, below=True)
    assert after is not None
    assert (after.last_seen_at, after.no_data) == (60.0, True)


def test_the_first_value_is_the_worst_so_far() -> None:
    alert = begin(new_alert(0.0, None), rule(), 0.0)
    after = advance(alert, Sighting(Verdict.HOLDS, 0.7), rule(), 60.0, below=True)
    assert after is not None
    assert after.worst == 0.7


def test_closing_tells_why_and_forgets_what_is_pending() -> None:
    firing = begin(new_alert(0.0), rule(), 0.0)
    closed = close(firing, "job failed", 90.0)
    assert closed is not None
    assert (closed.state, closed.resolved_at, closed.end_reason) == (AlertState.INACTIVE, 90.0, "job failed")
    assert close(begin(new_alert(0.0), rule(60.0), 0.0), "job failed", 90.0) is None
