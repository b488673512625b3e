"""Whole explanations, letter by letter: what a person sees."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from watchdog.engine.explain import Reason, as_text
from watchdog.model import JobStatus
from watchdog.rules.model import Route

PAGE = (Path(__file__).parents[3] / "docs" / "explain.md").read_text(encoding="utf-8")
Worlds = Callable[..., Any]
Seen = Callable[..., str]


def test_several_gpus_of_which_one_fires(world: Any, tell: Any) -> None:
    world.run(15, g0=0.0, g1=0.9)
    assert f"```text\n{as_text(tell(world))}\n```\n" in PAGE, "the example of the page is this one"
    assert as_text(tell(world)) == (
        """\
GPUIdle fires for sft (j1): node=n0 gpu=0: it has held for 7m

  rule at rules.toml:1, judged 2026-03-02 09:14:00 UTC, with min_coverage 0.8

  max_over_time(gpu_utilization[10m]) < 0.05   node=n0 gpu=0  0 < 0.05 holds
                                               node=n0 gpu=1  0.9 < 0.05 does not hold, 0.85 too high
    max_over_time(gpu_utilization[10m])        node=n0 gpu=0  0
                                               node=n0 gpu=1  0.9
      gpu_utilization[10m]                     node=n0 gpu=0  10 of 10 samples
                                               node=n0 gpu=1  10 of 10 samples

  alert  node=n0 gpu=0  firing, value 0 → slack

  last evaluations      times  found  pending  firing  frozen  uncovered
  09:07:00 to 09:14:00      8      1        0       1       0          0
  09:00:00 to 09:06:00      7      0        0       0       0          2"""
    )


def test_above_the_limit(world: Any, seen: Seen) -> None:
    world.run(15, g0=0.9)
    assert seen(world) == (
        """\
GPUIdle does not fire for sft (j1): node=n0 gpu=0: 0.9 < 0.05 does not hold, 0.85 too high

  rule at rules.toml:1, judged 2026-03-02 09:14:00 UTC, with min_coverage 0.8

  max_over_time(gpu_utilization[10m]) < 0.05   node=n0 gpu=0  0.9 < 0.05 does not hold, 0.85 too high
    max_over_time(gpu_utilization[10m])        node=n0 gpu=0  0.9
      gpu_utilization[10m]                     node=n0 gpu=0  10 of 10 samples"""
    )


def test_a_window_that_is_not_covered(world: Any, seen: Seen) -> None:
    world.run(3, g0=0.0)
    assert seen(world) == (
        """\
GPUIdle does not fire for sft (j1): gpu_utilization[10m] holds 3 of 10 samples, 8 are needed (node=n0 gpu=0)

  rule at rules.toml:1, judged 2026-03-02 09:02:00 UTC, with min_coverage 0.8

  max_over_time(gpu_utilization[10m]) < 0.05   no series
    max_over_time(gpu_utilization[10m])        no series
      gpu_utilization[10m]                     node=n0 gpu=0  3 of 10 samples, 8 are needed"""
    )


def test_a_firing_alert_that_is_not_clear_yet(make_world: Worlds, rules: Any, seen: Seen) -> None:
    world = make_world(rules(clear_expr="max_over_time(gpu_utilization[10m]) > 0.15"))
    world.run(12, g0=0.0, g1=0.9)
    world.run(1, g0=0.1, g1=0.9)
    assert seen(world) == (
        """\
GPUIdle fires for sft (j1): node=n0 gpu=0: it holds no more, but is not clear yet: 0.1 > 0.15 does not hold, 0.05 too low

  rule at rules.toml:1, judged 2026-03-02 09:12:00 UTC, with min_coverage 0.8

  max_over_time(gpu_utilization[10m]) < 0.05   node=n0 gpu=0  0.1 < 0.05 does not hold, 0.05 too high
                                               node=n0 gpu=1  0.9 < 0.05 does not hold, 0.85 too high
    max_over_time(gpu_utilization[10m])        node=n0 gpu=0  0.1
                                               node=n0 gpu=1  0.9
      gpu_utilization[10m]                     node=n0 gpu=0  10 of 10 samples
                                               node=n0 gpu=1  10 of 10 samples

  it ends when clear_expr holds:
  max_over_time(gpu_utilization[10m]) > 0.15   node=n0 gpu=1  0.9 > 0.15 holds
                                               node=n0 gpu=0  0.1 > 0.15 does not hold, 0.05 too low
    max_over_time(gpu_utilization[10m])        node=n0 gpu=0  0.1
                                               node=n0 gpu=1  0.9
      gpu_utilization[10m]                     node=n0 gpu=0  10 of 10 samples
                                               node=n0 gpu=1  10 of 10 samples

  alert  node=n0 gpu=0  firing, value 0 → slack"""  # noqa: E501
    )


def test_a_frozen_alert(world: Any, tell: Any) -> None:
    world.run(12, g0=0.0)
    world.silent(8, error="HTTP 503")
    assert as_text(tell(world)) == (
        """\
