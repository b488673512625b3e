"""Prometheus's ``/api/v1/rules`` and ``/api/v1/alerts``: the rules and their alerts as they are now."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from watchdog.alerts.program import CompiledRule
from watchdog.engine.engine import Engine
from watchdog.model import Alert, AlertState
from watchdog.ports import Clock
from watchdog.promql.prometheus_json import format_value
from watchdog.service.api.forms import Form
from watchdog.service.api.replies import success
from watchdog.service.api.times import rfc3339
from watchdog.service.desk import Desk

GROUP = "watchdog"
_RANK = {"inactive": 0, "pending": 1, "firing": 2}


class Rules:
    """One method per endpoint."""

    def __init__(self, desk: Desk[Engine], clock: Clock) -> None:
        self._desk = desk
        self._clock = clock

    async def alerts(self, form: Form) -> Response:
        """Return pending and firing alerts."""
        found = await self._desk.ask(
            lambda engine: [_alert(alert) for alert in engine.judge.alerts.values()], form.timeout()
        )
        return success({"alerts": found})

    async def rules(self, form: Form) -> Response:
        """Return all rules in one group, with their alerts; ``type=record`` has none."""
        groups = await self._desk.ask(self._groups, form.timeout())
        kind, names = form.text("type"), form.all("rule_name[]")
        for group in groups:
            kept = [rule for rule in group["rules"] if not names or rule["name"] in names]
            group["rules"] = [] if kind == "record" else kept
        return success({"groups": groups})

    def _groups(self, engine: Engine) -> list[dict[str, Any]]:
        failures = engine.last.failures if engine.last is not None else {}
        alerts: dict[str, list[Alert]] = {}
        for alert in engine.judge.alerts.values():
            alerts.setdefault(alert.rule, []).append(alert)
        rules = [
            _rule(rule, alerts.get(rule.rule.name, []), failures.get(rule.rule.name, ""))
            for rule in engine.program.rules
        ]
        return [
            {
                "name": GROUP,
                "file": "rules",
                "interval": engine.program.interval,
                "limit": 0,
                "evaluationTime": 0,
                "lastEvaluation": rfc3339(engine.last_at if engine.last_at is not None else self._clock()),
                "rules": rules,
            }
        ]


def _rule(rule: CompiledRule, alerts: list[Alert], error: str) -> dict[str, Any]:
    state = max((alert.state.value for alert in alerts), key=_RANK.__getitem__, default="inactive")
    terms = rule.rule
    texts = {"summary": terms.summary, "description": terms.description, "runbook_url": terms.runbook_url}
    return {
        "type": "alerting",
        "name": terms.name,
        "query": terms.expr,
        "duration": terms.for_seconds,
        "keepFiringFor": terms.keep_firing_for,
        "labels": dict(terms.labels),
        "annotations": {name: text for name, text in texts.items() if text},
        "alerts": [_alert(alert) for alert in alerts],
        "health": "err" if error else "ok",
        **({"lastError": error} if error else {}),
        "state": state,
        "evaluationTime": 0,
        "lastEvaluation": rfc3339(max((alert.last_seen_at or alert.active_at for alert in alerts), default=0.0)),
    }


def _alert(alert: Alert) -> dict[str, Any]:
    texts = {"summary": alert.summary, "description": alert.description, "runbook_url": alert.runbook_url}
    kept = alert.keep_firing_since
    return {
        "labels": alert.label_map,
        "annotations": {name: text for name, text in texts.items() if text},
        "state": alert.state.value if alert.state is not AlertState.INACTIVE else "inactive",
        "activeAt": rfc3339(alert.active_at),
        **({} if kept is None else {"keepFiringSince": rfc3339(kept)}),
        "value": "NaN" if alert.value is None else format_value(alert.value),
    }
