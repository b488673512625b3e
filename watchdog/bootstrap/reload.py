"""Rules that change while the service runs: looked at every two seconds, checked, and only then put in force."""

from __future__ import annotations

import contextlib
import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path

from watchdog.bootstrap.build import Environment, load_rules
from watchdog.bootstrap.prepare import Prepared, prepare
from watchdog.bootstrap.running import Running
from watchdog.errors import RulesError, StoreError, Unavailable, UsageError
from watchdog.receivers import Pacer
from watchdog.rules import checksum
from watchdog.rules.model import Ruleset
from watchdog.service.guard import Guard
from watchdog.service.health import Health
from watchdog.service.metrics import Metrics
from watchdog.service.rules_watch import RulesWatch

log = logging.getLogger("watchdog")

EVERY = 2.0
"""Seconds between two looks at the file: it is read whole, which works on every kind of mount."""


@dataclass(slots=True)
class InForce:
    """The rules in force, and who runs them: nobody, in a standby."""

    prepared: Prepared
    running: Running | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while either changes."""


class Reloader:
    """Looks at the rules file in a thread of its own, and puts what changed in force. Standbys do so too."""

    def __init__(
        self, path: Path, env: Environment, pacer: Pacer, state: InForce, metrics: Metrics, health: Health
    ) -> None:
        self._path = path
        self._env = env
        self._pacer = pacer
        self._state = state
        self._metrics = metrics
        self._health = health
        self._watch = RulesWatch(state.prepared.ruleset.checksum)
        self._secrets = env.secrets.version()
        self._guard = Guard()
        self._asked = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rules", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def ask(self) -> None:
        """Load the file now, changed or not, and try refusing receivers again; returns at once."""
        self._asked.set()

    def stop(self) -> None:
        """End."""
        self._ending.set()
        self._asked.set()

    def _run(self) -> None:
        while not self._ending.is_set():
            self._asked.wait(EVERY)
            if not self._ending.is_set():
                self._guard("look at the rules file", self.look)

    def look(self) -> None:
        """Load the file if it has changed and holds still, or if that was asked for; say so where it is refused."""
        asked = self._asked.is_set()
        self._asked.clear()
        if self._watch.look(checksum(self._path), asked=asked):
            self._load()
        secrets = self._env.secrets.version()
        running = self._state.running
        if running is not None and (asked or secrets != self._secrets):
            log.info(
                "receivers that refuse messages are tried again", extra={"why": "asked" if asked else "new secret"}
            )
            running.retry_stopped()
        self._secrets = secrets
        if running is not None:
            self._say(running)

    def _load(self) -> None:
        before = self._state.prepared
        try:
            prepared = prepare(load_rules(self._path), self._env, self._pacer, before)
        except (RulesError, UsageError) as error:
            self._refuse(str(error))
            return
        with self._state.lock:
            self._state.prepared, running = prepared, self._state.running
        try:
            if running is not None:
                running.change(prepared)
            else:
                before.close(but=prepared)
        except Unavailable:
            return  # the service is stopping
        note_loaded(prepared.ruleset, self._env.clock(), self._metrics, self._health)
        log.info("other rules are in force", extra=_differences(before.ruleset, prepared.ruleset))

    def _refuse(self, text: str) -> None:
        first, *more = text.splitlines()
        self._health.rules_refused = first + (f" (and {len(more)} more)" if more else "")
        self._metrics.loaded(self._env.clock(), good=False)
        log.error("the rules file is refused; the rules before it stay in force", extra={"error": text})

    def _say(self, running: Running) -> None:
        with contextlib.suppress(StoreError):  # the loop says it; what is to be said is tried again at the next look
            if self._health.rules_refused:
                running.notices.rules_rejected(self._health.rules_refused)
            else:
                running.notices.rules_loaded()


def note_loaded(ruleset: Ruleset, now: float, metrics: Metrics, health: Health) -> None:
    """Let the metrics and ``/healthz`` know which rules are in force."""
    metrics.loaded(now, good=True)
    health.rules_checksum, health.rules_loaded_at, health.rules_refused = ruleset.checksum, now, ""


def _differences(before: Ruleset, after: Ruleset) -> dict[str, object]:
    old, new = ({rule.name: rule for rule in ruleset.rules} for ruleset in (before, after))
    return {
        "rules": len(new),
        "added": ",".join(name for name in new if name not in old),
        "changed": ",".join(name for name in new if name in old and new[name] != old[name]),
        "removed": ",".join(name for name in old if name not in new),
        "sources": len(after.sources),
        "receivers": len(after.receivers),
    }
