"""The last evaluations of each rule, as the engine keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchdog.engine.trace import KEPT, Evaluated

T0 = 1_772_442_000.0


def figures(world: Any, rule: str = "GPUIdle") -> list[tuple[int, int, int, int, int]]:
    return [(e.found, e.pending, e.firing, e.frozen, e.uncovered) for e in world.engine.trace.of(rule)]


def test_each_evaluation_is_written_down_for_each_rule(make_world: Callable[..., Any], rules: Any) -> None:
    world = make_world(rules(replace_expr="max_over_time(gpu_utilization[4m]) < 0.05", for_seconds=60.0))
    world.run(5, g0=0.0, g1=0.9)
    world.silent(1, error="HTTP 503")
    assert figures(world) == [
        (0, 0, 0, 0, 2),
        (0, 0, 0, 0, 2),
        (0, 0, 0, 0, 2),
        (1, 1, 0, 0, 0),
        (1, 0, 1, 0, 0),
        (0, 0, 1, 1, 2),
    ]
    assert [one.at for one in world.engine.trace.of("GPUIdle")] == [T0 + 60 * minute for minute in range(6)]
    assert figures(world, "SourceDown") == [(0, 0, 0, 0, 0)] * 5 + [(1, 1, 0, 0, 0)]


def test_an_error_is_written_down(make_world: Callable[..., Any], rules: Any) -> None:
    world = make_world(rules(replace_expr="gpu_utilization + on (job) gpu_utilization < 1"))
    world.run(1, g0=0.0, g1=0.0)
    error = "several series of the right side of + match the same group; match on more labels, at character 17: +"
    assert world.engine.trace.of("GPUIdle") == (Evaluated(T0, 0, 0, 0, 0, 0, error),)


def test_only_the_last_ones_are_kept(world: Any) -> None:
    world.run(KEPT - 1, g0=0.9)
    assert len(figures(world)) == KEPT - 1
    world.run(1, g0=0.9)
    assert len(figures(world)) == KEPT
    world.run(1, g0=0.9)
    kept = world.engine.trace.of("GPUIdle")
    assert (len(kept), kept[0].at, kept[-1].at) == (KEPT, T0 + 60, T0 + 60 * KEPT)


def test_a_rule_that_is_gone_is_forgotten(world: Any, rules: Any) -> None:
    world.run(2, g0=0.9)
    only = rules().rules[:1]
    world.engine.judge.replace_rules(only)
    world.engine.program = type(world.program)(world.program.interval, only, world.program.terms, world.program.sources)
    world.run(1, g0=0.9)
    assert len(figures(world)) == 3
    assert figures(world, "JobFailed") == []


def test_nothing_is_known_of_a_rule_that_never_ran(world: Any) -> None:
    assert world.engine.trace.of("Nope") == ()


def test_a_restart_forgets(world: Any) -> None:
    world.run(2, g0=0.9)
    world.restart()
    world.run(1, g0=0.9)
    assert len(figures(world)) == 1
