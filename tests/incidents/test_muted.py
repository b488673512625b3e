"""What is muted is still judged, shown and closed; it does not ping, and what nobody heard of stays unheard."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from watchdog.incidents.book import Book, Terms, Told
from watchdog.jobs.registry import Registry
from watchdog.model import Alert, AlertState, Reason, Silence, labels_of
from watchdog.muting import Mutes, Silences
from watchdog.rules.matchers import parse_matcher
from watchdog.rules.model import Flapping, Inhibit, MuteTime, Route, Rule

REGISTRY = Registry()
SLACK = Route(receivers=("slack",), group_wait=0.0)


def book(*routes: Route, **terms: object) -> Book:
    rules = {name: Rule(name=name, expr=f"{name} < 1", place="r.toml:1") for name in ("Idle", "Vram", "Failed")}
    return Book(Terms(rules, routes or (SLACK,), {"slack": True, "pager": True}, **terms))  # type: ignore[arg-type]


def firing(name: str = "Idle", gpu: str = "0", severity: str = "warning") -> Alert:
    full = labels_of({"alertname": name, "source": "b", "project": "p", "job": "1", "gpu": gpu, "severity": severity})
    return Alert(name, f"{name}{gpu}", full, full, AlertState.FIRING, active_at=0.0, fired_at=0.0, value=0.5)


def closed(alert: Alert, now: float) -> Alert:
    return replace(alert, state=AlertState.INACTIVE, resolved_at=now, end_reason="resolved")


def silenced(
    now: float, *spans: tuple[str, float, float], inhibits: tuple[Inhibit, ...] = (), firing_: tuple[Alert, ...] = ()
) -> Mutes:
    there = [Silence(str(n), (text,), start, end, "ann", "known", 0.0) for n, (text, start, end) in enumerate(spans)]
    return Mutes(Silences(there, str), inhibits, {}, [alert.label_map for alert in firing_], now)


def said(told: Told) -> list[tuple[Reason, bool]]:
    return [(row.reason, row.ping) for row in told.notifications]


IDLE = ('alertname="Idle"', 10.0, 100.0)


def test_what_fires_under_a_silence_is_said_when_the_silence_ends() -> None:
    incidents = book()
    assert said(incidents.tell([firing()], REGISTRY, 10.0, silenced(10.0, IDLE))) == []
    assert said(incidents.tell([], REGISTRY, 99.0, silenced(99.0, IDLE))) == []
    assert said(incidents.tell([], REGISTRY, 100.0, silenced(100.0, IDLE))) == [(Reason.FIRST, True)]


def test_what_fires_and_resolves_under_a_silence_is_never_said() -> None:
    incidents = book()
    incidents.tell([firing()], REGISTRY, 10.0, silenced(10.0, IDLE))
    assert said(incidents.tell([closed(firing(), 50.0)], REGISTRY, 50.0, silenced(50.0, IDLE))) == []
    assert said(incidents.tell([], REGISTRY, 100.0, silenced(100.0, IDLE))) == []
    assert incidents.incidents == ()


def test_the_closing_word_of_what_was_announced_is_never_muted() -> None:
    incidents = book()
    assert said(incidents.tell([firing()], REGISTRY, 0.0, silenced(0.0, IDLE))) == [(Reason.FIRST, True)]
    assert said(incidents.tell([], REGISTRY, 10.0, silenced(10.0, IDLE))) == [(Reason.MUTED, False)]
    assert said(incidents.tell([closed(firing(), 50.0)], REGISTRY, 50.0, silenced(50.0, IDLE))) == [
        (Reason.ALL_RESOLVED, False)
    ]


def test_a_silence_shows_who_and_why_and_stops_reminders() -> None:
    incidents = book(replace(SLACK, repeat_interval=30.0))
    incidents.tell([firing()], REGISTRY, 0.0, silenced(0.0, IDLE))
    told = incidents.tell([], REGISTRY, 10.0, silenced(10.0, IDLE))
    assert [alert.muted for alert in told.notifications[0].view.alerts] == ["silenced by ann: known"]
    for now in (39.0, 40.0, 41.0, 99.0):
        assert said(incidents.tell([], REGISTRY, now, silenced(now, IDLE))) == []


def test_the_end_of_a_silence_pings_once_while_it_still_fires() -> None:
    incidents = book()
    incidents.tell([firing()], REGISTRY, 0.0, silenced(0.0, IDLE))
    incidents.tell([], REGISTRY, 10.0, silenced(10.0, IDLE))
    assert said(incidents.tell([], REGISTRY, 99.0, silenced(99.0, IDLE))) == []
    assert said(incidents.tell([], REGISTRY, 100.0, silenced(100.0, IDLE))) == [(Reason.UNMUTED, True)]
    assert said(incidents.tell([], REGISTRY, 101.0, silenced(101.0, IDLE))) == []


@pytest.mark.parametrize("resolves_at", [None, 60.0])
def test_one_of_two_is_silenced(resolves_at: float | None) -> None:
    """The other is told of as if the silenced one were not there; it joins when the silence ends, if it still fires."""
    incidents = book()
    told = incidents.tell([firing("Vram")], REGISTRY, 0.0, silenced(0.0, IDLE))
    assert said(told) == [(Reason.FIRST, True)]
    assert said(incidents.tell([firing()], REGISTRY, 20.0, silenced(20.0, IDLE))) == []
    if resolves_at is not None:
        assert said(incidents.tell([closed(firing(), 60.0)], REGISTRY, 60.0, silenced(60.0, IDLE))) == []
    told = incidents.tell([], REGISTRY, 100.0, silenced(100.0, IDLE))
    if resolves_at is None:
        assert said(told) == [(Reason.UNMUTED, True)]
        assert told.notifications[0].changed == ("Idle0",)
        assert {alert.name for alert in told.notifications[0].view.alerts} == {"Idle", "Vram"}
    else:
        assert said(told) == []
        told = incidents.tell([closed(firing("Vram"), 200.0)], REGISTRY, 200.0, silenced(200.0))
        assert said(told) == [(Reason.ALL_RESOLVED, False)]
        assert [alert.name for alert in told.notifications[0].view.alerts] == ["Vram"], "nobody heard of the other"


def test_what_fires_again_under_a_silence_is_said_when_it_ends() -> None:
    incidents = book()
    incidents.tell([firing(), firing("Vram")], REGISTRY, 0.0, silenced(0.0, IDLE))
    incidents.tell([closed(firing(), 5.0)], REGISTRY, 5.0, silenced(5.0, IDLE))
    assert said(incidents.tell([firing()], REGISTRY, 20.0, silenced(20.0, IDLE))) == []
    assert said(incidents.tell([], REGISTRY, 100.0, silenced(100.0, IDLE))) == [(Reason.UNMUTED, True)]


def test_an_event_under_a_silence_is_not_said_later() -> None:
    failed = replace(firing("Failed", severity="critical"), event=True, fired_at=20.0)
    mute = ('alertname="Failed"', 0.0, 100.0)
    incidents = book()
    incidents.tell([firing()], REGISTRY, 0.0, silenced(0.0, mute))
    assert said(incidents.tell([failed], REGISTRY, 20.0, silenced(20.0, mute))) == []
    assert said(incidents.tell([], REGISTRY, 100.0, silenced(100.0, mute))) == []
    later = replace(failed, fired_at=100.0)
    assert said(book().tell([later], REGISTRY, 100.0, silenced(100.0, mute))) == [(Reason.EVENT, True)]


def test_inhibition_mutes_and_unmutes() -> None:
    """Alertmanager's case: the target is left out while its source fires, and back when that is over."""
    rule = Inhibit((parse_matcher('alertname="Vram"'),), (parse_matcher('alertname="Idle"'),), ("job",))
    source, target = firing("Vram"), firing()
    incidents = book()
    first = silenced(0.0, inhibits=(rule,), firing_=(source, target))
    told = incidents.tell([source, target], REGISTRY, 0.0, first)
    assert [alert.name for alert in told.notifications[0].view.alerts] == ["Vram"]
    over = silenced(60.0, inhibits=(rule,), firing_=(target,))
    told = incidents.tell([closed(source, 60.0)], REGISTRY, 60.0, over)
    assert said(told) == [(Reason.UNMUTED, True)]
    assert [(alert.name, alert.status) for alert in told.notifications[0].view.alerts] == [
        ("Idle", "firing"),
        ("Vram", "resolved"),
    ]