GPUIdle is frozen for sft (j1): node=n0 gpu=0: source cloud is down (HTTP 503); it stays as it was 7m ago

  rule at rules.toml:1, judged 2026-03-02 09:19:00 UTC, with min_coverage 0.8

  max_over_time(gpu_utilization[10m]) < 0.05   no series
    max_over_time(gpu_utilization[10m])        no series
      gpu_utilization[10m]                     node=n0 gpu=0  2 of 10 samples, 8 are needed

  alert  node=n0 gpu=0  firing, frozen, value 0 → slack

  last evaluations      times  found  pending  firing  frozen  uncovered
  09:14:00 to 09:19:00      6      0        0       1       1          1
  09:12:00 to 09:13:00      2      1        0       1       1          0
  09:07:00 to 09:11:00      5      1        0       1       0          0
  09:00:00 to 09:06:00      7      0        0       0       0          1"""
    )


def test_an_error_is_pointed_to(make_world: Worlds, rules: Any, tell: Any) -> None:
    world = make_world(rules(replace_expr="gpu_utilization + on (job) gpu_utilization < 1"))
    world.run(2, g0=0.0, g1=0.0)
    assert as_text(tell(world)) == (
        """\
GPUIdle cannot be evaluated for sft (j1): several series of the right side of + match the same group; match on more labels, at character 17: +

  rule at rules.toml:1, judged 2026-03-02 09:01:00 UTC, with min_coverage 0.8

  gpu_utilization + on (job) gpu_utilization < 1
                  ^

  gpu_utilization + on (job) gpu_utilization < 1   not reached
    gpu_utilization + on (job) gpu_utilization     not reached
      gpu_utilization                              node=n0 gpu=0  0
                                                   node=n0 gpu=1  0
      gpu_utilization                              node=n0 gpu=0  0
                                                   node=n0 gpu=1  0

  last evaluations      times  found  pending  firing  frozen  uncovered
  09:00:00 to 09:01:00      2      0        0       0       0          0  several series of the right side of + match the same group;"""  # noqa: E501
    )


def test_an_event(world: Any, seen: Seen) -> None:
    world.run(2, g0=0.9)
    world.tick(world.reading({"0": 0.9}, job=replace(world.job, status=JobStatus.FAILED, error="out of memory")))
    assert seen(world, rule="JobFailed") == (
        """\
JobFailed fires for sft (j1): status=failed: it has happened, and is said once

  rule at rules.toml:9, judged 2026-03-02 09:02:00 UTC, with min_coverage 0.8

  job_status{status="failed"} == 1   status=failed  1 == 1 holds
    job_status{status="failed"}      status=failed  1

  alert  status=failed  firing, value 1 → slack"""
    )


def test_a_long_expression_is_written_out_once(make_world: Worlds, rules: Any, seen: Seen) -> None:
    world = make_world(
        rules(
            replace_expr="avg by (job) (max_over_time(gpu_utilization[10m])) < 0.05\n"
            "and on (job) max by (job) (job_running_seconds) > 3600"
        )
    )
    world.run(12, g0=0.0)
    assert seen(world) == (
        """\
GPUIdle does not fire for sft (j1): 660 > 3600 does not hold, 2940 too low, in max by (job) (job_running_seconds) > 3600

  rule at rules.toml:1, judged 2026-03-02 09:11:00 UTC, with min_coverage 0.8

  avg by (job) (max_over_time(gpu_utilization[10m])) < 0.05
  and on (job) max by (job) (job_running_seconds) > 3600

  … and on (job) …                                              no series
    avg by (job) (max_over_time(gpu_utilization[10m])) < 0.05   0 < 0.05 holds
      avg by (job) (max_over_time(gpu_utilization[10m]))        0
        max_over_time(gpu_utilization[10m])                     node=n0 gpu=0  0
          gpu_utilization[10m]                                  node=n0 gpu=0  10 of 10 samples
    max by (job) (job_running_seconds) > 3600                   660 > 3600 does not hold, 2940 too low
      max by (job) (job_running_seconds)                        660
        job_running_seconds                                     660"""
    )


def test_many_series_are_counted(world: Any, seen: Seen) -> None:
    world.run(15, **{f"g{gpu}": gpu / 1000 for gpu in range(9)})
    lines = seen(world).splitlines()
    assert lines[0] == "GPUIdle fires for sft (j1): node=n0 gpu=0: it has held for 7m; and 8 more series"
    assert sum(line.endswith(" < 0.05 holds") for line in lines) == 8
    assert sum(line.strip() == "and 1 more series" for line in lines) == 2
    assert lines[-2:] == [
        "  alert  node=n0 gpu=7  firing, value 0.007: it has held for 7m → slack",
        "  and 1 more alert",
    ]


def test_all_jobs_in_one_look(world: Any, seen: Seen) -> None:
    other = replace(world.job, job="j2", job_name="")
    for _ in range(12):
        world.tick(world.reading({"0": 0.9}), world.reading({"0": 0.9, "1": 0.8}, job=other))
    assert seen(world, None) == (
        """\
