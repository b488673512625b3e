"""The service: waits for the store, watches, and takes on rules that change meanwhile."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from watchdog.bootstrap.build import Environment, open_store
from watchdog.bootstrap.prepare import prepare
from watchdog.bootstrap.reload import InForce, Reloader, note_loaded
from watchdog.bootstrap.running import Base, Running
from watchdog.bootstrap.standby import wait_for_lease
from watchdog.heartbeat import VARIABLE, checked
from watchdog.receivers import Pacer
from watchdog.rules.model import Ruleset
from watchdog.service.health import Health
from watchdog.service.metrics import Metrics
from watchdog.store import lease_for

log = logging.getLogger("watchdog")


class Service:
    """The running service, or a standby of it."""

    def __init__(self, ruleset: Ruleset, env: Environment, path: Path | None = None) -> None:
        """With ``path``, where ``ruleset`` came from, changes of it are taken on. Raises UsageError."""
        self.stop = threading.Event()
        self._ruleset = ruleset
        lease = lease_for(env.settings.store, time.sleep, self.stop.set)
        pacer = Pacer(env.clock, env.sleep, lease.check)
        prepared = prepare(ruleset, env, pacer)
        if (url := env.secrets.find(VARIABLE)) is not None:
            checked(url)
        self._base = Base(env, open_store(env.settings, lease), lease, Metrics(), Health(), self.stop)
        self._base.metrics.receivers(prepared.receivers)
        note_loaded(ruleset, env.clock(), self._base.metrics, self._base.health)
        self._state = InForce(prepared)
        self._reloader = (
            None if path is None else Reloader(path, env, pacer, self._state, self._base.metrics, self._base.health)
        )

    def run(self) -> None:
        """Run until ``stop`` is set, then drain and close; wait as a standby while another instance holds the store."""
        base = self._base
        announce(self._ruleset, base.env)
        if self._reloader is not None:
            self._reloader.start()
        try:
            if wait_for_lease(base.lease, self.stop, base.env.settings.listen, base.health):
                with self._state.lock:
                    running = self._state.running = Running(base, self._state.prepared)
                running.run()
                if base.lease.lost:
                    base.lease.check()  # raises, for a non-zero exit status: started again, it is a standby
        finally:
            if self._reloader is not None:
                self._reloader.stop()
            if self._state.running is None:
                self._state.prepared.close()
            base.store.close()
            base.lease.release()

    def reload(self) -> None:
        """Load the rules file now, changed or not; returns at once."""
        if self._reloader is not None:
            self._reloader.ask()


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


def reload_on_hangup(reload: Callable[[], None]) -> None:
    """Call ``reload`` at SIGHUP, where there is such a signal."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: reload())
