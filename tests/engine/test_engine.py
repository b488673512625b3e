"""The engine end to end: polls in, words out. The promises of the design, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from watchdog.model import AlertState, JobReading, JobStatus, Notification, Points, Reason
from watchdog.vocabulary import RESOURCE_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    World = Any


def reasons(said: list[Notification]) -> list[Reason]:
    return [row.reason for row in said]


def test_an_idle_gpu_is_said_once_on_the_right_job_node_and_gpu(world: World) -> None:
    assert world.run(10, g0=0.9, g1=0.9) == []
    said = world.run(30, g0=0.0, g1=0.9)
    assert reasons(said) == [Reason.FIRST]
    view = said[0].view
    (alert,) = view.alerts
    labels = dict(alert.labels)
    assert (labels["job"], labels["node"], labels["gpu"], labels["alertname"]) == ("j1", "n0", "0", "GPUIdle")
    assert (alert.summary, alert.value, view.job.job_name) == ("GPU 0 of sft is idle", 0.0, "sft")


def test_it_fires_when_the_whole_window_is_idle_and_not_before(world: World) -> None:
    world.run(10, g0=0.9)
    assert world.run(9, g0=0.0) == []
    assert reasons(world.run(1, g0=0.0)) == [Reason.FIRST]


def test_a_clean_run_says_nothing(world: World) -> None:
    assert world.run(60, g0=0.9, g1=0.6) == []


def test_work_that_goes_on_resolves_it(world: World) -> None:
    world.run(12, g0=0.0)
    said = world.run(3, g0=0.9)
    assert reasons(said) == [Reason.ALL_RESOLVED]
    assert said[0].view.alerts[0].end_reason == "resolved"


def test_an_empty_window_is_not_an_idle_one(world: World) -> None:
    assert world.silent(60) == []
    assert world.firing() == {}


@pytest.mark.parametrize(("minutes", "fires"), [(7, False), (8, True), (9, True)])
def test_a_window_must_hold_its_share_of_samples(world: World, minutes: int, fires: bool) -> None:
    """min_coverage 0.8 of ten samples."""
    world.tick(world.reading({"0": 0.0}, minutes=minutes))
    assert bool(world.firing()) is fires


def lose_data(world: World) -> list[Notification]:
    return list(world.silent(30))


def fail_the_job(world: World) -> list[Notification]:
    return list(world.silent(30, failed=True))


def fail_the_source(world: World) -> list[Notification]:
    return list(world.silent(30, error="503"))


def freeze_the_samples(world: World) -> list[Notification]:
    before, old = len(world.store.outbox), world.now - 60.0
    for _ in range(30):
        world.tick(JobReading(world.job, (Points("gpu_utilization", (("gpu", "0"), ("node", "n0")), [old], [0.0]),)))
    return list(world.store.outbox[before:])


LOSSES = [lose_data, fail_the_job, fail_the_source, freeze_the_samples]


@pytest.mark.parametrize("loss", LOSSES)
def test_lost_data_never_resolves_an_alert(world: World, loss: Callable[[World], list[Notification]]) -> None:
    world.run(12, g0=0.0)
    said = loss(world)
    about_gpu = [row for row in said if row.view.alerts[0].name == "GPUIdle"]
    assert reasons(about_gpu) == [Reason.UNKNOWN]
    assert not about_gpu[0].ping
    assert world.firing()["GPUIdle0"].unknown_since is not None
    back = world.run(12, g0=0.0)
    assert {row.reason for row in back if row.view.alerts[0].name == "GPUIdle"} == {Reason.KNOWN}
    assert world.firing()["GPUIdle0"].unknown_since is None


@pytest.mark.parametrize("loss", LOSSES)
def test_lost_data_never_fires_an_alert(world: World, loss: Callable[[World], list[Notification]]) -> None:
    world.run(10, g0=0.9)
    world.run(5, g0=0.0)
    said = loss(world)
    assert [row for row in said if row.view.alerts[0].name == "GPUIdle"] == []
    assert "GPUIdle0" not in world.firing()


def test_a_failed_poll_or_two_is_not_news(world: World) -> None:
    world.run(12, g0=0.0)
    assert world.silent(2, error="timeout") == []
    assert world.run(5, g0=0.0) == []


def test_one_incident_stands_for_a_source_that_is_down(world: World) -> None:
    world.run(3, g0=0.9)
    said = world.silent(20, error="503")
    assert [(row.reason, row.view.alerts[0].name) for row in said] == [(Reason.FIRST, "SourceDown")]
    assert dict(said[0].view.group_labels) == {"source": "cloud"}
    assert reasons(world.run(2, g0=0.9)) == [Reason.ALL_RESOLVED]


def test_one_stale_gpu_keeps_a_rule_over_all_gpus_from_firing(make_world: Callable[..., World], rules: Any) -> None:
    """7 of 8 known GPUs idle is not "all GPUs idle" while the eighth is not known."""
    all_idle = rules(replace_expr="max by (source, job) (gpu_utilization) < 0.05")
    world = make_world(all_idle)
    world.run(3, g0=0.0, g1=0.9)
    assert world.run(12, g0=0.0) == [], "as long as the history (15 min here) knows of the eighth"
    assert world.engine.last.doubts


def test_a_replaced_pod_does_not_keep_it_from_firing(make_world: Callable[..., World], rules: Any) -> None:
    all_idle = rules(replace_expr="max by (source, job) (gpu_utilization) < 0.05")
    world = make_world(all_idle)
    world.run(3, g0=0.9, g1=0.9)
    assert reasons(world.run(8, g2=0.0, g3=0.0)) == [Reason.FIRST]


@pytest.mark.parametrize(
    ("status", "reason", "said"),
    [
        (JobStatus.COMPLETED, "job completed", [Reason.ALL_RESOLVED]),
        (JobStatus.STOPPED, "stopped by its user", [Reason.ALL_RESOLVED]),
        (JobStatus.FAILED, "job failed", [Reason.EVENT]),
    ],
)
def test_a_job_that_ends_closes_its_alerts_with_the_reason(
    world: World, status: JobStatus, reason: str, said: list[Reason]
) -> None:
    world.run(12, g0=0.0)
    before = len(world.store.outbox)
    world.tick(JobReading(replace(world.job, status=status, error="CUDA out of memory")))
    world.tick()
    world.tick()
    rows = world.store.outbox[before:]
    assert reasons(rows) == said
    idle = next(alert for alert in rows[0].view.alerts if alert.name == "GPUIdle")
    assert idle.end_reason == reason
    assert world.firing() == {}
    assert world.engine.history.stats().series == 3, "only the source's own series are left"


def test_a_failed_job_is_said_once_with_its_error(world: World) -> None:
    world.run(3, g0=0.9)
    before = len(world.store.outbox)
    failed = JobReading(replace(world.job, status=JobStatus.FAILED, error="CUDA out of memory"))
    for _ in range(3):
        world.tick(failed)
    world.restart()
    world.tick()
    (row,) = world.store.outbox[before:]
    assert (row.reason, row.ping, row.view.alerts[0].summary) == (Reason.EVENT, True, "sft failed: CUDA out of memory")


def test_a_job_that_ended_and_is_still_listed_leaves_no_samples(world: World) -> None:
    world.run(3, g0=0.9)
    ended = replace(world.job, status=JobStatus.FAILED)
    before = len(world.store.outbox)
    for _ in range(3):
        world.tick(world.reading({"0": 0.0}, minutes=12, job=ended))
    assert reasons(world.store.outbox[before:]) == [Reason.EVENT]
    assert world.engine.history.stats().series == 3, "only the source's own series are left"


def test_a_job_that_vanishes_is_gone_not_resolved(world: World) -> None:
    world.run(12, g0=0.0)
    before = len(world.store.outbox)
    world.tick(gone=("j1",))
    (row,) = world.store.outbox[before:]
    assert (row.reason, row.view.alerts[0].end_reason) == (Reason.ALL_RESOLVED, "gone")


def test_no_rule_about_resources_applies_to_a_job_that_does_not_run(world: World) -> None:
    waiting = replace(world.job, status=JobStatus.PENDING)
    for _ in range(15):
        world.tick(world.reading({"0": 0.0}, job=waiting))
    assert world.firing() == {}


def test_a_state_that_is_not_known_freezes(world: World) -> None:
    world.run(12, g0=0.0)
    odd = replace(world.job, status=JobStatus.UNKNOWN, provider_status="TRAINING_JOB_NEW_WORD")
    for _ in range(12):
        world.tick(world.reading({"0": 0.9}, job=odd))
    assert world.firing()["GPUIdle0"].state is AlertState.FIRING


def test_a_restart_says_nothing_twice_and_keeps_the_alert(world: World) -> None:
    world.run(12, g0=0.0)
    fired_at = world.firing()["GPUIdle0"].fired_at
    world.restart()
    assert world.run(5, g0=0.0) == []
    assert world.firing()["GPUIdle0"].fired_at == fired_at


def test_after_a_restart_a_condition_that_held_all_along_fires_at_the_first_evaluation(
    make_world: Callable[..., World], rules: Any
) -> None:
    world = make_world(rules(replace_expr="gpu_utilization < 0.05", for_seconds=900.0))
    world.run(5, g0=0.0)
    world.now += 3600.0
    world.restart()
    world.tick(world.reading({"0": 0.0}, minutes=60))
    assert "GPUIdle0" in world.firing()


def test_a_break_while_it_was_down_is_seen(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules(replace_expr="gpu_utilization < 0.05", for_seconds=900.0))
    world.run(14, g0=0.0)
    world.now += 300.0
    world.restart()
    busy = Points("gpu_utilization", (("gpu", "0"), ("node", "n0")), [world.now - 180.0], [0.9])
    idle = world.reading({"0": 0.0}, minutes=20)
    world.tick(replace(idle, points=(*idle.points, busy)))
    assert "GPUIdle0" not in world.firing()
    (alert,) = world.engine.judge.alerts.values()
    assert alert.active_at == world.now - 60.0 - 120.0


def test_an_alert_resolved_while_it_was_down_is_said(world: World) -> None:
    world.run(12, g0=0.0)
    world.now += 1800.0
    world.restart()
    before = len(world.store.outbox)
    world.tick(world.reading({"0": 0.9}, minutes=30))
    assert reasons(world.store.outbox[before:]) == [Reason.ALL_RESOLVED]


def test_a_restart_with_a_source_that_is_down_resolves_nothing(world: World) -> None:
    world.run(12, g0=0.0)
    world.restart()
    world.silent(3, error="refused")
    assert "GPUIdle0" in world.firing()


def test_a_job_first_seen_is_judged_on_its_past(world: World) -> None:
    world.tick(world.reading({"0": 0.0}, minutes=30))
    assert "GPUIdle0" in world.firing()


@pytest.mark.parametrize(("age", "fires"), [(29, False), (30, True), (31, True)])
def test_grace_counts_from_the_start_of_the_run(
    make_world: Callable[..., World], rules: Any, age: int, fires: bool
) -> None:
    world = make_world(rules(grace=1800.0))
    world.job = replace(world.job, started_at=world.now - age * 60.0)
    world.tick(world.reading({"0": 0.0}, minutes=20))
    assert bool(world.firing()) is fires


def test_hysteresis_clears_only_beyond_the_clear_threshold(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules(clear_expr="max_over_time(gpu_utilization[10m]) >= 0.15"))
    world.run(12, g0=0.0)
    assert world.run(12, g0=0.10) == []
    assert "GPUIdle0" in world.firing()
    (over,) = world.run(2, g0=0.15)
    assert over.reason is Reason.ALL_RESOLVED
    assert (over.view.alerts[0].value_at_fire, over.view.alerts[0].held) == (0.0, False)


def test_no_data_alert_fires_for_a_running_job_without_data(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules(no_data="alert"))
    world.run(3, g0=0.9)
    said = world.silent(10)
    assert reasons(said) == [Reason.FIRST]
    assert "cannot be judged" in said[0].view.alerts[0].summary
    assert reasons(world.run(15, g0=0.9)) == [Reason.ALL_RESOLVED]


def test_no_data_resolve_resolves_with_that_reason(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules(no_data="resolve"))
    world.run(12, g0=0.0)
    said = world.silent(10)
    assert reasons(said) == [Reason.ALL_RESOLVED]
    assert said[0].view.alerts[0].end_reason == "no data"


def test_no_policy_moves_an_alert_while_the_source_is_down(make_world: Callable[..., World], rules: Any) -> None:
    for policy in ("alert", "resolve", "keep"):
        world = make_world(rules(no_data=policy))
        world.run(12, g0=0.0)
        world.silent(3, error="503")
        assert "GPUIdle0" in world.firing(), policy


def test_a_rule_that_was_removed_closes_its_alerts(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world()
    world.run(12, g0=0.0)
    before = len(world.store.outbox)
    world.restart(rules(name="Other"))
    world.tick(world.reading({"0": 0.9}, minutes=12))
    rows = world.store.outbox[before:]
    assert [(row.reason, row.view.alerts[0].end_reason) for row in rows] == [(Reason.ALL_RESOLVED, "rule removed")]


def test_a_rule_that_fails_leaves_its_alerts_and_the_other_rules_alone(
    make_world: Callable[..., World], rules: Any
) -> None:
    world = make_world(rules(replace_expr="max by (job) (gpu_utilization) < 0.05"))
    world.run(2, g0=0.0, g1=0.0)
    broken = rules(replace_expr="gpu_utilization + on (job) gpu_utilization < 0.1")
    world.restart(broken)
    result = world.tick(world.reading({"0": 0.0, "1": 0.0}))
    assert set(result.failures) == {"GPUIdle"}
    assert "GPUIdle" in world.firing()


def test_the_cache_is_said_once_per_project(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules(name="CacheFull", replace_expr="cache_utilization > 0.9"))
    cache = (Points("cache_utilization", (), [world.now], [0.95]),)
    other = replace(world.job, job="j2", job_name="other")
    world.tick(JobReading(world.job, project_points=cache), JobReading(other, project_points=cache))
    (row,) = world.store.outbox
    assert dict(row.view.group_labels) == {"source": "cloud", "project": "p1"}
    world.tick(gone=("j1", "j2"))
    assert world.store.outbox[-1].view.alerts[0].end_reason == "no job runs there any more"


def test_dropped_points_are_counted(world: World) -> None:
    ahead = Points("gpu_utilization", (("gpu", "0"), ("node", "n0")), [world.now + 3600.0], [0.0])
    result = world.tick(JobReading(world.job, (ahead,), dropped={"null": 2}))
    assert result.dropped == {"future": 1, "null": 2}


def test_jobs_that_start_and_end_are_reported(world: World) -> None:
    assert [record.job.job for record in world.tick(world.reading({"0": 0.9})).started] == ["j1"]
    assert world.tick(world.reading({"0": 0.9})).started == ()
    ended = world.tick(JobReading(replace(world.job, status=JobStatus.COMPLETED))).ended
    assert [record.end_reason for record in ended] == ["job completed"]


def test_a_source_is_asked_for_what_is_missing(world: World) -> None:
    assert world.engine.request("cloud", world.now).watched == {}
    world.tick(world.reading({"0": 0.9}))
    request = world.engine.request("cloud", world.now)
    assert request.watched["j1"].newest_sample == world.now - 60.0
    assert request.window >= 900.0
    world.restart()
    assert world.engine.request("cloud", world.now).watched["j1"].newest_sample is None


def test_memory_stays_bounded(world: World) -> None:
    world.run(60, g0=0.9, g1=0.9)
    size = world.engine.history.stats().bytes
    world.run(300, g0=0.9, g1=0.9)
    assert world.engine.history.stats().bytes <= size


def test_the_same_polls_give_the_same_words(make_world: Callable[..., World]) -> None:
    said = []
    for _ in range(2):
        world = make_world()
        said.append(world.run(12, g0=0.0) + world.silent(8, failed=True) + world.run(12, g0=0.9))
    assert said[0] == said[1]
    assert RESOURCE_METRICS


def test_a_duration_counts_the_window_that_the_expression_proves(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules(summary="idle for {{ duration | humanizeDuration }}"))
    world.run(10, g0=0.9)
    (said,) = world.run(10, g0=0.0)
    (alert,) = said.view.alerts
    assert (alert.summary, alert.starts_at - alert.since) == ("idle for 10m 0s", 600.0)


def test_a_reminder_tells_that_the_value_is_an_old_one(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules(clear_expr="max_over_time(gpu_utilization[10m]) >= 0.15"))
    world.run(12, g0=0.0)
    (said,) = world.run(240, g0=0.10)
    assert said.reason is Reason.REPEAT
    assert (said.view.alerts[0].value, said.view.alerts[0].held) == (0.0, True)


def test_minus_zero_is_zero(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules(summary="{{ value | humanizePercentage }}", replace_expr="gpu_utilization * -1 > -0.05"))
    (said,) = world.run(2, g0=0.0)
    assert said.view.alerts[0].summary == "0%"


@pytest.mark.parametrize("restart", [False, True])
def test_an_end_read_by_a_poll_with_an_error_is_said_once(world: World, restart: bool) -> None:
    world.run(3, g0=0.9)
    before = len(world.store.outbox)
    world.tick(JobReading(replace(world.job, status=JobStatus.FAILED)), error="half of it could not be read")
    if restart:
        world.restart()
    world.tick()
    world.tick()
    assert reasons(world.store.outbox[before:]) == [Reason.EVENT]


def test_an_end_that_an_event_could_not_be_judged_on_waits_even_over_a_restart(
    make_world: Callable[..., World], rules: Any
) -> None:
    expr = 'job_status{status="failed"} == 1 unless gpu_utilization > 9'
    made = rules(expr, name="Mixed", event=True, summary="mixed")
    mixed = made.rules[0]
    world = make_world(replace(made, rules=(made.rules[1], mixed)))
    world.tick(JobReading(world.job))
    world.tick(JobReading(replace(world.job, status=JobStatus.FAILED)), error="down")
    assert [row.view.alerts[0].summary for row in world.store.outbox] == ["sft failed: "]
    world.restart()
    for _ in range(3):
        world.tick()
    assert [row.view.alerts[0].summary for row in world.store.outbox] == ["sft failed: ", "mixed"]


def test_waiting_that_is_over_does_not_fire(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules("job_pending_seconds > 120", for_seconds=180.0))
    world.job = replace(world.job, status=JobStatus.PENDING)
    for _ in range(5):
        world.tick(JobReading(world.job))
    assert not world.firing()
    world.job = replace(world.job, status=JobStatus.RUNNING)
    for _ in range(4):
        world.tick(JobReading(world.job))
    assert not world.engine.judge.alerts


def test_waiting_that_is_over_resolves(make_world: Callable[..., World], rules: Any) -> None:
    world = make_world(rules("job_pending_seconds > 120"))
    world.job = replace(world.job, status=JobStatus.PENDING)
    for _ in range(4):
        world.tick(JobReading(world.job))
    assert world.firing()
    world.tick(JobReading(replace(world.job, status=JobStatus.RUNNING)))
    assert not world.firing()


@pytest.mark.parametrize("part", ["judge", "book"])
def test_an_end_survives_a_tick_that_breaks(world: World, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    world.run(3, g0=0.9)
    before = len(world.store.outbox)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(getattr(world.engine, part), {"judge": "judge", "book": "tell"}[part], broken)
        with pytest.raises(ZeroDivisionError):
            world.tick(JobReading(replace(world.job, status=JobStatus.FAILED)))
    world.now += 60.0
    result = world.tick()
    assert [record.end_reason for record in result.ended] == ["job failed"]
    assert reasons(world.store.outbox[before:]) == [Reason.EVENT]
    assert all(not record.active and not record.end_untold for record in world.store.jobs.values())


def test_jobs_of_a_source_that_was_removed_end_with_it(world: World) -> None:
    world.run(3, g0=0.9)
    world.restart(replace(world.program, sources=()))
    world.engine.tick(world.now, [])
    world.restart(replace(world.program, sources=()))
    assert not world.engine.registry.active()
    world.store.commit(world.engine.tick(world.now, []).changes)
    assert [record.end_reason for record in world.store.jobs.values()] == ["source removed"]


def test_own_series_have_the_interval_of_their_source(make_world: Callable[..., World], rules: Any) -> None:
    made = rules("min_over_time(job_pending_seconds[30m]) > 60")
    slow = replace(made.sources[0], interval=300.0, stale_after=900.0)
    world = make_world(replace(made, sources=(slow,)))
    world.job = replace(world.job, status=JobStatus.PENDING, created_at=world.now - 600.0)
    for _ in range(8):
        world.tick(JobReading(world.job), minutes=5.0)
    assert world.firing()


@pytest.mark.parametrize(("grace", "window"), [(0.0, 900.0), (7200.0, 7200.0), (8 * 86400.0, 7 * 86400.0)])
def test_the_window_reaches_as_far_as_grace(rules: Any, grace: float, window: float) -> None:
    assert rules(grace=grace).window == window
