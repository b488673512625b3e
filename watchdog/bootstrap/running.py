"""The instance that watches: loop, senders and HTTP server, started and stopped together; its rules may change."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from watchdog.bootstrap.build import Environment, build_engine
from watchdog.bootstrap.prepare import Prepared
from watchdog.delivery import Sender, SenderEvent, SenderThread
from watchdog.engine.engine import Engine
from watchdog.heartbeat import VARIABLE, Heartbeat
from watchdog.model import Changes
from watchdog.ports import Outbox, Receiver
from watchdog.service import api, report
from watchdog.service.api import explain, v2
from watchdog.service.api.access import Access
from watchdog.service.api.exposition import metrics_route, outbox_families
from watchdog.service.clockwatch import reader
from watchdog.service.guard import Guard
from watchdog.service.health import Health
from watchdog.service.http import HttpServer, make_app, parse_listen
from watchdog.service.loop import Loop, Maintenance
from watchdog.service.memory import tune_collector
from watchdog.service.metrics import Metrics
from watchdog.service.notices import Notices
from watchdog.service.poller import Poller
from watchdog.store import Lease, SqlStore

log = logging.getLogger("watchdog")

DRAIN_SECONDS = 8.0
"""How long a stop waits for messages under way; Docker kills after 10 s."""
_AT_ONCE = 500
"""Rows that are given up in one transaction."""
KEEP_CLOSED = 7 * 86400.0
"""Seconds for which the store keeps what is over."""


@dataclass(frozen=True, slots=True)
class Base:
    """What outlives a change of the rules."""

    env: Environment
    store: SqlStore
    lease: Lease
    metrics: Metrics
    health: Health
    stop: threading.Event


class Running:
    """Everything that the holder of the store runs."""

    def __init__(self, base: Base, prepared: Prepared) -> None:
        """Load the state. Raises StoreError; UsageError for an address that cannot be listened at."""
        parse_listen(base.env.settings.listen)  # before anything is started
        self._base = base
        self._prepared = prepared
        self._guard = Guard()
        snapshot = base.store.load()
        self.notices = Notices(_wants_ends(prepared), snapshot.meta, self._commit, self._waiting, base.env.clock)
        self.notices.settle()
        self._senders: dict[str, SenderThread] = {}
        self._heartbeat = Heartbeat(lambda: base.env.secrets.find(VARIABLE), base.metrics.heartbeat)
        self._loop = self._make_loop(build_engine(prepared.program, snapshot, base.env))
        self._http = self._server()

    def run(self) -> None:
        """Watch until told to stop; then drain."""
        park_orphans(self._base.store, self._prepared.receivers, self._base.env.clock())
        for name, receiver in self._prepared.receivers.items():
            self._start_sender(name, receiver)
        self._http.start()
        self._heartbeat.start()
        tune_collector()
        try:
            self._loop.run()
        finally:
            log.info("stopping: the tick is done, messages under way are finished")
            self._heartbeat.stop()
            self._loop.poller.close()
            deadline = time.monotonic() + (0.0 if self._base.lease.lost else DRAIN_SECONDS)
            senders = list(self._senders.values())
            for sender in senders:
                sender.finish()
            for sender in senders:
                sender.stop(max(0.0, deadline - time.monotonic()))
            self._http.stop()
            log.info("stopped")

    def change(self, prepared: Prepared) -> None:
        """Put other rules in force between two ticks; returns when they are. Raises Unavailable at a stop."""
        self._loop.desk.put(lambda engine: self._change(engine, prepared)).result()

    def retry_stopped(self) -> None:
        """Try receivers that refuse everything again now: what they refused may have been repaired."""
        for sender in list(self._senders.values()):
            sender.reset()

    def wake(self, receivers: Sequence[str]) -> None:
        """Tell these receivers' senders that something waits."""
        for name in receivers:
            if (sender := self._senders.get(name)) is not None:
                sender.wake()

    def _change(self, engine: Engine, prepared: Prepared) -> None:
        """Swap everything; in the scheduler thread, which owns it. Nothing here may fail half-way."""
        before, self._prepared = self._prepared, prepared
        engine.change(prepared.program, self._base.env.clock())
        self._loop.poller.change(prepared.turns())
        self._loop.period = self._period()
        self._base.metrics.receivers(prepared.receivers)
        self.notices.receivers = _wants_ends(prepared)
        for name in set(before.receivers) - set(prepared.receivers):
            self._senders.pop(name).stop(0.0)  # it closes its receiver when it ends
        for name, receiver in prepared.receivers.items():
            if name not in before.receivers:
                self._start_sender(name, receiver)
            elif receiver is not before.receivers[name]:
                self._senders[name].replace(receiver)
        self._guard("give up what nobody sends", self._tidy)

    def _tidy(self) -> None:
        park_orphans(self._base.store, self._prepared.receivers, self._base.env.clock())
        self.notices.settle()

    def _compact(self) -> None:
        self._tidy()
        self._base.store.compact(self._base.env.clock(), KEEP_CLOSED)

    def _commit(self, changes: Changes) -> None:
        self._base.store.commit(changes)
        self.wake(sorted({row.receiver for row in changes.outbox}))

    def _waiting(self, receiver: str) -> int:
        return self._base.store.outbox_depth().get(receiver, 0)

    def _period(self) -> float:
        """Return real seconds between ticks."""
        ruleset = self._prepared.ruleset
        shortest = min([ruleset.interval, *(interval for _, interval in self._prepared.turns().values())])
        return shortest / self._base.env.speed

    def _start_sender(self, name: str, receiver: Receiver) -> None:
        def on_event(event: SenderEvent) -> None:
            self.notices.tell(event)  # first: it may fail, and the event is then told again
            report.sender(event)
            self._base.metrics.sender(event)

        env = self._base.env
        sender = Sender(receiver, self._base.store, clock=env.clock, on_event=on_event)
        self._senders[name] = SenderThread(sender, guard=self._guard, speed=env.speed)
        self._senders[name].start()

    def _make_loop(self, engine: Engine) -> Loop:
        base = self._base
        beats = base.env.secrets.find(VARIABLE) is not None
        return Loop(
            engine=engine,
            poller=Poller(self._prepared.turns(), base.env.clock),
            store=base.store,
            clock=base.env.clock,
            clocks=reader(base.env.clock) if base.env.speed == 1.0 else None,
            guard=self._guard,
            period=self._period(),
            wake=self.wake,
            maintenance=[Maintenance("compact the store", 3600, self._compact)],
            health=base.health,
            stop=base.stop,
            metrics=base.metrics,
            after_good_tick=self._heartbeat.beat if beats else lambda: None,
        )

    def _server(self) -> HttpServer:
        """Return the server of everything that is answered by HTTP."""
        env, loop, metrics = self._base.env, self._loop, self._base.metrics
        access = Access(env.settings.api_token, closed=env.settings.api_read == "token")
        metrics.watch(
            loop.health,
            lambda: outbox_families(self._base.store, env.clock(), loop.health.unwritten_since),
            self._guard.count,
        )
        routes = [
            *api.routes(loop.desk, env.clock),
            *explain.routes(loop.desk),
            *v2.routes(loop.desk, env.clock, loop.saving.at_once, access, env.clock()),
            metrics_route(metrics, loop.desk, env.clock),
        ]
        return HttpServer(make_app(loop.health, lambda: loop.period, routes, access), env.settings.listen)


def park_orphans(outbox: Outbox, receivers: Container[str], now: float) -> None:
    """Give up what waits for receivers that the rules no longer have: nobody would ever send it. Raises StoreError."""
    for name, count, _ in outbox.waiting():
        if name in receivers:
            continue
        while rows := outbox.due(name, math.inf, _AT_ONCE):
            outbox.park([row.notification.id for row in rows], error="receiver removed", now=now)
        log.warning("given up: receiver removed", extra={"receiver": name, "rows": count})


def _wants_ends(prepared: Prepared) -> Mapping[str, bool]:
    return {config.name: config.send_resolved for config in prepared.ruleset.receivers}