def test_mute_times_are_of_a_route() -> None:
    """The pager's route sleeps at night; Slack's does not."""
    night = datetime(2026, 3, 2, 23, tzinfo=UTC).timestamp()
    pager = Route(receivers=("pager",), continue_=True, mute_times=("night",))
    incidents = book(pager, SLACK)

    def at(now: float) -> Mutes:
        return Mutes(Silences((), str), (), {"night": MuteTime("night", times=((22 * 60, 24 * 60),))}, (), now)

    told = incidents.tell([firing()], REGISTRY, night, at(night))
    assert [(row.receiver, row.reason) for row in told.notifications] == [("slack", Reason.FIRST)]
    morning = night + 3600.0
    told = incidents.tell([], REGISTRY, morning, at(morning))
    assert [(row.receiver, row.reason, row.ping) for row in told.notifications] == [("pager", Reason.FIRST, True)]


# --- flapping -------------------------------------------------------------------------------------

CALM = Flapping(changes=4, within=1000.0)


def flap(incidents: Book, times: list[float]) -> list[list[tuple[Reason, bool]]]:
    """Fire, resolve, fire … at these times."""
    states = [firing() if number % 2 == 0 else closed(firing(), at) for number, at in enumerate(times)]
    return [said(incidents.tell([alert], REGISTRY, at)) for alert, at in zip(states, times, strict=True)]


