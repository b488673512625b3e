"""Prometheus's own cases of alerting rules (reference 6.5), walked through the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from watchdog.alerts import evaluation
from watchdog.model import Alert, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Rig = Any
    Make = Callable[..., Any]

MIN = 60.0
ZERO = 1_772_442_000.0


def every(minutes: float, *values: float) -> dict[float, float]:
    return {index * minutes * MIN: value for index, value in enumerate(values)}


def active(rig: Rig) -> list[float]:
    """Since when each alert is active, minutes after zero."""
    return [(alert.active_at - ZERO) / MIN for alert in rig.alerts()]


def test_two_instances(make_rig: Make, rule: Make) -> None:
    rig = make_rig(rule("< 100", for_=MIN), step=5 * MIN)
    rig.has(i0=every(5, 75, 85, 95, 105, 105, 95, 85), i1=every(5, 80, 90, 100, 110, 120, 130, 140))
    assert [rig.at(time * MIN) for time in range(0, 31, 5)] == ["PP", "FF", "F", "I", "I", "P", "F"]
    assert dict(rig.alerts()[0].instance)["gpu"] == "i0"


@pytest.mark.parametrize(
    ("values", "states"),
    [
        pytest.param([75, 85, 70, 70, 10, 10, 10, 10, 10], "PFFFFIIII", id="keep firing"),
        pytest.param([75, 10], "PI", id="pending is not kept"),
    ],
)
def test_keep_firing(make_rig: Make, rule: Make, values: Sequence[float], states: str) -> None:
    rig = make_rig(rule("> 50", for_=MIN, keep=MIN))
    rig.has(g=every(1, *values))
    assert "".join(rig.at(index * MIN) for index in range(len(values))) == states


def by_value(rule: Make) -> Any:
    severity = "{% if value < 80 %}critical{% else %}warning{% endif %}"
    return rule("< 100", for_=MIN, labels={"severity": severity})


def severities(rig: Rig) -> list[tuple[str, str]]:
    return [(alert.severity, alert.state.value) for alert in rig.alerts()]


def test_a_label_from_the_value_is_part_of_the_identity(make_rig: Make, rule: Make) -> None:
    rig = make_rig(by_value(rule))
    rig.has(g=every(1, 75, 85, 70, 70))
    seen = []
    for index in range(4):
        rig.at(index * MIN)
        seen += severities(rig)
    assert seen == [("critical", "pending"), ("warning", "pending"), ("critical", "pending"), ("critical", "firing")]


@pytest.mark.differs("missing data freezes")
def test_a_label_from_the_value_when_the_series_goes_stale(make_rig: Make, rule: Make) -> None:
    """The last step of the case: Prometheus has no alert left; here nothing more is known, so it stands."""
    rig = make_rig(by_value(rule))
    rig.has(g=every(1, 75, 85, 70, 70))
    for index in range(4):
        rig.at(index * MIN)
    for minute in (4, 7, 8, 30):
        rig.at(minute * MIN)
        assert severities(rig) == [("critical", "firing")]
    assert rig.alerts()[0].unknown_since == ZERO + 8 * MIN, "a sample is good for five minutes"


@pytest.fixture
def raised(make_rig: Make, rule: Make) -> Rig:
    """An alert that fires after 15 s, and then ``for`` is raised to an hour."""
    rig = make_rig(rule("< 100", for_=15.0), step=15.0)
    rig.has(g={15.0 * step: 75.0 for step in range(400)})
    assert [rig.at(0.0), rig.at(15.0)] == ["P", "F"]
    rig.reload(rule("< 100", for_=3600.0))
    return rig


@pytest.mark.differs("a raised for does not take back")
def test_a_raised_for_leaves_what_fires(raised: Rig) -> None:
    """Prometheus sends it back to pending at 30 s and fires it again after the hour."""
    before: Alert = raised.alerts()[0]
    assert raised.at(30.0) == "F"
    assert raised.at(3600.0) == "F"
    after: Alert = raised.alerts()[0]
    assert (after.active_at, after.fired_at) == (before.active_at, before.fired_at) == (ZERO, ZERO + 15.0)
    assert raised.words() == [(15.0, "first notification", "g")]


@pytest.mark.parametrize(("for_", "fires_at"), [(3600.0, 3600.0), (30.0, 30.0)])
def test_a_changed_for_counts_for_what_is_pending(make_rig: Make, rule: Make, for_: float, fires_at: float) -> None:
    rig = make_rig(rule("< 100", for_=600.0), step=15.0)
    rig.has(g={15.0 * step: 75.0 for step in range(400)})
    rig.at(0.0)
    rig.at(15.0)
    rig.reload(rule("< 100", for_=for_))
    assert rig.at(fires_at - 15.0) == "P"
    assert rig.at(fires_at) == "F"


RESTORE = {
    "i0": every(5, 75, 85, 50, 0, 0, 25, 0, 0, 40, 0, 120),
    "i1": every(5, 125, 90, 60, 0, 0, 25, 0, 0, 40, 0, 130),
}


def down(make_rig: Make, rule: Make, until: Sequence[float], restart: float, *, past: bool = True) -> Rig:
    """Evaluated at these minutes, then down, then evaluated once at ``restart``.

    With ``past`` the source can still say what it measured meanwhile; else only what it measures then.
    """
    rig = make_rig(rule("< 100", for_=25 * MIN), step=5 * MIN)
    rig.has(**RESTORE)
    for minute in until:
        rig.at(minute * MIN)
    if not past:
        rig.series = {gpu: {restart * MIN: values[restart * MIN]} for gpu, values in RESTORE.items()}
    rig.now = restart * MIN
    rig.restart()
    rig.at(restart * MIN)
    return rig


@pytest.mark.differs("time down is time")
@pytest.mark.parametrize("past", [True, False])
@pytest.mark.parametrize(
    ("until", "restart", "states", "since"),
    [
        pytest.param((0, 5), 15, "PP", [0, 5], id="short outage"),
        pytest.param((0, 5), 40, "FF", [0, 5], id="long outage"),
        pytest.param((0, 5), 50, "I", [], id="over meanwhile"),
        pytest.param((0, 5, 10, 15, 20), 25, "FP", [0, 5], id="near due"),
    ],
)
def test_restore(  # the columns of the table
    make_rig: Make,
    rule: Make,
    until: Sequence[float],
    restart: float,
    states: str,
    since: list[float],
    past: bool,
) -> None:
    """Prometheus shifts ActiveAt by the downtime, gives up after an hour, and allows for a grace of ten minutes.

    Here the time of the store stands, whatever the outage, unless the samples show a break.
    """
    rig = down(make_rig, rule, until, restart, past=past)
    assert (rig.states(), active(rig)) == (states, since)


@pytest.mark.differs("time down is time")
def test_a_break_while_it_was_down_starts_anew(make_rig: Make, rule: Make) -> None:
    rig = make_rig(rule("< 100", for_=25 * MIN), step=5 * MIN)
    rig.has(g=every(5, 75, 75, 120, 75, 75))
    rig.at(0.0)
    rig.at(5 * MIN)
    rig.restart()
    assert rig.at(20 * MIN) == "P"
    assert active(rig) == [15.0]


@pytest.mark.differs("keep_firing_for lives through a restart")
def test_the_hold_time_goes_on_over_a_restart(make_rig: Make, rule: Make) -> None:
    rig = make_rig(rule("> 50", keep=5 * MIN))
    rig.has(g=every(1, 75, 10, 10, 10, 10, 10, 10))
    assert rig.at(0.0) + rig.at(MIN) == "FF"
    rig.restart()
    assert "".join(rig.at(minute * MIN) for minute in (2, 5, 6)) == "FFI"


@pytest.mark.differs("a rule over its limit keeps its alerts")
@pytest.mark.parametrize(("limit", "failed"), [(1, True), (2, False), (3, False)])
def test_limit(make_rig: Make, rule: Make, monkeypatch: pytest.MonkeyPatch, limit: int, failed: bool) -> None:
    """Prometheus drops every alert of the rule, which a receiver takes for resolved."""
    rig = make_rig(rule(), rule(name="Other"))
    rig.has(a=every(1, 75, 75), b=every(1, 10, 75))
    assert rig.at(0.0) == "FF"
    monkeypatch.setattr(evaluation, "MOST_ALERTS", limit)
    rig.at(MIN)
    assert ("more than 1;" in rig.failures.get("Hot", "")) is failed
    assert rig.states(rule="Hot") == ("F" if failed else "FF")
    assert rig.words()[-1][1] != "all alerts resolved"


def test_two_results_with_one_identity_are_an_error(make_rig: Make, rule: Make) -> None:
    """Two metrics of one job: the metric's name is no part of the identity."""
    rig = make_rig(rule(expr='{__name__=~"job_gpus|job_cost_usd_per_hour"} > 0'))
    rig.at(0.0)
    assert "two series give the same alert" in rig.failures["Hot"]
    assert rig.states() == "I"