GPUIdle does not fire: not for any of 2 jobs (2 false)

  rule at rules.toml:1, judged 2026-03-02 09:11:00 UTC, with min_coverage 0.8

  max_over_time(gpu_utilization[10m]) < 0.05   job=j2 node=n0 gpu=1   0.8 < 0.05 does not hold, 0.75 too high
                                               job=sft node=n0 gpu=0  0.9 < 0.05 does not hold, 0.85 too high
                                               job=j2 node=n0 gpu=0   0.9 < 0.05 does not hold, 0.85 too high
    max_over_time(gpu_utilization[10m])        job=sft node=n0 gpu=0  0.9
                                               job=j2 node=n0 gpu=0   0.9
                                               job=j2 node=n0 gpu=1   0.8
      gpu_utilization[10m]                     all 3 series  10 of 10 samples

  job  sft (j1) does not fire: node=n0 gpu=0: 0.9 < 0.05 does not hold, 0.85 too high
  job  j2 does not fire: node=n0 gpu=1: 0.8 < 0.05 does not hold, 0.75 too high, the nearest of 2"""
    )


def test_many_jobs_are_counted(world: Any, tell: Any) -> None:
    jobs = [replace(world.job, job=f"j{number}", job_name="") for number in range(22)]
    world.tick(*(world.reading({"0": 0.9}, job=job) for job in jobs))
    item = tell(world, None)
    assert (len(item.jobs), item.more_jobs, item.verdict.text) == (20, 2, "not for any of 22 jobs (20 uncovered)")
    lines = as_text(item).splitlines()
    assert sum(line.startswith("  job  ") for line in lines) == 8
    assert "  and 14 more jobs" in lines


def test_the_route_that_leads_to_a_receiver_is_named(make_world: Worlds, rules: Any, seen: Seen) -> None:
    world = make_world(rules())
    routes = (Route(("slack", "hook"), place="rules.toml:30", continue_=True), Route(("slack",), place="rules.toml:34"))
    terms = replace(world.program.terms, routes=routes)
    world.engine.program = replace(world.program, terms=terms)
    world.run(12, g0=0.0)
    assert seen(world).splitlines()[-1] == (
        "  alert  node=n0 gpu=0  firing, value 0 → slack, hook by rules.toml:30, rules.toml:34"
    )


def test_a_rule_that_was_loaded_just_now(world: Any, tell: Any) -> None:
    world.run(9, g0=0.9)
    world.engine.trace = type(world.engine.trace)()
    assert as_text(tell(world)) == (
        """\
GPUIdle does not fire for sft (j1): node=n0 gpu=0: 0.9 < 0.05 does not hold, 0.85 too high

  rule at rules.toml:1, judged 2026-03-02 09:08:00 UTC, with min_coverage 0.8

  max_over_time(gpu_utilization[10m]) < 0.05   node=n0 gpu=0  0.9 < 0.05 does not hold, 0.85 too high
    max_over_time(gpu_utilization[10m])        node=n0 gpu=0  0.9
      gpu_utilization[10m]                     node=n0 gpu=0  9 of 10 samples"""
    )


def test_the_page_has_a_row_for_each_reason_in_their_order() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [reason.value for reason in Reason]


@pytest.mark.parametrize(
    ("gpus", "line"), [(2, "node=n0 gpu=0  8 of 10 samples"), (3, "all 3 series  8 of 10 samples")]
)
def test_series_that_are_alike_are_one_line(world: Any, seen: Seen, gpus: int, line: str) -> None:
    world.run(8, **{f"g{gpu}": 0.9 for gpu in range(gpus)})
    lines = seen(world).splitlines()
    window = next(index for index, text in enumerate(lines) if text.startswith("      gpu_utilization[10m]"))
    assert lines[window].endswith(line)
    assert len(lines) == window + (2 if gpus == 2 else 1)


def test_series_that_are_not_all_shown_are_not_called_all(world: Any, seen: Seen) -> None:
    world.run(8, **{f"g{gpu}": 0.9 for gpu in range(101)})
    assert "all 100 series" not in seen(world)
    assert "and 93 more series" in seen(world)
