"""vmalert's own cases (reference 6.6): walks, replay, restore, when to send, until when, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from watchdog.receivers.webhook import NEVER, WebhookConfig, body_of
from watchdog.rules.model import Route

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Rig = Any
    Make = Callable[..., Any]

STEP = 60.0
ZERO = 1_772_442_000.0


def marks(text: str, step: float = STEP) -> dict[float, float]:
    """A series that the rule finds at each x, and does not find at each dot."""
    return {index * step: 75.0 if mark == "x" else 10.0 for index, mark in enumerate(text)}


def walk(rig: Rig, length: int) -> str:
    return "".join(rig.at(index * STEP) for index in range(length))


@pytest.mark.parametrize(
    ("for_", "keep", "seen", "states"),
    [
        (0, 0, "x.x..x", "FIFIIF"),
        (60, 0, "x", "P"),
        (STEP, 0, "xx", "PF"),
        (600, 0, "xx.", "PPI"),
        (STEP, 0, "xx.xx", "PFIPF"),
        (STEP, STEP, "xx.x", "PFFF"),
        (STEP, 2 * STEP, "xx...xx", "PFFFIPF"),
    ],
)
def test_walk(make_rig: Make, rule: Make, for_: float, keep: float, seen: str, states: str) -> None:
    rig = make_rig(rule(for_=for_, keep=keep))
    rig.has(g=marks(seen))
    assert walk(rig, len(seen)) == states


def test_a_match_after_a_gap_is_a_new_alert(make_rig: Make, rule: Make) -> None:
    rig = make_rig(rule(for_=STEP))
    rig.has(g=marks("xx.xx"))
    walk(rig, 5)
    assert rig.alerts()[0].active_at == ZERO + 3 * STEP


def test_one_new_series_at_each_step(make_rig: Make, rule: Make) -> None:
    rig = make_rig(rule())
    rig.has(foo=marks("x.."), foo1=marks(".x."), foo2=marks("..x"))
    seen = []
    for index in range(3):
        rig.at(index * STEP)
        seen.append({dict(alert.instance)["gpu"]: alert.state.value for alert in rig.alerts()})
    assert seen == [{"foo": "firing"}, {"foo1": "firing"}, {"foo2": "firing"}]


REPLAYS = [
    pytest.param(1, {"a": [1, 3, 5]}, {"a": ["P1", "F1", "F1"]}, {"a": ["P1", "F2", "F2"]}, id="for 1: 1 3 5"),
    pytest.param(3, {"a": [1, 3, 5]}, {"a": ["P1", "P1", "F1"]}, {"a": ["P1", "P2", "P3"]}, id="for 3: 1 3 5"),
    pytest.param(1, {"a": [1, 2, 5]}, {"a": ["P1", "F1", "F1"]}, {"a": ["P1", "F1", "F1"]}, id="for 1: 1 2 5"),
    pytest.param(
        1,
        {"a": [1, 2, 5, 6, 20]},
        {"a": ["P1", "F1", "F1", "F1", "F1"]},
        {"a": ["P1", "F1", "F1", "F1", "F1"]},
        id="for 1: 1 2 5 6 20",
    ),
    pytest.param(
        0, {"a": [1, 4, 5, 6]}, {"a": ["F1", "F1", "F1", "F1"]}, {"a": ["F1", "F1", "F1", "F1"]}, id="for 0: 1 4 5 6"
    ),
    pytest.param(
        3,
        {"a": [1, 3, 5], "b": [1, 5]},
        {"a": ["P1", "P1", "F1"], "b": ["P1", "F1"]},
        {"a": ["P1", "P2", "P3"], "b": ["P1", "P4"]},
        id="for 3: two series",
    ),
]
"""``for`` in steps, the times of samples, then state and ActiveAt at each: where a step is short, and where it is as
long as the look-back."""


def replay(rig: Rig, unit: float, times: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    """Evaluate at every step; return what each series' alert was at each of its samples."""
    rig.has(**{gpu: {time * unit: 75.0 for time in own} for gpu, own in times.items()})
    seen: dict[str, list[str]] = {gpu: [] for gpu in times}
    for index in range(1, max(map(max, times.values())) + 1):
        rig.at(index * unit)
        for alert in rig.alerts():
            gpu = dict(alert.instance)["gpu"]
            if index in times[gpu]:
                since = (alert.active_at - ZERO) / unit
                seen[gpu].append(f"{alert.state.value[0].upper()}{since:g}")
    return seen