@pytest.mark.differs("a rule's label does not make two series one")
def test_a_label_of_the_rule_over_two_series(make_rig: Make, rule: Make) -> None:
    """An error in Prometheus, because the label hides what keeps the two apart."""
    rig = make_rig(rule(expr='vector(1) or label_replace(vector(1), "test", "x", "job", "")', labels={"test": "test"}))
    assert rig.at(0.0) == "FF"
    assert [dict(alert.labels) for alert in rig.alerts()] == [{"alertname": "Hot", "test": "test"}] * 2
    assert {alert.instance for alert in rig.alerts()} == {(), (("test", "x"),)}
    assert rig.failures == {}


@pytest.mark.parametrize("template", ["", "{% if value < 50 %}cold{% endif %}", "{{ labels.nothing }}"])
def test_an_empty_label_from_a_template_is_no_label(make_rig: Make, rule: Make, template: str) -> None:
    rig = make_rig(rule(labels={"team": template}))
    rig.has(g=every(1, 75))
    assert rig.at(0.0) == "F"
    assert "team" not in dict(rig.alerts()[0].labels)


@pytest.mark.parametrize(("seconds", "known"), [(299.0, True), (300.0, False), (301.0, False)])
@pytest.mark.differs("missing data freezes")
def test_a_sample_is_good_for_five_minutes(make_rig: Make, rule: Make, seconds: float, known: bool) -> None:
    """At 4 min 59 s Prometheus still has the alert, at 5 min it has none; here it is frozen from then on."""
    rig = make_rig(rule(keep=0.0))
    rig.has(g={0.0: 75.0})
    rig.at(0.0)
    assert rig.at(seconds) == "F"
    assert (rig.alerts()[0].unknown_since is None) is known


@pytest.mark.differs("no staleness markers")
def test_what_ended_is_over_at_once(make_rig: Make, rule: Make) -> None:
    """A series ends when its job does: the source says so."""
    rig = make_rig(rule(keep=600.0))
    rig.has(g=every(1, 75, 75))
    assert rig.at(0.0) == "F"
    rig.job = replace(rig.job, status=JobStatus.STOPPED)
    assert rig.at(MIN) == "I"
    assert rig.said[-1].view.alerts[0].end_reason == "stopped by its user"
