"""The running service: loop, senders and HTTP server, started and stopped together."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Container, Mapping, Sequence

from watchdog.bootstrap.build import (
    Environment,
    build_engine,
    build_program,
    build_receivers,
    build_sources,
    open_store,
    require,
)
from watchdog.bootstrap.standby import wait_for_lease
from watchdog.delivery import Sender, SenderEvent, SenderThread
from watchdog.engine.engine import Engine
from watchdog.ports import Outbox
from watchdog.rules.model import Ruleset
from watchdog.service import api, report
from watchdog.service.api import explain, v2
from watchdog.service.api.access import Access
from watchdog.service.api.exposition import metrics_route, outbox_families
from watchdog.service.guard import Guard
from watchdog.service.http import HttpServer, make_app, parse_listen
from watchdog.service.loop import Loop, Maintenance
from watchdog.service.memory import tune_collector
from watchdog.service.metrics import Metrics
from watchdog.service.notices import Notices
from watchdog.service.poller import Poller
from watchdog.store import lease_for

log = logging.getLogger("watchdog")

DRAIN_SECONDS = 8.0
"""How long a stop waits for messages under way; Docker kills after 10 s."""
_AT_ONCE = 500
"""Rows that are given up in one transaction."""
KEEP_CLOSED = 7 * 86400.0
"""Seconds for which the store keeps what is over."""


class Service:
    """The running service: loop, senders and HTTP server, started and stopped together."""

    def __init__(self, ruleset: Ruleset, env: Environment) -> None:
        self._env = env
        self._ruleset = ruleset
        require(ruleset, env)
        self._sources = build_sources(ruleset, env)
        self.stop = threading.Event()
        self._lease = lease_for(env.settings.store, time.sleep, self.stop.set)
        self._receivers = build_receivers(ruleset, env, self._lease.check)
        self._store = open_store(env.settings, self._lease)
        self._guard = Guard()
        self._metrics = Metrics()
        self._metrics.receivers(self._receivers)
        self._metrics.loaded(env.clock(), good=True)

    def run(self) -> None:
        """Run until ``stop`` is set, then drain and close; wait as a standby while another instance holds the store."""
        announce(self._ruleset, self._env)
        try:
            if wait_for_lease(self._lease, self.stop, self._env.settings.listen):
                self._run()
                if self._lease.lost:
                    self._lease.check()  # raises, for a non-zero exit status: started again, it is a standby
        finally:
            self._store.close()
            self._lease.release()

    def _run(self) -> None:
        env, ruleset = self._env, self._ruleset
        snapshot = self._store.load()
        engine = build_engine(build_program(ruleset, self._sources), snapshot, env)
        parse_listen(env.settings.listen)  # before anything is started
        park_orphans(self._store, self._receivers, env.clock())
        senders = self._start_senders(self._notices(snapshot.meta))
        loop = self._make_loop(engine, senders)
        http = self._server(loop)
        http.start()
        tune_collector()
        try:
            loop.run()
        finally:
            log.info("stopping: the tick is done, messages under way are finished")
            loop.poller.close()
            deadline = time.monotonic() + (0.0 if self._lease.lost else DRAIN_SECONDS)
            for sender in senders.values():
                sender.finish()
            for sender in senders.values():
                sender.stop(max(0.0, deadline - time.monotonic()))
            http.stop()
            for receiver in self._receivers.values():
                receiver.close()
            log.info("stopped")

    def _server(self, loop: Loop) -> HttpServer:
        """Return the server of everything that is answered by HTTP."""
        env, settings = self._env, self._env.settings
        access = Access(settings.api_token, closed=settings.api_read == "token")
        loop.metrics.watch(loop.health, lambda: outbox_families(self._store, env.clock()), self._guard.count)
        routes = [
            *api.routes(loop.desk, env.clock),
            *explain.routes(loop.desk),
            *v2.routes(loop.desk, env.clock, loop.save, access, env.clock()),
            metrics_route(loop.metrics, loop.desk, env.clock),
        ]
        return HttpServer(make_app(loop.health, loop.period, routes, access), settings.listen)

    def _notices(self, meta: Mapping[str, str]) -> Notices:
        receivers = {config.name: config.send_resolved for config in self._ruleset.receivers}

        def waiting(receiver: str) -> int:
            return self._store.outbox_depth().get(receiver, 0)

        return Notices(receivers, meta, self._store.commit, waiting, self._env.clock)

    def _start_senders(self, notices: Notices) -> dict[str, SenderThread]:
        def on_event(event: SenderEvent) -> None:
            notices.tell(event)  # first: it may fail, and the event is then told again
            report.sender(event)
            self._metrics.sender(event)

        senders = {}
        for name, receiver in self._receivers.items():
            sender = Sender(receiver, self._store, clock=self._env.clock, on_event=on_event)
            senders[name] = SenderThread(sender, guard=self._guard, speed=self._env.speed)
            senders[name].start()
        return senders

    def _make_loop(self, engine: Engine, senders: Mapping[str, SenderThread]) -> Loop:
        env, ruleset = self._env, self._ruleset
        turns = {
            config.name: (self._sources[config.name], config.interval or ruleset.interval) for config in ruleset.sources
        }

        def wake(receivers: Sequence[str]) -> None:
            for name in receivers:
                if name in senders:
                    senders[name].wake()

        def compact() -> None:
            self._store.compact(env.clock(), KEEP_CLOSED)

        shortest = min([ruleset.interval, *(interval for _, interval in turns.values())])
        return Loop(
            engine=engine,
            poller=Poller(turns, env.clock),
            store=self._store,
            clock=env.clock,
            guard=self._guard,
            period=shortest / env.speed,
            wake=wake,
            maintenance=[Maintenance("compact the store", 3600, compact)],
            stop=self.stop,
            metrics=self._metrics,
        )


def park_orphans(outbox: Outbox, receivers: Container[str], now: float) -> None:
    """Give up what waits for receivers that the rules no longer have: nobody would ever send it. Raises StoreError."""
    for name, count, _ in outbox.waiting():
        if name in receivers:
            continue
        while rows := outbox.due(name, math.inf, _AT_ONCE):
            outbox.park([row.notification.id for row in rows], error="receiver removed", now=now)
        log.warning("given up: receiver removed", extra={"receiver": name, "rows": count})


def announce(ruleset: Ruleset, env: Environment) -> None:
    """Log what is watched, by which rules, and where watchdog will speak."""
    log.info("watchdog starts", extra={"rules": len(ruleset.rules), "interval": ruleset.interval})
    for source in ruleset.sources:
        log.info("watching", extra={"source": source.name, "type": source.type})
    for receiver in ruleset.receivers:
        routes = sum(receiver.name in route.receivers for route in ruleset.routes)
        log.info("will speak", extra={"receiver": receiver.name, "type": receiver.type, "routes": routes})
    log.info("state is kept", extra={"store": env.settings.store, "listen": env.settings.listen})


def stop_on_signals(stop: threading.Event) -> None:
    """Set ``stop`` on SIGTERM and SIGINT; a second signal has the default effect."""

    def handle(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
