"""A replay as JSON would have it: names of keys are part of the interface (docs/backtest.md)."""

from __future__ import annotations

from typing import Any

from watchdog.replay.compare import Difference
from watchdog.replay.figures import Figures, RuleFigures
from watchdog.replay.ledger import Firing


def figures_as_json(figures: Figures) -> dict[str, Any]:
    """Return everything that a replay says. Times are unix seconds, durations seconds; null is not known or none."""
    extent = figures.extent
    return {
        "start": extent.start,
        "end": extent.end,
        "ticks": figures.ticks,
        "jobs": extent.jobs,
        "series": extent.series,
        "samples": extent.samples,
        "dropped": dict(figures.dropped),
        "total": {
            "firings": len(figures.firings),
            "incidents": figures.incidents,
            "messages": figures.messages,
            "pings": figures.pings,
            "pings_by_receiver": dict(figures.pings_to),
        },
        "rules": [_rule(rule) for rule in figures.rules],
        "alerts": [firing_as_json(firing) for firing in figures.firings],
    }


def difference_as_json(difference: Difference) -> dict[str, Any]:
    """Return what differs: of each rule [first, second], and the alerts that only one has."""
    rules = []
    for first, second in difference.rules:
        one, other = _figures(first), _figures(second)
        changed = {key: [one.get(key), other.get(key)] for key in {**one, **other} if one.get(key) != other.get(key)}
        name = first.rule if first is not None else second.rule if second is not None else ""
        rules += [{"rule": name, "changed": changed}] if changed else []
    return {
        "rules": rules,
        "only_first": [firing_as_json(firing) for firing in difference.only_first],
        "only_second": [firing_as_json(firing) for firing in difference.only_second],
    }


def firing_as_json(firing: Firing) -> dict[str, Any]:
    """Return one alert from onset to end."""
    alert = firing.alert
    return {
        "rule": alert.rule,
        "severity": alert.severity,
        "labels": alert.label_map,
        "source": firing.job.source if firing.job else alert.label_map.get("source", ""),
        "job": firing.job.job if firing.job else None,
        "onset": firing.onset,
        "start": firing.start,
        "delay": firing.start - firing.onset,
        "end": firing.end,
        "end_reason": alert.end_reason or None,
        "value": alert.value,
        "worst": alert.worst,
        "summary": alert.summary,
        "incident": firing.incident or None,
        "pings": firing.pings,
    }


def _rule(rule: RuleFigures) -> dict[str, Any]:
    return {
        "rule": rule.rule,
        "severity": rule.severity,
        **_figures(rule),
        "missing": list(rule.missing),
        "failed_ticks": rule.failed_ticks,
        "error": rule.error or None,
    }


def _figures(rule: RuleFigures | None) -> dict[str, Any]:
    if rule is None:
        return {}
    return {
        "firings": rule.firings,
        "incidents": rule.incidents,
        "pings": rule.pings,
        "delay_median": rule.delay_median,
        "delay_max": rule.delay_max,
        "flaps": rule.flaps,
        "longest": rule.longest,
        "jobs": rule.jobs,
    }
