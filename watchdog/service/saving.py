"""What the store has not taken yet: kept in memory, as one, and written as soon as the store takes writes again.

Nothing is told that is not written: senders read from the store. So while it cannot be written nothing new is
sent, and nothing is lost unless the process dies meanwhile; what the data then still show is found anew.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from watchdog.errors import LeaseLost, StoreError
from watchdog.model import Changes
from watchdog.ports import Store
from watchdog.service.health import Health

log = logging.getLogger("watchdog.service")

REMIND_SECONDS = 600.0
"""How often the log repeats that the store cannot be written."""


@dataclass(slots=True)
class Saving:
    """Writes changes, or keeps them; says both ends of an outage once. Used by the scheduler thread alone."""

    store: Store
    wake: Callable[[Sequence[str]], None]
    """Called after a commit with the receivers that have something to send."""
    health: Health
    monotonic: Callable[[], float] = time.monotonic
    _kept: Changes = field(default_factory=lambda: Changes(0.0))
    _failing_since: float | None = None
    _said_at: float = 0.0

    def save(self, changes: Changes) -> None:
        """Write ``changes`` and what was kept before; what cannot be written now is kept for the next time.

        Raises LeaseLost: another instance has the store, so nothing can ever be written again.
        """
        self._kept = self._kept.then(changes)
        try:
            self._write(self._kept)
        except LeaseLost:
            raise
        except StoreError as error:
            self._failed(str(error))

    def at_once(self, changes: Changes) -> None:
        """Write ``changes``, after what was kept before, or keep nothing of them. Raises StoreError."""
        self._write(self._kept.then(changes))

    def _write(self, changes: Changes) -> None:
        if not changes.empty:
            self.store.commit(changes)
            self.wake(sorted({row.receiver for row in changes.outbox}))
        if self._failing_since is not None:
            self._recovered(len(changes.outbox))
        self._kept = Changes(changes.at)

    def _failed(self, error: str) -> None:
        now, health = self.monotonic(), self.health
        health.last_commit_failed = error
        health.failed_commits += 1
        health.unwritten = len(self._kept.outbox)
        health.unwritten_since = min((row.created_at for row in self._kept.outbox), default=None)
        if self._failing_since is None:
            self._failing_since = self._said_at = now
            log.error(
                "the store cannot be written: rules are judged on, in memory, and nothing new is sent until it can",
                extra={"error": error},
            )
        elif now - self._said_at >= REMIND_SECONDS:
            self._said_at = now
            minutes = round((now - self._failing_since) / 60)
            log.error(
                "the store still cannot be written",
                extra={"minutes": minutes, "messages_kept": health.unwritten, "error": error},
            )

    def _recovered(self, messages: int) -> None:
        since = self._failing_since or 0.0
        seconds = round(self.monotonic() - since)
        self._failing_since = None
        self.health.last_commit_failed = ""
        self.health.unwritten, self.health.unwritten_since = 0, None
        log.warning("the store takes writes again", extra={"after_seconds": seconds, "messages_written": messages})
