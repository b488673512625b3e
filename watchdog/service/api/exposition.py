"""``/metrics``: watchdog's own health, and the newest sample of every series, in Prometheus's text format."""

from __future__ import annotations

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from watchdog.engine.engine import Engine
from watchdog.errors import StoreError, Unavailable
from watchdog.ports import Clock, Outbox
from watchdog.service.desk import Desk
from watchdog.service.metrics import Metrics
from watchdog.service.snapshot import Family, newest, text_of

PATIENCE = 8.0
"""Seconds to wait for the scheduler thread; Prometheus itself waits for 10."""


def metrics_route(metrics: Metrics, desk: Desk[Engine], clock: Clock) -> Route:
    """Return the route. When the scheduler thread is busy, or stuck, watchdog's own health is told all the same."""

    async def answer(_: Request) -> Response:
        own = await run_in_threadpool(metrics.text)
        try:
            snapshot = await desk.ask(lambda engine: newest(engine, clock()), PATIENCE)
        except Unavailable:
            snapshot = []
        body = own + await run_in_threadpool(text_of, snapshot)
        return Response(body, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return Route("/metrics", answer)


def outbox_families(outbox: Outbox, now: float, unwritten_since: float | None = None) -> list[Family]:
    """Return how many transitions wait, and since when the oldest does; nothing while the store cannot be read.

    ``unwritten_since``: the time of the oldest one that the store has not taken yet.
    """
    try:
        rows = outbox.waiting()
    except StoreError:
        return []
    times = [since for _, _, since in rows] + ([] if unwritten_since is None else [unwritten_since])
    oldest = max((now - since for since in times), default=0.0)
    pending = [((receiver,), float(count)) for receiver, count, _ in rows]
    ages = [((receiver,), now - since) for receiver, _, since in rows]
    return [
        Family("watchdog_outbox_pending", "Transitions that wait for delivery.", ["receiver"], pending),
        Family("watchdog_outbox_oldest_undelivered_age_seconds", "Age of the oldest that waits.", ["receiver"], ages),
        Family(
            "watchdog_oldest_undelivered_transition_age_seconds",
            "The same over all receivers; 0 if none waits.",
            [],
            [((), oldest)],
        ),
    ]