@pytest.mark.differs("replay is live")
@pytest.mark.parametrize(("for_", "times", "short", "_long"), REPLAYS)
def test_replay_of_short_gaps(  # the columns of the table
    make_rig: Make, rule: Make, for_: int, times: Any, short: Any, _long: Any
) -> None:
    """A gap within the look-back is no gap, as in a live Prometheus; vmalert's replay starts anew after each."""
    assert replay(make_rig(rule(for_=for_ * 10.0), step=10.0), 10.0, times) == short


@pytest.mark.differs("missing data freezes")
@pytest.mark.parametrize(("for_", "times", "_short", "long"), REPLAYS)
def test_replay_of_long_gaps(  # the columns of the table
    make_rig: Make, rule: Make, for_: int, times: Any, _short: Any, long: Any
) -> None:
    """A gap beyond the look-back stops the clock of ``for``, where vmalert starts anew."""
    assert replay(make_rig(rule(for_=for_ * 300.0), step=300.0), 300.0, times) == long


def since(rig: Rig) -> dict[str, float]:
    return {f"{alert.rule}/{dict(alert.instance)['gpu']}": (alert.active_at - ZERO) / STEP for alert in rig.alerts()}


def restored(rig: Rig, *rules: Any) -> dict[str, float]:
    """Evaluated at 0; down; evaluated at 10 min, of which time the source remembers nothing."""
    rig.at(0.0)
    for gpu in ("a", "b", "c"):
        rig.series[gpu] = {600.0: 75.0}
    rig.now = 600.0
    rig.restart(*rules)
    rig.at(600.0)
    return since(rig)


LONG = 3600.0


def test_restore_of_what_is_stored(make_rig: Make, rule: Make) -> None:
    """Of three instances, one is stored: only that one is restored."""
    rig = make_rig(rule(for_=LONG))
    rig.has(a=marks("x"))
    assert restored(rig) == {"Hot/a": 0.0, "Hot/b": 10.0, "Hot/c": 10.0}
    assert set(rig.states()) == {"P"}


@pytest.mark.parametrize(("other", "at"), [("> 50", 0.0), ("> 80", 10.0)], ids=["both stored", "one stored"])
def test_restore_of_two_rules(make_rig: Make, rule: Make, other: str, at: float) -> None:
    rig = make_rig(rule(for_=LONG), rule(other, for_=LONG, name="Other"))
    rig.has(a=marks("x"))
    found = restored(rig, rule(for_=LONG), rule(for_=LONG, name="Other"))
    assert (found["Hot/a"], found["Other/a"]) == (0.0, at)


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param({"name": "Other"}, id="another name"),
        pytest.param({"labels": {"env": "dev"}}, id="an extra label"),
    ],
)
def test_restore_ignores_another_alert(make_rig: Make, rule: Make, stored: dict[str, Any]) -> None:
    rig = make_rig(rule(for_=LONG, **stored))
    rig.has(a=marks("x"))
    assert restored(rig, rule(for_=LONG))["Hot/a"] == 10.0
    assert all(alert.rule == "Hot" for alert in rig.store.load().alerts)


@pytest.mark.parametrize("env", ["dev", "{{ labels.gpu }}"], ids=["a rule's label", "a templated label"])
def test_restore_by_the_labels_of_the_rule(make_rig: Make, rule: Make, env: str) -> None:
    rig = make_rig(rule(for_=LONG, labels={"env": env}))
    rig.has(a=marks("x"), b=marks("x"))
    assert restored(rig) == {"Hot/a": 0.0, "Hot/b": 0.0, "Hot/c": 10.0}


@pytest.mark.differs("firing lives through a restart")
def test_what_fired_still_fires(make_rig: Make, rule: Make) -> None:
    """vmalert brings it back as pending, and fires it again."""
    rig = make_rig(rule(for_=STEP))
    rig.has(g=marks("xxx"))
    assert walk(rig, 2) == "PF"
    rig.restart()
    assert rig.at(2 * STEP) == "F"
    assert rig.words() == [(STEP, "first notification", "g")]


