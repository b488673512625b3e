"""A rule as PromQL for Prometheus: what is added to its expression, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from watchdog.export import export
from watchdog.export.expression import expressions
from watchdog.promql import parse
from watchdog.promql.write import write
from watchdog.rules.model import Rule

RUNS = 'and on (source, job) job_status{status="running"} == 1'
ALERTS = 'ignoring (alertgroup, alertname, alertstate) ALERTS{alertname="A", alertstate="firing"}'


def said(expr: str, step: float = 60.0, **changes: Any) -> tuple[str, str | None, tuple[str, ...]]:
    """The expressions of a rule in one line each."""
    found = expressions(Rule("A", expr, "r.toml:1", **changes), step)
    main, missing = (None if text is None else write(parse(text).root, 10_000) for text in (found.main, found.no_data))
    return main or "", missing, found.notes


NO_DATA: tuple[Literal["alert", "resolve"], ...] = ("alert", "resolve")
CASES: list[tuple[str, dict[str, Any], str]] = [
    # (expression, changes, what Prometheus evaluates)
    ("source_up == 0", {}, "source_up == 0"),
    ("cache_utilization > 0.9", {}, "cache_utilization > 0.9"),
    ("gpu_utilization < 0.05", {}, f"gpu_utilization < 0.05 {RUNS}"),
    ('job_status{status="failed"} == 1', {}, 'job_status{status="failed"} == 1'),
    # coverage
    (
        "cache_utilization > 0.5 and predict_linear(cache_utilization[10m], 60) > 1",
        {},
        (
            "cache_utilization > 0.5 and (predict_linear(cache_utilization[10m], 60) "
            "and count_over_time(cache_utilization[10m]) >= 8) > 1"
        ),
    ),
    ("sum_over_time(cache_utilization[1m]) > 1", {}, "sum_over_time(cache_utilization[1m]) > 1"),
    ("sum_over_time(cache_utilization[10m]) > 1", {"min_coverage": 0.1}, "sum_over_time(cache_utilization[10m]) > 1"),
    ("last_over_time(cache_utilization[10m]) > 1", {}, "last_over_time(cache_utilization[10m]) > 1"),
    ("count_over_time(cache_utilization[10m]) > 1", {}, "count_over_time(cache_utilization[10m]) > 1"),
    (
        "max(max_over_time(cache_utilization[10m] offset 5m)) > 1",
        {},
        (
            "max(max_over_time(cache_utilization[10m] offset 5m) and "
            "count_over_time(cache_utilization[10m] offset 5m) >= 8)"
            " > 1 unless on () count_over_time(cache_utilization[10m] offset 5m) < 8"
        ),
    ),
    (
        "max_over_time(avg_over_time(cache_utilization[5m])[10m:]) > 1",
        {},
        (
            "(max_over_time((avg_over_time(cache_utilization[5m]) and "
            "count_over_time(cache_utilization[5m]) >= 4)[10m:1m])"
            " and count_over_time((avg_over_time(cache_utilization[5m]) and "
            "count_over_time(cache_utilization[5m]) >= 4)"
            "[10m:1m]) >= 8) > 1 unless on (source, project) count_over_time(cache_utilization[5m]) < 4"
        ),
    ),
    (
        "max_over_time(cache_utilization[10m:2m]) > 1",
        {},
        "(max_over_time(cache_utilization[10m:2m]) and count_over_time(cache_utilization[10m:2m]) >= 4) > 1",
    ),
    (
        "1 < -abs(delta(cache_utilization[10m]))",
        {},
        "1 < -abs(delta(cache_utilization[10m]) and count_over_time(cache_utilization[10m]) >= 8)",
    ),
    (
        "source_up == 0 or avg_over_time(source_up[10m]) < 0.5",
        {},
        (
            "(source_up == 0 or (avg_over_time(source_up[10m]) and count_over_time(source_up[10m]) >= 8) < 0.5) "
            "unless on (source) count_over_time(source_up[10m]) < 8"
        ),
    ),
    (
        "source_up * on (source) avg_over_time(source_up[10m]) < 0.5",
        {},
        (
            "source_up * on (source) (avg_over_time(source_up[10m]) and count_over_time(source_up[10m]) >= 8) < 0.5 "
            "unless on (source) count_over_time(source_up[10m]) < 8"
        ),
    ),
    (
        "avg_over_time(source_up[10m]) + source_up < 0.5 unless on (source) source_up",
        {},
        (
            "(avg_over_time(source_up[10m]) and count_over_time(source_up[10m]) >= 8) + source_up < 0.5 "
            "unless on (source) source_up"
        ),
    ),
    # grace
    ("gpu_utilization < 1", {"grace": 900.0}, "gpu_utilization < 1 and on (source, job) job_running_seconds >= 900"),
    (
        "job_pending_seconds > 1",
        {"grace": 900.0},
        "job_pending_seconds > 1 and on (source, job) job_running_seconds >= 900",
    ),
    # clear
    (
        "cache_utilization > 0.9",
        {"clear_expr": "cache_utilization <= 0.8"},
        (
            f"cache_utilization > 0.9 or (cache_utilization and {ALERTS} "
            "unless on (source, project) cache_utilization <= 0.8)"
        ),
    ),
    (
        "0.9 < source_up unless source_poll_seconds > 3",
        {"clear_expr": "sum(source_up) <= 0.8", "labels": {"severity": "x"}},
        (
            "(0.9 < source_up unless source_poll_seconds > 3) or (source_up and "
            'ignoring (alertgroup, alertname, alertstate, severity) ALERTS{alertname="A", alertstate="firing"} '
            "unless on () sum(source_up) <= 0.8)"
        ),
    ),
    (
        "source_up == 0 or source_poll_seconds > 3",
        {"clear_expr": "source_up == 1"},
        (
            "source_up == 0 or source_poll_seconds > 3 or ((source_up or source_poll_seconds) and "
            f"{ALERTS} unless on (source) source_up == 1)"
        ),
    ),
    (
        "gpu_utilization < 1",
        {"clear_expr": "gpu_utilization >= 2", "grace": 60.0},
        (
            "((gpu_utilization < 1 and on (source, job) job_running_seconds >= 60) or (gpu_utilization and "
            f"{ALERTS} unless on (source, project, job, node, gpu) gpu_utilization >= 2)) {RUNS}"
        ),
    ),
]


def normal(text: str) -> str:
    return write(parse(text).root, 10_000)


@pytest.mark.parametrize(("expr", "changes", "wanted"), CASES)
def test_what_prometheus_evaluates(expr: str, changes: dict[str, Any], wanted: str) -> None:
    assert said(expr, **changes) == (normal(wanted), None, ())


def test_prometheus_accepts_all_of_them(promtool: Any, make_ruleset: Any) -> None:
    rules = [
        replace(Rule(f"A{number}{no_data}", expr, "r.toml:1", summary="a", no_data=no_data), **changes)
        for number, (expr, changes, _) in enumerate(CASES)
        for no_data in NO_DATA
    ]
    promtool.check(export(make_ruleset(*rules)).text)


@pytest.mark.parametrize(
    ("coverage", "step", "needed"),
    [(0.8, 60.0, 8), (0.75, 60.0, 8), (0.81, 60.0, 9), (1.0, 60.0, 10), (0.8, 30.0, 16), (0.8, 300.0, 2)],
)
def test_the_samples_that_a_window_must_hold(coverage: float, step: float, needed: int) -> None:
    main, _, _ = said("sum_over_time(source_up[10m]) > 1", step, min_coverage=coverage)
    assert f">= {needed})" in main


@pytest.mark.parametrize(
    ("expr", "changes", "note"),
    [
        ("cache_utilization > 0.9", {"grace": 60.0}, "grace is left out: its alerts name no job"),
        ("sum(gpu_utilization) > 0.9", {"grace": 60.0}, "grace is left out: its alerts name no job"),
        ("absent(source_up)", {"clear_expr": "source_up"}, "clear_expr is left out: no comparison stands at the top"),
        ("source_up > bool 1", {"clear_expr": "source_up"}, "clear_expr is left out: no comparison stands at the top"),
        ("source_up + 1", {"clear_expr": "source_up"}, "clear_expr is left out: no comparison stands at the top"),
        (
            "source_up > 1 or absent(source_up)",
            {"clear_expr": "source_up"},
            "clear_expr is left out: no comparison stands at the top",
        ),
        ("cache_utilization > 1", {"no_data": "alert"}, 'no_data = "alert" is left out: what it reads does not belong'),
        ("absent(job_gpus)", {"no_data": "alert"}, 'no_data = "alert" is left out: what it reads does not belong'),
    ],
)
def test_what_cannot_be_said_is_told(expr: str, changes: dict[str, Any], note: str) -> None:
    main, missing, notes = said(expr, **changes)
    assert (main, missing) == (normal(expr), None)
    assert len(notes) == 1
    assert notes[0].startswith(note)


@pytest.mark.parametrize(
    ("expr", "changes", "wanted"),
    [
        ("job_gpus > 1", {}, "unless on (source, job) count by (source, job) (job_gpus)"),
        (
            "avg_over_time(gpu_utilization[10m]) < 1 unless cpu_utilization > 1",
            {},
            "unless on (source, job) min by (source, job) (count_over_time(gpu_utilization[10m])) >= 8",
        ),
        (
            "job_gpus > 1 and job_running_seconds > 1 and job_gpus > 2",
            {"grace": 60.0},
            (
                "and on (source, job) job_running_seconds >= 60 unless on (source, job) (count by "
                "(source, job) (job_gpus)"
                " and on (source, job) count by (source, job) (job_running_seconds))"
            ),
        ),
    ],
)
def test_jobs_whose_data_is_missing(expr: str, changes: dict[str, Any], wanted: str) -> None:
    _, missing, notes = said(expr, no_data="alert", **changes)
    assert missing == normal(f'max without (status) (job_status{{status="running"}}) == 1 {wanted}')
    assert notes == ()


def test_an_alert_of_missing_data_does_not_hold_up_the_other() -> None:
    main, _, _ = said("job_gpus > 9", no_data="alert", clear_expr="job_gpus < 5")
    assert 'ALERTS{alertname="A", alertstate="firing", no_data=""}' in main