def test_flapping_becomes_one_state_and_ends_in_the_state_that_stays() -> None:
    incidents = book(flapping=CALM)
    told = flap(incidents, [0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0])
    assert told == [
        [(Reason.FIRST, True)],
        [(Reason.ALL_RESOLVED, False)],
        [(Reason.FIRST, True)],
        [(Reason.FLAPPING, False)],  # the fourth change: instead of a resolve
        [],
        [],
        [],
    ]
    (incident,) = incidents.incidents
    assert incident.flapping == ("Idle0",)
    assert said(incidents.tell([], REGISTRY, 1399.0)) == [], "three changes of the last 1,000 s are left"
    assert said(incidents.tell([], REGISTRY, 1400.0)) == [(Reason.STEADY, True)], "it fires, and will be looked at"
    assert said(incidents.tell([closed(firing(), 1500.0)], REGISTRY, 1500.0)) == [(Reason.ALL_RESOLVED, False)]


def test_what_is_over_when_the_flapping_ends_is_resolved() -> None:
    incidents = book(flapping=CALM)
    flap(incidents, [0.0, 100.0, 200.0, 300.0])
    assert [said(incidents.tell([], REGISTRY, now)) for now in (1099.0, 1100.0)] == [
        [],
        [(Reason.ALL_RESOLVED, False)],
    ]
    assert incidents.incidents == ()


def test_one_message_is_taken_up_again_rather_than_one_for_each_flap() -> None:
    incidents = book(flapping=replace(CALM, changes=3))
    told = flap(incidents, [0.0, 100.0, 200.0])
    assert told == [[(Reason.FIRST, True)], [(Reason.ALL_RESOLVED, False)], [(Reason.FIRST, True)]]
    (incident,) = incidents.incidents
    assert incident.opened_at == 0.0
    assert incident.flapping == ("Idle0",)


def test_slow_changes_do_not_flap() -> None:
    incidents = book(flapping=CALM)
    told = flap(incidents, [400.0 * number for number in range(8)])
    assert {reason for rows in told for reason, _ in rows} == {Reason.FIRST, Reason.ALL_RESOLVED}


def test_flapping_survives_a_restart() -> None:
    incidents = book(flapping=CALM)
    flap(incidents, [0.0, 100.0])
    last = incidents._closed.values()  # what the store hands back
    again = Book(incidents.terms, tuple(last), [])
    assert said(again.tell([firing()], REGISTRY, 200.0)) == [(Reason.FIRST, True)]
    assert said(again.tell([closed(firing(), 300.0)], REGISTRY, 300.0)) == [(Reason.FLAPPING, False)]


def test_many_gpus_at_once_do_not_flap() -> None:
    incidents = book(flapping=CALM)
    gpus = [firing(gpu=str(number)) for number in range(8)]
    incidents.tell(gpus, REGISTRY, 0.0)
    assert said(incidents.tell([closed(gpu, 60.0) for gpu in gpus], REGISTRY, 60.0)) == [(Reason.ALL_RESOLVED, False)]
