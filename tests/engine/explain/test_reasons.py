"""Each reason, in the order in which they are looked for, and its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from watchdog.engine.explain import Reason
from watchdog.errors import Unavailable, UsageError
from watchdog.model import JobReading, JobStatus, Silence
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.rules.model import MuteTime, Route

Worlds = Callable[..., Any]
Headline = Callable[..., str]


def reroute(world: Any, *routes: Route, **terms: Any) -> None:
    program = world.engine.program
    world.engine.program = replace(program, terms=replace(program.terms, routes=routes, **terms))


def test_a_source_that_is_down(world: Any, headline: Headline, tell: Any) -> None:
    world.run(2, g0=0.0)
    world.silent(1, error="HTTP 503")
    assert headline(world) == "GPUIdle does not fire for sft (j1): source cloud is down (HTTP 503)"
    assert tell(world).verdict.reason is Reason.SOURCE_DOWN


def test_a_rule_on_sources_is_judged_while_they_are_down(world: Any, headline: Headline) -> None:
    world.run(1, g0=0.0)
    world.silent(4, error="HTTP 503")
    assert headline(world, None, "SourceDown") == "SourceDown is pending: source=cloud: it has held for 3m of 5m"
    world.silent(2, error="HTTP 503")
    assert headline(world, None, "SourceDown") == "SourceDown fires: source=cloud: it has held for 5m"


def test_a_rule_on_sources_that_are_up(world: Any, headline: Headline) -> None:
    world.run(1, g0=0.0)
    assert headline(world, None, "SourceDown") == (
        "SourceDown does not fire: source=cloud: 1 == 0 does not hold, 1 apart"
    )


def test_a_job_that_waits(world: Any, headline: Headline, tell: Any) -> None:
    world.tick(world.reading({}, job=replace(world.job, status=JobStatus.PENDING)))
    assert headline(world) == "GPUIdle does not fire for sft (j1): the job is pending"
    assert tell(world).verdict.reason is Reason.NOT_RUNNING


def test_a_job_that_ended(world: Any, headline: Headline, tell: Any) -> None:
    world.run(1, g0=0.9)
    world.tick(world.reading({}, job=replace(world.job, status=JobStatus.COMPLETED)))
    world.tick(minutes=1)
    assert headline(world) == (
        "GPUIdle does not fire for sft (j1): the job ended 1m ago, 2026-03-02 09:01:00 UTC (job completed)"
    )
    assert tell(world).verdict.reason is Reason.ENDED


def test_no_sample_at_all(world: Any, headline: Headline, tell: Any) -> None:
    world.silent(3)
    assert headline(world) == "GPUIdle does not fire for sft (j1): there is no sample of gpu_utilization"
    assert tell(world).verdict.reason is Reason.NO_SAMPLES


def test_samples_that_could_not_be_read(world: Any, headline: Headline) -> None:
    world.silent(3, failed=True)
    assert headline(world) == "GPUIdle does not fire for sft (j1): gpu_utilization could not be read"


def test_samples_that_are_old(world: Any, headline: Headline) -> None:
    world.run(12, g0=0.9)
    world.silent(10)
    assert headline(world) == "GPUIdle does not fire for sft (j1): gpu_utilization has had no new sample for 600 s"


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (7, "gpu_utilization[10m] holds 7 of 10 samples, 8 are needed (node=n0 gpu=0)"),
        (8, "node=n0 gpu=0: 0.9 < 0.05 does not hold, 0.85 too high"),
        (9, "node=n0 gpu=0: 0.9 < 0.05 does not hold, 0.85 too high"),
    ],
)
def test_coverage_just_below_at_and_above_what_is_needed(
    world: Any, headline: Headline, minutes: int, words: str
) -> None:
    world.run(minutes, g0=0.9)
    assert headline(world) == f"GPUIdle does not fire for sft (j1): {words}"


def test_a_gpu_that_is_not_covered_does_not_hide_another(world: Any, headline: Headline, tell: Any) -> None:
    world.run(9, g0=0.9)
    world.run(1, g0=0.9, g1=0.0)
    assert headline(world) == (
        "GPUIdle does not fire for sft (j1): node=n0 gpu=0: 0.9 < 0.05 does not hold, 0.85 too high"
    )
    window = tell(world).expr.steps[2].readings
    assert [(one.name, one.samples, one.short) for one in window] == [
        ("node=n0 gpu=0", 10, False),
        ("node=n0 gpu=1", 1, True),
    ]


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (11, "does not fire for sft (j1): the job has run for 10m; the rule waits for 12m (grace)"),
        (12, "does not fire for sft (j1): the job has run for 11m; the rule waits for 12m (grace)"),
        (13, "fires for sft (j1): node=n0 gpu=0: it has held for 0s"),
    ],
)
def test_grace(make_world: Worlds, rules: Any, headline: Headline, minutes: int, words: str) -> None:
    world = make_world(rules(grace=720.0))
    world.run(minutes, g0=0.0)
    assert headline(world) == f"GPUIdle {words}"


def test_grace_of_a_job_that_does_not_run(make_world: Worlds, rules: Any, headline: Headline) -> None:
    world = make_world(rules(replace_expr="job_gpus > 1", grace=720.0))
    world.tick(world.reading({}, job=replace(world.job, status=JobStatus.PENDING)))
    assert headline(world) == (
        "GPUIdle does not fire for sft (j1): the job does not run yet; the rule waits for its first 12m (grace)"
    )


def test_what_holds_but_cannot_be_believed(make_world: Worlds, rules: Any, headline: Headline, tell: Any) -> None:
    world = make_world(rules(replace_expr="min by (source, job) (gpu_utilization) < 0.05"))
    world.run(2, g0=0.9, g1=0.9)
    world.run(5, g0=0.9)
    world.run(1, g0=0.0)
    assert headline(world) == (
        "GPUIdle does not fire for sft (j1): 1 of 2 series of gpu_utilization have had no new sample for over 300 s"
    )
    assert tell(world).verdict.reason is Reason.HELD_BACK


def test_what_holds_back_one_job_is_not_said_of_another(make_world: Worlds, rules: Any, headline: Headline) -> None:
    world = make_world(rules(replace_expr="min by (source, job) (gpu_utilization) < 0.05"))
    other = replace(world.job, job="j2", gpus=3)
    for _ in range(2):
        world.tick(world.reading({"0": 0.9, "1": 0.9, "2": 0.9}, job=other), world.reading({"0": 0.9, "1": 0.9}))
    for value in (0.9, 0.9, 0.9, 0.9, 0.9, 0.0):
        world.tick(world.reading({"0": value}, job=other), world.reading({"0": value}))
    stale = "series of gpu_utilization have had no new sample for over 300 s"
    assert headline(world, "j2") == f"GPUIdle does not fire for sft (j2): 2 of 3 {stale}"
    assert headline(world, "j1") == f"GPUIdle does not fire for sft (j1): 1 of 2 {stale}"


def test_what_holds_for_a_job_that_has_ended(make_world: Worlds, rules: Any, headline: Headline, tell: Any) -> None:
    world = make_world(rules(replace_expr='source_up{source="cloud"} == 1'))
    world.run(1, g0=0.9)
    world.engine.judge.replace_rules([])
    world.run(2, g0=0.9)
    assert headline(world) == "GPUIdle does not fire for sft (j1): what it speaks of has ended"
    assert tell(world).verdict.reason is Reason.HELD_BACK


def test_pending(make_world: Worlds, rules: Any, headline: Headline, tell: Any) -> None:
    world = make_world(rules(replace_expr="gpu_utilization < 0.05", for_seconds=600.0))
    world.run(5, g0=0.0)
    assert headline(world) == "GPUIdle is pending for sft (j1): node=n0 gpu=0: it has held for 4m of 10m"
    assert tell(world).terms == {"for": "10m", "min_coverage": "0.8"}
    world.run(6, g0=0.0)
    assert headline(world) == "GPUIdle fires for sft (j1): node=n0 gpu=0: it has held for 10m"


def test_a_pending_alert_freezes(make_world: Worlds, rules: Any, headline: Headline, tell: Any) -> None:
    world = make_world(rules(replace_expr="gpu_utilization < 0.05", for_seconds=600.0))
    world.run(5, g0=0.0)
    world.silent(6)
    assert headline(world) == (
        "GPUIdle is frozen for sft (j1): node=n0 gpu=0: "
        "gpu_utilization has had no new sample for 360 s; it stays as it was 1m ago"
    )
    assert (tell(world).alerts[0].state, tell(world).alerts[0].frozen) == ("pending", True)


def test_kept_firing(make_world: Worlds, rules: Any, headline: Headline) -> None:
    world = make_world(rules(keep_firing_for=600.0))
    world.run(12, g0=0.0)
    world.run(3, g0=0.9)
    assert headline(world) == (
        "GPUIdle fires for sft (j1): node=n0 gpu=0: it has not held for 2m and is kept for 10m (keep_firing_for)"
    )


def test_still_holding_is_said_before_the_clear_condition(make_world: Worlds, rules: Any, headline: Headline) -> None:
    world = make_world(rules(clear_expr="max_over_time(gpu_utilization[10m]) > 0.15"))
    world.run(12, g0=0.0)
    assert headline(world) == "GPUIdle fires for sft (j1): node=n0 gpu=0: it has held for 4m"


def test_the_clear_condition_is_not_shown_while_nothing_fires(make_world: Worlds, rules: Any, tell: Any) -> None:
    world = make_world(rules(clear_expr="max_over_time(gpu_utilization[10m]) > 0.15"))
    world.run(12, g0=0.9)
    assert tell(world).clear is None


def test_missing_data_as_an_alert(make_world: Worlds, rules: Any, headline: Headline, tell: Any) -> None:
    world = make_world(rules(no_data="alert"))
    world.run(3, g0=0.9)
    world.silent(12)
    assert headline(world) == (
        'GPUIdle fires for sft (j1): gpu_utilization has had no new sample for 720 s, and no_data is "alert"'
    )
    assert tell(world).terms["no_data"] == "alert"


def test_missing_data_that_resolved_an_alert(make_world: Worlds, rules: Any, headline: Headline) -> None:
    world = make_world(rules(no_data="resolve"))
    world.run(12, g0=0.0)
    assert headline(world).startswith("GPUIdle fires")
    world.silent(12)
    assert headline(world) == "GPUIdle does not fire for sft (j1): gpu_utilization has had no new sample for 720 s"


def test_an_alert_of_missing_data_whose_data_is_back(make_world: Worlds, rules: Any, headline: Headline) -> None:
    world = make_world(rules(no_data="alert", keep_firing_for=900.0))
    world.run(3, g0=0.9)
    world.silent(12)
    world.run(10, g0=0.9)
    assert headline(world) == (
        "GPUIdle fires for sft (j1): it has not held for 2m and is kept for 15m (keep_firing_for)"
    )


def test_an_event_is_over_with_its_job(world: Any, headline: Headline) -> None:
    world.run(2, g0=0.9)
    world.tick(world.reading({"0": 0.9}, job=replace(world.job, status=JobStatus.FAILED)))
    assert headline(world, rule="JobFailed") == (
        "JobFailed fires for sft (j1): status=failed: it has happened, and is said once"
    )
    world.tick()
    assert headline(world, rule="JobFailed") == (
        "JobFailed does not fire for sft (j1): the job ended 1m ago, 2026-03-02 09:02:00 UTC (job failed)"
    )


def test_no_route(world: Any, headline: Headline, tell: Any) -> None:
    reroute(world, Route(("slack",), (Matcher("severity", MatchOp.EQUAL, "critical"),)))
    world.run(12, g0=0.0)
    assert headline(world) == (
        "GPUIdle fires for sft (j1), but goes nowhere: node=n0 gpu=0: no route matches its labels; it has held for 4m"
    )
    assert tell(world).verdict.reason is Reason.UNROUTED


def test_a_silence(world: Any, headline: Headline, tell: Any) -> None:
    world.run(12, g0=0.0)
    at = world.now - 60
    silence = Silence("", ('job="j1"',), at - 60, at + 60, "ana", "maintenance", at)
    world.engine.silences.put(silence, at - 60)
    assert headline(world) == (
        "GPUIdle fires for sft (j1), but pings nobody: node=n0 gpu=0: silenced by ana: maintenance; it has held for 4m"
    )
    assert tell(world).alerts[0].muted == "silenced by ana: maintenance"


def test_a_mute_time_of_every_route(world: Any, headline: Headline, tell: Any) -> None:
    always = MuteTime("always", times=((0, 1440),))
    never = MuteTime("never", years=((1999, 1999),))
    times = {"always": always, "never": never}
    reroute(world, Route(("slack",), mute_times=("always",)), mute_times=times)
    world.run(12, g0=0.0)
    assert headline(world) == (
        "GPUIdle fires for sft (j1), but pings nobody: node=n0 gpu=0: muted by always; it has held for 4m"
    )
    reroute(world, Route(("slack",), mute_times=("never",)), mute_times=times)
    assert tell(world).verdict.reason is Reason.FIRING


def test_what_fires_is_said_before_what_is_frozen_or_pending(
    make_world: Worlds, rules: Any, headline: Headline, tell: Any
) -> None:
    world = make_world(rules(replace_expr="gpu_utilization < 0.05", for_seconds=120.0))
    world.run(3, g1=0.0)
    world.run(5, g0=0.0)
    world.run(1, g0=0.0, g2=0.0)
    assert headline(world) == "GPUIdle fires for sft (j1): node=n0 gpu=0: it has held for 5m; and 2 more series"
    assert [(one.name[-1], one.state, one.frozen) for one in tell(world).alerts] == [
        ("0", "firing", False),
        ("2", "pending", False),
        ("1", "firing", True),
    ]


def test_an_error_leaves_alerts_as_they_are(make_world: Worlds, rules: Any, headline: Headline, tell: Any) -> None:
    expr = "gpu_utilization * on (source, job) group_left () gpu_utilization < 0.05"
    world = make_world(rules(replace_expr=expr))
    world.run(1, g0=0.0)
    assert headline(world).startswith("GPUIdle fires")
    world.run(1, g0=0.0, g1=0.0)
    assert headline(world) == (
        "GPUIdle cannot be evaluated for sft (j1): several series of the right side of * match the same group; "
        "match on more labels, at character 17: *; its alerts stay as they are"
    )
    assert tell(world).expr.pointer == f"{expr}\n                ^"
    assert tell(world, None).jobs == ()


def test_an_error_that_has_no_place(make_world: Worlds, rules: Any, headline: Headline, tell: Any) -> None:
    named = 'label_replace(gpu_utilization, "owner", "$1", "gpu", "(.*)")'
    world = make_world(rules(replace_expr=f"max by (source, job, owner) ({named}) < 1"))
    world.run(1, g0=0.0, g1=0.0)
    assert headline(world).startswith("GPUIdle cannot be evaluated for sft (j1): two series give the same alert")
    assert (tell(world).expr.error, tell(world).expr.pointer) == ("", "")


def test_before_the_first_evaluation(world: Any, tell: Any) -> None:
    with pytest.raises(Unavailable, match="there was no evaluation yet"):
        tell(world, None)


def test_a_rule_that_there_is_not(world: Any, tell: Any) -> None:
    with pytest.raises(UsageError, match='there is no rule "Nope"; there are: GPUIdle, JobFailed, SourceDown'):
        tell(world, None, "Nope")


def test_the_only_job_speaks_for_all(world: Any, headline: Headline, tell: Any) -> None:
    world.run(12, g0=0.9)
    assert headline(world, None) == ("GPUIdle does not fire: node=n0 gpu=0: 0.9 < 0.05 does not hold, 0.85 too high")
    assert [one.job_name for one in tell(world, None).jobs] == ["sft"]


def test_no_job_at_all(world: Any, headline: Headline) -> None:
    world.tick()
    assert headline(world, None) == "GPUIdle does not fire: there is no sample of gpu_utilization"


def test_jobs_of_several_reasons_are_counted(world: Any, headline: Headline) -> None:
    jobs = [replace(world.job, job=f"j{n}") for n in range(4)]
    lost = JobReading(replace(jobs[3], status=JobStatus.UNKNOWN))
    for _ in range(9):
        world.tick(*(world.reading({"0": 0.9}, job=job) for job in jobs[:2]), JobReading(jobs[2]), lost)
    assert headline(world, None) == (
        "GPUIdle does not fire: not for any of 4 jobs (2 false, 1 no samples, 1 not running)"
    )
