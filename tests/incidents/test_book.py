"""What receivers are told of incidents over time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from watchdog.incidents.book import Book, Terms, Told
from watchdog.jobs.registry import Registry
from watchdog.model import Alert, AlertState, Incident, Job, JobRecord, JobStatus, Notification, Reason, labels_of
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.rules.model import Route, Rule

RULES = {name: Rule(name=name, expr=f"{name} < 1", place="r.toml:1") for name in ("Idle", "Vram", "Failed", "Lost")}
SLACK = Route(receivers=("slack",))
CRITICAL = Route(
    receivers=("slack", "pager"), matchers=(Matcher("severity", MatchOp.EQUAL, "critical"),), repeat_interval=3600.0
)
JOB = Job(source="b", provider="baseten", job="1", status=JobStatus.RUNNING, project="p", job_name="sft")
REGISTRY = Registry([JobRecord(JOB, first_seen=0.0)])


def terms(*routes: Route, **send_resolved: bool) -> Terms:
    return Terms(RULES, routes or (SLACK,), send_resolved or {"slack": True, "pager": True})


def firing(name: str = "Idle", now: float = 0.0, severity: str = "warning", job: str = "1", **labels: str) -> Alert:
    full = labels_of({"alertname": name, "source": "b", "project": "p", "job": job, "severity": severity, **labels})
    return Alert(
        rule=name,
        fingerprint=f"{name}{job}{''.join(labels.values())}",
        labels=full,
        instance=full,
        state=AlertState.FIRING,
        active_at=now,
        fired_at=now,
        value=0.01,
        worst=0.0,
        summary=f"{name} fires",
    )


def closed(alert: Alert, now: float, reason: str = "resolved") -> Alert:
    return replace(alert, state=AlertState.INACTIVE, resolved_at=now, end_reason=reason)


def event(name: str = "Failed", now: float = 0.0) -> Alert:
    return replace(firing(name, now, severity="critical"), event=True)


def reasons(told: Told) -> list[tuple[str, Reason, bool]]:
    return [(row.receiver, row.reason, row.ping) for row in told.notifications]


def only(told: Told) -> Notification:
    assert len(told.notifications) == 1
    return told.notifications[0]


def test_the_first_alert_opens_an_incident_and_is_told_at_once() -> None:
    told = Book(terms()).tell([firing()], REGISTRY, 0.0)
    row = only(told)
    assert (row.reason, row.ping, row.sequence, row.created_at) == (Reason.FIRST, True, 1, 0.0)
    assert row.view.group_labels == (("job", "1"), ("project", "p"), ("source", "b"))
    assert row.view.group_key == '{}:{job="1", project="p", source="b"}'
    assert (row.view.status, row.view.severity, row.view.job) == ("firing", "warning", JOB)
    assert [(alert.name, alert.status, alert.expr) for alert in row.view.alerts] == [("Idle", "firing", "Idle < 1")]
    assert [incident.closed_at for incident in told.incidents] == [None]


def test_alerts_of_one_job_are_one_incident_and_of_two_jobs_two() -> None:
    told = Book(terms()).tell([firing("Idle"), firing("Vram"), firing("Idle", job="2")], REGISTRY, 0.0)
    assert sorted(len(row.view.alerts) for row in told.notifications) == [1, 2]
    assert len({row.incident for row in told.notifications}) == 2


def test_pending_alerts_are_nobodys_business() -> None:
    told = Book(terms()).tell([replace(firing(), state=AlertState.PENDING)], REGISTRY, 0.0)
    assert told == Told((), ())


def test_an_alert_that_closes_without_an_incident_says_nothing() -> None:
    assert Book(terms()).tell([closed(firing(), 5.0)], REGISTRY, 5.0) == Told((), ())


def test_a_resolve_closes_the_incident_without_a_ping() -> None:
    book = Book(terms())
    book.tell([firing()], REGISTRY, 0.0)
    told = book.tell([closed(firing(), 60.0, "job completed")], REGISTRY, 60.0)
    row = only(told)
    assert (row.reason, row.ping, row.sequence) == (Reason.ALL_RESOLVED, False, 2)
    assert (row.view.status, row.view.closed_at) == ("resolved", 60.0)
    assert row.view.alerts[0].end_reason == "job completed"
    assert told.incidents[0].closed_at == 60.0
    assert book.incidents == ()


def test_firing_again_after_the_end_is_a_new_incident() -> None:
    book = Book(terms())
    first = only(book.tell([firing()], REGISTRY, 0.0)).incident
    book.tell([closed(firing(), 60.0)], REGISTRY, 60.0)
    row = only(book.tell([firing(now=120.0)], REGISTRY, 120.0))
    assert row.incident != first
    assert row.reason is Reason.FIRST


@pytest.mark.parametrize(("now", "said"), [(9.9, 0), (10.0, 1), (10.1, 1)])
def test_a_burst_waits_for_group_wait_after_the_first_word(now: float, said: int) -> None:
    book = Book(terms())
    book.tell([firing("Idle")], REGISTRY, 0.0)
    told = book.tell([firing("Vram", now)], REGISTRY, now)
    assert len(told.notifications) == said


def test_what_waited_goes_out_together_later() -> None:
    book = Book(terms())
    book.tell([firing("Idle")], REGISTRY, 0.0)
    book.tell([firing("Vram", 5.0)], REGISTRY, 5.0)
    row = only(book.tell([], REGISTRY, 10.0))
    assert (row.reason, row.changed) == (Reason.NEW_ALERTS, ("Vram1",))


def test_an_alert_that_came_and_went_while_waiting_is_still_said() -> None:
    book = Book(terms())
    book.tell([firing("Idle")], REGISTRY, 0.0)
    book.tell([firing("Vram", 3.0)], REGISTRY, 3.0)
    book.tell([closed(firing("Vram", 3.0), 6.0)], REGISTRY, 6.0)
    row = only(book.tell([], REGISTRY, 10.0))
    assert (row.reason, row.changed) == (Reason.SOME_RESOLVED, ("Vram1",))


def test_a_critical_alert_does_not_wait_and_pings() -> None:
    book = Book(terms(CRITICAL, SLACK))
    book.tell([firing("Idle")], REGISTRY, 0.0)
    told = book.tell([firing("Vram", 1.0, severity="critical")], REGISTRY, 1.0)
    assert reasons(told) == [("slack", Reason.SEVERITY, True), ("pager", Reason.FIRST, True)]
    by_receiver = {row.receiver: row for row in told.notifications}
    assert [alert.name for alert in by_receiver["slack"].view.alerts] == ["Vram", "Idle"]
    assert [alert.name for alert in by_receiver["pager"].view.alerts] == ["Vram"]


def test_each_receiver_is_told_the_end_of_what_it_was_told() -> None:
    book = Book(terms(CRITICAL, SLACK))
    vram = firing("Vram", severity="critical")
    book.tell([firing("Idle"), vram], REGISTRY, 0.0)
    told = book.tell([closed(vram, 60.0)], REGISTRY, 60.0)
    assert reasons(told) == [("slack", Reason.SOME_RESOLVED, False), ("pager", Reason.ALL_RESOLVED, False)]


@pytest.mark.parametrize(("now", "said"), [(14399.0, []), (14400.0, [("slack", Reason.REPEAT, True)])])
def test_a_reminder_after_the_repeat_interval(now: float, said: list[tuple[str, Reason, bool]]) -> None:
    book = Book(terms())
    book.tell([firing()], REGISTRY, 0.0)
    assert reasons(book.tell([], REGISTRY, now)) == said


def test_a_receiver_that_wants_no_resolves_is_not_told_but_its_log_is_cleared() -> None:
    book = Book(terms(slack=False))
    book.tell([firing()], REGISTRY, 0.0)
    told = book.tell([closed(firing(), 60.0)], REGISTRY, 60.0)
    assert told.notifications == ()
    assert told.incidents[0].conversations[0].firing == ()


def test_an_event_is_said_once_and_leaves_nothing_open() -> None:
    book = Book(terms())
    told = book.tell([event()], REGISTRY, 0.0)
    row = only(told)
    assert (row.reason, row.ping, row.view.alerts[0].event) == (Reason.EVENT, True, True)
    assert told.incidents[0].closed_at == 0.0
    assert book.tell([closed(event(), 60.0)], REGISTRY, 60.0) == Told((), ())


def test_a_job_that_fails_closes_its_incident_with_one_word() -> None:
    book = Book(terms())
    book.tell([firing()], REGISTRY, 0.0)
    told = book.tell([closed(firing(), 60.0, "job failed"), event(now=60.0)], REGISTRY, 60.0)
    row = only(told)
    assert (row.reason, row.ping, row.view.status) == (Reason.EVENT, True, "resolved")
    assert set(row.changed) == {"Idle1", "Failed1"}
    assert told.incidents[0].closed_at == 60.0


@pytest.mark.parametrize(("now", "said"), [(359.0, []), (360.0, [("slack", Reason.UNKNOWN, False)])])
def test_lost_data_is_said_after_five_minutes_without_a_ping(now: float, said: list[tuple[str, Reason, bool]]) -> None:
    book = Book(terms())
    book.tell([firing()], REGISTRY, 0.0)
    assert reasons(book.tell([replace(firing(), unknown_since=60.0)], REGISTRY, 60.0)) == []
    assert reasons(book.tell([], REGISTRY, now)) == said


def test_a_rule_or_a_route_may_group_in_its_own_way() -> None:
    by_project = Route(receivers=("slack",), group_by=("source", "project"))
    told = Book(terms(by_project)).tell([firing(job="1"), firing(job="2")], REGISTRY, 0.0)
    assert only(told).view.group_labels == (("project", "p"), ("source", "b"))
    assert only(told).view.job is None
    by_gpu = replace(terms(by_project), rules={**RULES, "Idle": replace(RULES["Idle"], group_by=("gpu",))})
    told = Book(by_gpu).tell([firing(gpu="0"), firing(gpu="1")], REGISTRY, 0.0)
    assert len(told.notifications) == 2


def test_an_alert_without_a_route_is_kept_but_not_told() -> None:
    told = Book(terms(CRITICAL)).tell([firing()], REGISTRY, 0.0)
    assert told.notifications == ()
    assert len(told.incidents) == 1


def test_what_was_opened_at_a_receiver_is_closed_there_although_the_routes_changed() -> None:
    book = Book(terms(SLACK))
    book.tell([firing()], REGISTRY, 0.0)
    book.terms = terms(Route(receivers=("pager",)))
    told = book.tell([closed(firing(), 60.0)], REGISTRY, 60.0)
    assert reasons(told) == [("slack", Reason.ALL_RESOLVED, False)]


def test_a_receiver_that_was_removed_is_told_nothing() -> None:
    book = Book(terms(SLACK))
    book.tell([firing()], REGISTRY, 0.0)
    book.terms = Terms(RULES, (), {})
    assert book.tell([closed(firing(), 60.0)], REGISTRY, 60.0).notifications == ()


def test_a_restart_goes_on_where_it_was() -> None:
    first = Book(terms())
    opened = first.tell([firing()], REGISTRY, 0.0).incidents
    book = Book(terms(), opened, [replace(firing(), value=0.02)])
    assert reasons(book.tell([replace(firing(), value=0.02)], REGISTRY, 60.0)) == []
    row = only(book.tell([closed(firing(), 120.0)], REGISTRY, 120.0))
    assert (row.incident, row.sequence, row.reason) == (opened[0].id, 2, Reason.ALL_RESOLVED)


def test_closed_incidents_are_not_opened_again_at_a_restart() -> None:
    incident = Incident(id="x", group_key="k", group_labels=(), opened_at=0.0, closed_at=1.0, members=(firing(),))
    assert Book(terms(), [incident]).incidents == ()


def test_ids_are_the_same_when_a_tick_is_repeated() -> None:
    one = Book(terms()).tell([firing()], REGISTRY, 0.0)
    other = Book(terms()).tell([firing()], REGISTRY, 0.0)
    assert one == other


def test_an_event_is_said_once_however_long_its_condition_lasts() -> None:
    book, happened = Book(terms()), event(now=60.0)
    assert reasons(book.tell([happened], REGISTRY, 60.0)) == [("slack", Reason.EVENT, True)]
    for now in (120.0, 180.0):
        assert book.tell([replace(happened, value=now)], REGISTRY, now) == Told((), ())
    again = replace(happened, active_at=240.0, fired_at=240.0)
    assert reasons(book.tell([again], REGISTRY, 240.0)) == [("slack", Reason.EVENT, True)]


def test_a_severity_that_rises_again_pings_again() -> None:
    book, critical = Book(terms()), firing("Vram", 60.0, "critical")
    book.tell([firing()], REGISTRY, 0.0)
    told = book.tell([critical], REGISTRY, 60.0)
    assert reasons(told) == [("slack", Reason.SEVERITY, True)]
    book.tell([closed(critical, 120.0)], REGISTRY, 120.0)
    told = book.tell([firing("Lost", 600.0, "critical")], REGISTRY, 600.0)
    assert reasons(told) == [("slack", Reason.SEVERITY, True)]


@pytest.mark.parametrize(
    ("seen", "no_data", "held", "proves"),
    [(60.0, False, False, 900.0), (0.0, False, True, 900.0), (60.0, True, False, 0.0)],
)
def test_a_view_tells_old_values_and_what_is_proven(seen: float, no_data: bool, held: bool, proves: float) -> None:
    rule = Rule("Idle", "max_over_time(gpu_utilization[15m]) < 0.05", "r.toml:1")
    book = Book(Terms({"Idle": rule}, (SLACK,), {"slack": True}))
    alert = replace(firing(now=60.0), last_seen_at=seen, no_data=no_data, value_at_fire=0.02)
    (shown,) = only(book.tell([alert], REGISTRY, 60.0)).view.alerts
    assert (shown.held, shown.proves, shown.since, shown.starts_at) == (held, proves, 60.0 - proves, 60.0)
    assert (shown.value_at_fire, shown.forecast) == (0.02, False)
