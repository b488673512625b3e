from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchdog.engine.explain import Explanation, explain


def told(world: Any, job: str | None = None, name: str = "GPUIdle") -> Explanation:
    rule = next(rule for rule in world.engine.program.rules if rule.rule.name == name)
    return explain(world.engine, rule, job, world.now - 60.0)


def test_a_rule_that_fires_shows_its_samples_and_its_route(world: Any) -> None:
    world.run(15, g0=0.0, g1=0.9)
    item = told(world)
    assert item.verdict == "fires for 1 series"
    assert [(one.labels["gpu"], one.samples, one.expected) for one in item.inputs] == [("0", 10, 10.0), ("1", 10, 10.0)]
    (instance,) = item.instances
    assert (dict(instance.labels)["gpu"], instance.state, instance.value) == ("0", "firing", 0.0)
    assert instance.receivers == ("slack",)
    assert "has held for" in instance.why


def test_a_busy_gpu_does_not_hold(world: Any) -> None:
    world.run(15, g0=0.9)
    assert told(world).verdict == "does not fire: the expression does not hold"


def test_a_short_window_is_named(world: Any) -> None:
    world.run(3, g0=0.0)
    assert told(world).verdict == "does not fire: gpu_utilization[600s] holds 3 of 10 samples"


def test_missing_data_is_named(world: Any) -> None:
    world.silent(3)
    assert told(world).verdict == "does not fire: there is no sample of gpu_utilization"


def test_grace_and_for_are_named(make_world: Callable[..., Any], rules: Any) -> None:
    world = make_world(rules(grace=3600.0))
    world.run(12, g0=0.0)
    assert told(world).verdict == "does not fire: the job is younger than the rule's grace"
    world = make_world(rules(replace_expr="gpu_utilization < 0.05", for_seconds=600.0))
    world.run(5, g0=0.0)
    item = told(world)
    assert item.verdict == "does not fire: has held for 240 s of 600 s"
    assert item.inputs[0].value == 0.0
    assert item.terms == {"for": 600.0, "min_coverage": 0.8}


def test_a_frozen_alert_says_so(world: Any) -> None:
    world.run(12, g0=0.0)
    world.silent(3, error="503")
    (instance,) = told(world).instances
    assert instance.state == "firing, unknown"
    assert "frozen for 120 s" in instance.why


def test_only_the_wanted_job(world: Any) -> None:
    world.run(12, g0=0.0)
    assert told(world, job="sft").instances
    assert told(world, job="j1").instances
    other = told(world, job="nobody")
    assert (other.inputs, other.instances) == ((), ())


def test_a_rule_that_cannot_be_evaluated(make_world: Callable[..., Any], rules: Any) -> None:
    world = make_world(rules(replace_expr="gpu_utilization + on (job) gpu_utilization < 1"))
    world.run(2, g0=0.0, g1=0.0)
    assert told(world).verdict.startswith("cannot be evaluated: several series")
