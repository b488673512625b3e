"""The rule file as a whole: what Prometheus accepts, and what is written beside the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from watchdog.bootstrap import load_rules, starter_rules
from watchdog.config import SourceConfig
from watchdog.export import Note, export, poll_interval
from watchdog.rules.model import Rule, Ruleset

Make = Callable[..., Ruleset]
PLAIN = Rule("A", "source_up == 0", "r.toml:1", labels={"severity": "info"}, summary="down")


def only(text: str) -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(text)["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def test_prometheus_accepts_the_starter_pack_without_a_word(promtool: Any) -> None:
    rules = load_rules(starter_rules())
    exported = export(rules)
    assert "SUCCESS: 15 rules found" in promtool.check(exported.text)
    assert [rule["alert"] for rule in only(exported.text)] == [rule.name for rule in rules.rules]
    assert "Written by `watchdog export prometheus` from rules.example.toml." in exported.text
    kept = ", ".join(rule.name for rule in rules.rules if rule.no_data == "keep" and not rule.event)
    assert exported.notes == (
        Note("", f'No counterpart of no_data = "keep": when their data is missing, these resolve: {kept}.'),
        Note("JobFailed", "event: Prometheus resolves it when the series ends; give its receiver send_resolved: false"),
        Note("JobFailed", "summary: job.error is no metric, so it is never known there"),
    )


def test_a_rule_with_everything(make_ruleset: Make, promtool: Any) -> None:
    rule = replace(
        PLAIN,
        expr="max_over_time(gpu_utilization[10m]) < 0.05",
        for_seconds=90.0,
        keep_firing_for=3600.0,
        no_data="alert",
        description="first\n\n  second of {{ labels.gpu }}\n",
        runbook_url="https://example.com/{{ labels.job }}",
        labels={"severity": "{{ 'critical' if value > 1 else 'info' }}", "team": "x"},
    )
    text = export(make_ruleset(rule, interval=30.0)).text
    assert "SUCCESS: 2 rules found" in promtool.check(text)
    first, missing = only(text)
    assert yaml.safe_load(text)["groups"][0]["interval"] == "30s"
    assert list(first) == ["alert", "expr", "for", "keep_firing_for", "labels", "annotations"]
    assert (first["alert"], first["for"], first["keep_firing_for"]) == ("A", "1m30s", "1h")
    assert first["labels"] == {"severity": "{{ if gt $value 1.0 }}critical{{ else }}info{{ end }}", "team": "x"}
    assert first["annotations"] == {
        "summary": "down",
        "description": "first\n\n  second of {{ $labels.gpu }}",
        "runbook_url": "https://example.com/{{ $labels.job }}",
    }
    assert missing == {
        **first,
        "expr": missing["expr"],
        "labels": {**first["labels"], "no_data": "true"},
        "annotations": {"summary": "A cannot be judged: the data it needs is missing"},
    }
    assert missing["expr"].startswith('max without (status) (job_status{status="running"}) == 1')


def test_what_is_not_carried_over_is_said_above_the_rule_and_to_the_caller(make_ruleset: Make, promtool: Any) -> None:
    rule = replace(
        PLAIN,
        grace=60.0,
        summary="{{ labels.source | truncate(3) }}\nand more",
        description="{% for x in [1] %}{% endfor %}",
        labels={"severity": "{{ labels.a | sort }}", "team": "{{ labels.a[1:] }}"},
    )
    exported = export(make_ruleset(rule))
    promtool.check(exported.text)
    (found,) = only(exported.text)
    assert found["labels"] == {"severity": "warning"}
    assert list(found["annotations"]) == ["summary"]
    assert found["annotations"]["summary"].startswith("A: {{ or $labels.job_name $labels.job ")
    told = [note.text for note in exported.notes if note.rule == "A"]
    assert told == [
        "grace is left out: its alerts name no job",
        "label severity: the filter sort has no counterpart in Prometheus's templates",
        "label severity: warning stands in its place",
        "label team: only labels and facts of the job can be looked up",
        "label team: it is left out",
        "summary: the filter truncate has no counterpart in Prometheus's templates",
        "summary: a built-in text stands in its place; it was: {{ labels.source | truncate(3) }} and more",
        "description: for has no counterpart in Prometheus's templates",
        "description: it is left out; it was: {% for x in [1] %}{% endfor %}",
    ]
    comments = " ".join(line.strip(" #") for line in exported.text.splitlines() if line.startswith("      #"))
    assert all(" ".join(text.split()) in comments for text in told)


def test_a_summary_is_never_blank(make_ruleset: Make) -> None:
    rule = replace(PLAIN, summary="{% if job.error %}{{ job.error }}{% endif %}")
    exported = export(make_ruleset(rule))
    assert only(exported.text)[0]["annotations"]["summary"].startswith("A: {{ or ")
    assert any("a built-in text stands in its place" in note.text for note in exported.notes)


@pytest.mark.parametrize(
    ("interval", "stale_after", "lookback"),
    [(60.0, None, None), (100.0, None, None), (101.0, None, "5m3s"), (60.0, "301s", "5m1s"), (60.0, "5m", None)],
)
def test_samples_that_come_slowly_need_a_longer_look_back(
    make_ruleset: Make, interval: float, stale_after: str | None, lookback: str | None
) -> None:
    source = SourceConfig.model_validate({"name": "s", "type": "t", "stale_after": stale_after})
    notes = export(replace(make_ruleset(PLAIN, interval=interval), sources=(source,))).notes
    found = [note.text for note in notes if "look" in note.text]
    wanted = f"Samples come slowly: start Prometheus with --query.lookback-delta={lookback}."
    assert found == ([] if lookback is None else [wanted])


def test_the_pace_is_that_of_the_fastest_source(make_ruleset: Make) -> None:
    sources = tuple(
        SourceConfig.model_validate({"name": f"s{pace}", "type": "t", "interval": pace}) for pace in (None, "30s", "2m")
    )
    rules = replace(make_ruleset(PLAIN), sources=sources)
    assert poll_interval(rules) == 30.0
    assert "interval: 30s" in export(rules).text
    assert "interval: 15s" in export(rules, 15.0).text
    assert poll_interval(make_ruleset(PLAIN)) == 60.0


def test_a_file_without_rules_that_stand_still_has_no_such_line(make_ruleset: Make) -> None:
    exported = export(replace(make_ruleset(replace(PLAIN, no_data="resolve")), files=()))
    assert exported.notes == ()
    assert "from a rules file." in exported.text
