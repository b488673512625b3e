"""Exported rules in Prometheus's own engine fire where the rule says, and are silent just beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from watchdog.export import export
from watchdog.rules.model import Rule

JOB = {"source": "s", "project": "p", "job": "j1"}
GPU = {**JOB, "node": "n0", "gpu": "0"}
IDLE = "max_over_time(gpu_utilization[10m]) < 0.05"
MINUTES = range(40)
Cells = Sequence[float | str | None]
Named = Callable[[str, Mapping[str, str]], str]


def rule(**changes: Any) -> Rule:
    return Rule(**{"name": "A", "expr": IDLE, "place": "r.toml:1", "summary": "a", **changes})


def job(named: Named, *, until: int = 40, since: int = 0) -> dict[str, Cells]:
    """A job that runs in these minutes, and then is seen as completed once."""
    runs: Cells = [None] * since + [1.0] * (until - since)
    seconds: Cells = [None] * since + [60.0 * minute for minute in range(until - since)]
    ended: Cells = [0.0, "stale"] if until < 40 else []
    return {
        named("job_status", {**JOB, "status": "running"}): [*runs, *ended],
        named("job_running_seconds", JOB): [*seconds, *(["stale"] if until < 40 else [])],
    }


@pytest.fixture
def held(named: Named) -> Callable[..., dict[str, Cells]]:
    def go(values: Cells, gpu: str = "0", metric: str = "gpu_utilization", **times: int) -> dict[str, Cells]:
        return {named(metric, {**GPU, "gpu": gpu}): values, **job(named, **times)}

    return go


def test_a_window_must_hold_its_share_of_samples(watch: Any, held: Any) -> None:
    """Eight of ten are enough; a window with seven says nothing. (A window of Prometheus 2 holds its left edge too.)"""
    assert watch(rule()).fires(held([0.0] * 40), MINUTES) == [*range(7, 40)]
    gap: Cells = [0.0] * 20 + [None] * 4 + [0.0] * 16
    assert watch(rule()).fires(held(gap), range(18, 40)) == [18, 19, 20, 21, 22, *range(31, 40)]
    assert watch(rule(min_coverage=0.0)).fires(held(gap), range(40)) == [*range(40)]


def test_a_series_with_a_short_window_silences_what_is_made_of_it(watch: Any, held: Any) -> None:
    """One GPU of two has reported for a while only: the job as a whole is not judged yet."""
    whole = rule(expr=f"max by (source, project, job) ({IDLE.removesuffix(' < 0.05')}) < 0.05")
    late = {**held([0.0] * 40), **held([None] * 20 + [0.0] * 20, gpu="1")}
    assert watch(whole).fires(late, range(15, 40)) == [15, 16, 17, 18, 19, *range(27, 40)]


def test_behind_unless_a_short_window_is_no_all_clear(watch: Any, held: Any) -> None:
    busy = rule(expr="gpu_memory_utilization > 0.5 unless avg_over_time(gpu_utilization[10m]) > 0.3")
    both = {
        **held([0.9] * 40, metric="gpu_memory_utilization"),
        **held([None] * 20 + [0.1] * 20),
    }
    assert watch(busy).fires(both, range(15, 40)) == [15, 16, 17, 18, 19, *range(27, 40)]


@pytest.mark.parametrize(("grace", "first"), [(1140.0, 19), (1200.0, 20), (1260.0, 21)])
def test_grace_ends_when_the_job_has_run_for_it(watch: Any, held: Any, grace: float, first: int) -> None:
    found = watch(rule(grace=grace)).fires(held([0.0] * 40), MINUTES)
    assert found == [*range(first, 40)]


def test_for_begins_after_grace(watch: Any, held: Any) -> None:
    found = watch(rule(grace=1200.0, for_seconds=300.0)).fires(held([0.0] * 40), MINUTES)
    assert found == [*range(25, 40)]


def test_a_firing_alert_clears_only_beyond_clear(watch: Any, held: Any) -> None:
    """Between the limit and clear it neither starts nor ends."""
    hysteresis = rule(expr="gpu_utilization < 0.05", clear_expr="gpu_utilization >= 0.15")
    values = [0.1] * 5 + [0.0] * 5 + [0.1] * 5 + [0.149] * 5 + [0.15] * 5 + [0.1] * 15
    assert watch(hysteresis).fires(held(values), MINUTES) == [*range(5, 20)]
    assert watch(rule(expr="gpu_utilization < 0.05")).fires(held(values), MINUTES) == [*range(5, 10)]


def test_clear_of_the_job_clears_each_gpu(watch: Any, held: Any) -> None:
    clear = "max by (source, project, job) (gpu_utilization) >= 0.15"
    hysteresis = rule(expr="gpu_utilization < 0.05", clear_expr=clear)
    both = {
        **held([0.0] * 10 + [0.1] * 30),
        **held([0.1] * 20 + [0.2] * 1 + [0.1] * 19, gpu="1"),
    }
    assert watch(hysteresis).fires(both, MINUTES) == [*range(20)]


def test_hysteresis_keeps_the_value_and_the_other_labels(promtool: Any, make_ruleset: Any, held: Any) -> None:
    hysteresis = rule(
        expr="gpu_utilization < 0.05",
        clear_expr="gpu_utilization >= 0.15",
        labels={"severity": "warning", "team": "{{ labels.owner or 'nobody' }}"},
    )
    text = export(make_ruleset(hysteresis)).text
    found = promtool.firing(text, held([0.0] * 5 + [0.1] * 35), [2, 9])
    labels = {**GPU, "alertname": "A", "severity": "warning", "team": "nobody"}
    assert found == {minute: frozenset({tuple(sorted(labels.items()))}) for minute in (2, 9)}


def test_hysteresis_of_two_vectors(watch: Any, held: Any) -> None:
    expr = "gpu_utilization < on (source, job, node, gpu) group_left () gpu_memory_utilization"
    clear = "gpu_utilization >= 0.5"
    both = {
        **held([0.4] * 5 + [0.1] * 5 + [0.4] * 5 + [0.5] * 5 + [0.4] * 20),
        **held([0.2] * 40, metric="gpu_memory_utilization"),
    }
    assert watch(rule(expr=expr, clear_expr=clear)).fires(both, MINUTES) == [*range(5, 15)]


def test_alerts_end_with_their_job(watch: Any, held: Any) -> None:
    """The window still holds idle minutes, yet the job is over; a firing alert with hysteresis ends as well."""
    over = held([0.0] * 30 + ["stale"], until=30)
    assert watch(rule()).fires(over, range(25, 40)) == [*range(25, 30)]
    hysteresis = rule(clear_expr="max_over_time(gpu_utilization[10m]) >= 0.15")
    assert watch(hysteresis).fires(over, range(25, 40)) == [*range(25, 30)]
    assert watch(rule(grace=600.0)).fires(over, range(25, 40)) == [*range(25, 30)]


def test_a_rule_that_is_not_about_what_jobs_use_is_judged_before_they_run(watch: Any, named: Named) -> None:
    waits = {named("job_pending_seconds", JOB): [60.0 * minute for minute in range(40)]}
    assert watch(rule(expr="job_pending_seconds > 1800")).fires(waits, MINUTES) == [*range(31, 40)]


def test_missing_data_fires_where_the_rule_asks_for_it(promtool: Any, make_ruleset: Any, named: Named) -> None:
    """A job whose samples stop, and one that never sent any; not one that does not run."""
    text = export(make_ruleset(rule(no_data="alert", for_seconds=120.0))).text
    other = {**JOB, "job": "j2"}
    held = {
        named("gpu_utilization", GPU): [0.9] * 20 + [None] * 20,
        **job(named),
        named("job_status", {**other, "status": "running"}): [0.0] * 10 + [1.0] * 30,
        named("job_status", {**other, "status": "pending"}): [1.0] * 10 + [0.0] * 30,
    }
    found = promtool.firing(text, held, [11, 12, 22, 24, 25, 39])
    who = {minute: {dict(alert)["job"] for alert in alerts} for minute, alerts in found.items()}
    assert who == {11: set(), 12: {"j2"}, 22: {"j2"}, 24: {"j2"}, 25: {"j1", "j2"}, 39: {"j1", "j2"}}
    assert {dict(alert)["no_data"] for alert in found[39]} == {"true"}


def test_missing_data_waits_for_grace(watch: Any, named: Named) -> None:
    silent = job(named)
    found = watch(rule(no_data="alert", grace=1200.0)).fires(silent, range(15, 25))
    assert found == [20, 21, 22, 23, 24]


def test_an_event_fires_while_its_series_is_there(watch: Any, named: Named) -> None:
    failed = {named("job_status", {**JOB, "status": "failed"}): [0.0] * 10 + [1.0, "stale"]}
    event = rule(expr='job_status{status="failed"} == 1', event=True)
    assert watch(event).fires(failed, range(8, 14)) == [10]


def test_half_the_interval_is_twice_the_samples(promtool: Any, make_ruleset: Any) -> None:
    text = export(make_ruleset(rule()), interval=30.0).text
    assert "count_over_time(gpu_utilization[10m]) >= 16" in text
    assert "interval: 30s" in text
    promtool.check(text)