@pytest.fixture
def told(make_rig: Make, rule: Make) -> Rig:
    """Evaluated every 30 s, and told at 0."""
    rig = make_rig(rule(), step=30.0, routes=(Route(("slack",), repeat_interval=LONG),))
    rig.has(g=marks("x", 30.0))
    rig.at(0.0)
    return rig


FIRST, OVER, REPEAT = "first notification", "all alerts resolved", "repeat interval elapsed"


@pytest.mark.differs("said once, delivered by the outbox")
@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param("x", [(0, FIRST)], id="firing, never sent"),
        pytest.param("xx", [(0, FIRST)], id="firing, sent 30 s ago"),
        pytest.param("x.x", [(0, FIRST), (30, OVER), (60, FIRST)], id="firing, the last word was resolved"),
        pytest.param("xxx", [(0, FIRST)], id="firing, sent 1 min ago: vmalert sends again"),
        pytest.param("x.", [(0, FIRST), (30, OVER)], id="resolved now, sent 30 s ago"),
        pytest.param("x..", [(0, FIRST), (30, OVER)], id="resolved and sent at the same time"),
        pytest.param("x...", [(0, FIRST), (30, OVER)], id="resolved 1 min ago, sent 1 min ago: vmalert sends again"),
        pytest.param("x" * 121, [(0, FIRST), (3600, REPEAT)], id="firing for the repeat interval"),
    ],
)
def test_when_to_send(told: Rig, seen: str, expected: list[tuple[float, str]]) -> None:
    told.has(g=marks(seen, 30.0))
    for index in range(1, len(seen)):
        told.at(index * 30.0)
    assert [(time, reason) for time, reason, _ in told.words()] == expected


@pytest.mark.differs("no alert expires")
@pytest.mark.parametrize("interval", [1.0, 2.0, 60.0])
def test_a_firing_alert_has_no_end(make_rig: Make, rule: Make, interval: float) -> None:
    """vmalert gives each an end (4 intervals or resend delays on), after which a receiver takes it for resolved."""
    rig = make_rig(rule(), step=interval)
    rig.has(g={0.0: 75.0})
    rig.at(0.0)
    (alert,) = rig.said[0].view.alerts
    assert alert.ends_at is None
    config = WebhookConfig(name="hook", type="webhook", url="http://127.0.0.1/")
    assert body_of(rig.said[0], config)["alerts"][0]["endsAt"] == NEVER


def labels(rig: Rig) -> dict[str, str]:
    rig.has(g=marks("x"))
    rig.at(0.0)
    return dict(rig.alerts()[0].labels)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param({"node": "mine"}, "mine", id="overrides"),
        pytest.param({"node": "n0"}, "n0", id="equal"),
        pytest.param({"node": ""}, None, id="empty removes"),
    ],
)
@pytest.mark.differs("no exported_ labels")
def test_labels_of_the_rule(make_rig: Make, rule: Make, own: dict[str, str], expected: str | None) -> None:
    found = labels(make_rig(rule(labels=own)))
    assert found.get("node") == expected
    assert not [name for name in found if name.startswith("exported_")]


def test_a_template_that_fails_leaves_a_word_and_the_alert(make_rig: Make, rule: Make) -> None:
    rig = make_rig(rule(labels={"team": "{{ 1 / (value - 75) }}"}, summary="{{ 1 / (value - 75) }}"))
    assert "template" in labels(rig)["team"]
    assert rig.states() == "F"
    assert "template" in rig.said[0].view.alerts[0].summary


def test_a_broken_receiver_does_not_delay_the_others(make_rig: Make, rule: Make) -> None:
    rig = make_rig(rule(), routes=(Route(("bad", "good")),), send_resolved={"bad": True, "good": True})
    bad, good = rig.sink("bad", works_from=LONG), rig.sink("good")
    rig.has(g=marks("x"))
    rig.at(0.0)
    assert [time for time, _ in good.taken] == [0.0]
    assert bad.taken == []
