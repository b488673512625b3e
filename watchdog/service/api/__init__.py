"""Prometheus's HTTP API on the history of the service, for Grafana, ``promtool query`` and ``watchdog query``.

Facts: Prometheus's page "HTTP API"; what Grafana's data source of the kind Prometheus asks at "Save & test"
(a query, the build) and in Explore (labels, values, series, metadata, exemplars, queries).
"""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from watchdog.engine.engine import Engine
from watchdog.ports import Clock
from watchdog.service.api import about
from watchdog.service.api.questions import Questions
from watchdog.service.api.replies import endpoint
from watchdog.service.api.rules import Rules
from watchdog.service.desk import Desk

__all__ = ["routes"]


def routes(desk: Desk[Engine], clock: Clock) -> list[BaseRoute]:
    """Return the routes below ``/api/v1``; all of them only read."""
    ask, rules = Questions(desk, clock), Rules(desk, clock)
    handlers = {
        "query": ask.query,
        "query_range": ask.query_range,
        "query_exemplars": about.exemplars,
        "series": ask.series,
        "labels": ask.labels,
        "label/{name}/values": ask.label_values,
        "metadata": about.metadata,
        "status/buildinfo": about.build,
        "rules": rules.rules,
        "alerts": rules.alerts,
    }
    return [Route(f"/api/v1/{path}", endpoint(handler), methods=["GET", "POST"]) for path, handler in handlers.items()]
