"""The clock of this machine is set, or stands still, while samples carry the provider's right times."""

from __future__ import annotations

from typing import Any

import pytest

from watchdog.model import AlertState, Notification

World = Any
HOUR = 3600.0


class Skewed:
    """Drives a world whose clock is off by ``skew`` seconds; samples are stamped with the right time."""

    def __init__(self, world: World) -> None:
        self.world, self.skew = world, 0.0

    def run(self, minutes: int, **gpus: float) -> list[Notification]:
        world, before = self.world, len(self.world.store.outbox)
        for _ in range(minutes):
            right, values = world.now, {name.removeprefix("g"): value for name, value in gpus.items()}
            reading = world.reading(values)
            world.now = right + self.skew
            world.tick(reading)
            world.now = right + 60.0
        return list(world.store.outbox[before:])


@pytest.fixture
def skewed(world: World) -> Skewed:
    return Skewed(world)


JUMPS = (HOUR, -HOUR, 10.0, -10.0, 600.0, -600.0)


@pytest.mark.parametrize("jump", JUMPS)
def test_a_busy_job_stays_quiet_and_so_does_the_way_back(skewed: Skewed, jump: float) -> None:
    assert skewed.run(30, g0=0.9, g1=0.8) == []
    skewed.skew = jump
    assert skewed.run(60, g0=0.9, g1=0.8) == []
    skewed.skew = 0.0
    assert skewed.run(60, g0=0.9, g1=0.8) == []


@pytest.mark.parametrize("jump", JUMPS)
def test_what_fires_neither_resolves_nor_fires_again(skewed: Skewed, jump: float) -> None:
    skewed.run(20, g0=0.0, g1=0.9)
    assert list(skewed.world.firing()) == ["GPUIdle0"]
    said = []
    for skew in (jump, 0.0):
        skewed.skew = skew
        said += skewed.run(40, g0=0.0, g1=0.9)
    assert {row.reason.value for row in said} <= {"data lost", "data back", "repeat interval elapsed"}
    assert list(skewed.world.firing()) == ["GPUIdle0"]
    over = skewed.run(15, g0=0.9, g1=0.9)
    assert [row.reason.value for row in over if row.reason.value != "data back"] == ["all alerts resolved"]


@pytest.mark.parametrize("jump", JUMPS)
def test_a_jump_is_no_time_that_a_condition_has_held(make_world: Any, rules: Any, jump: float) -> None:
    """``for`` is an hour; the GPU idles for 30 minutes, the clock is set, and it idles for 20 more."""
    skewed = Skewed(make_world(rules(replace_expr="gpu_utilization < 0.05", for_seconds=HOUR)))
    skewed.run(30, g0=0.0, g1=0.9)
    skewed.skew = jump
    assert [row for row in skewed.run(20, g0=0.0, g1=0.9) if row.ping] == []
    skewed.skew = 0.0
    skewed.run(5, g0=0.0, g1=0.9)
    assert skewed.world.firing() == {}
    skewed.run(70, g0=0.0, g1=0.9)
    assert list(skewed.world.firing()) == ["GPUIdle0"], "and it is not forgotten either"


def test_after_hours_in_which_nothing_was_judged_the_past_is_read_again(world: World) -> None:
    """Busy, then a suspended machine, then one poll that brings the past: it has idled for the last two hours."""
    world.run(10, g0=0.9, g1=0.9)
    world.now += 5 * HOUR
    world.engine.resume(5 * HOUR, world.now)
    world.tick(world.reading({"0": 0.0, "1": 0.9}, minutes=120))
    assert list(world.firing()) == ["GPUIdle0"]
    assert len(world.store.outbox) == 1


def test_hours_in_which_nothing_was_judged_do_not_count_where_there_is_no_past(world: World) -> None:
    """The source is down for a minute, the machine is suspended for hours, the source is still down."""
    world.run(5, g0=0.9, g1=0.9)
    world.silent(2, error="503")
    assert [one.state for one in world.engine.judge.alerts.values()] == [AlertState.PENDING]
    world.now += 5 * HOUR
    world.engine.resume(5 * HOUR, world.now)
    assert world.silent(2, error="503") == []
    assert [row.view.alerts[0].name for row in world.silent(5, error="503")] == ["SourceDown"]
