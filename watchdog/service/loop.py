"""The scheduler thread: one tick after the other, until told to stop.

The tick keeps its own pace on a monotonic clock, so that neither a clock jump nor summer time stalls it;
``schedule`` runs the slow jobs beside it. Ticks never queue: one that comes late skips what it missed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import schedule

from watchdog.engine.engine import Engine, TickResult
from watchdog.model import Poll
from watchdog.ports import Clock, Store
from watchdog.service import report
from watchdog.service.clockwatch import ClockWatch, Reading
from watchdog.service.desk import Desk
from watchdog.service.guard import Guard
from watchdog.service.health import Health
from watchdog.service.memory import collect_sometimes
from watchdog.service.metrics import Metrics
from watchdog.service.poller import Poller
from watchdog.service.saving import Saving

log = logging.getLogger("watchdog.service")


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A slow job beside the ticks."""

    name: str
    every_seconds: int
    run: Callable[[], None]


@dataclass(slots=True)
class Loop:
    """Runs ticks: poll, evaluate, commit, wake the senders."""

    engine: Engine
    poller: Poller
    store: Store
    clock: Clock
    guard: Guard
    period: float
    """Real seconds between ticks."""
    wake: Callable[[Sequence[str]], None]
    """Called after a commit with the receivers that have something to send."""
    maintenance: Sequence[Maintenance] = ()
    health: Health = field(default_factory=Health)
    metrics: Metrics = field(default_factory=Metrics)
    stop: threading.Event = field(default_factory=threading.Event)
    on_tick: Callable[[TickResult], None] | None = None
    after_good_tick: Callable[[], None] = lambda: None
    """Called when a tick has come to its end and everything is written."""
    clocks: Callable[[], Reading] | None = None
    """What tells whether ``clock`` was set, and whether the ticks stood still; None: nobody looks."""
    clockwatch: ClockWatch = field(default_factory=ClockWatch)
    desk: Desk[Engine] = field(init=False)
    """Where other threads ask; it answers between ticks."""
    saving: Saving = field(init=False)

    def __post_init__(self) -> None:
        self.desk = Desk(self.guard)
        self.saving = Saving(self.store, self.wake, self.health)

    def run(self) -> None:
        """Tick until ``stop`` is set. Returns after the tick under way."""
        try:
            self._run()
        finally:
            self.desk.close()

    def _run(self) -> None:
        scheduler = schedule.Scheduler()
        for job in self.maintenance:
            scheduler.every(job.every_seconds).seconds.do(self.guard, job.name, job.run)
        due = time.monotonic()
        while not self.stop.is_set():
            self.guard("tick", self.tick)
            scheduler.run_pending()
            due = self._next_due(due)
            self.desk.serve(self.engine, due, self.stop)

    def tick(self) -> None:
        """Poll, judge, commit."""
        started = time.monotonic()
        self._look_at_clocks()
        self.poller.start(self.clock(), self.engine.request)
        polls = self.poller.collect(min(20.0, self.period / 2), self.stop.is_set)
        self.take(polls)
        self.health.last_tick = time.monotonic()
        self.health.ticks += 1
        if not self.health.last_commit_failed:
            self.after_good_tick()
        collect_sometimes(self.health.ticks)
        log.debug("tick", extra={"seconds": self.health.last_tick - started})

    def take(self, polls: Sequence[Poll]) -> TickResult:
        """Run the engine on finished polls and commit; ``now`` is read here, once."""
        began = time.monotonic()
        result = self.engine.tick(self.clock(), polls)
        self.saving.save(result.changes)
        report.tick(result, polls, self.engine)
        self.metrics.tick(result, polls, self.engine, time.monotonic() - began)
        self._take_stock()
        if self.on_tick is not None:
            self.on_tick(result)
        return result

    def _look_at_clocks(self) -> None:
        """Say that the clock was set, or that nothing was judged for a while: then go on as after a restart."""
        found = None if self.clocks is None else self.clockwatch.look(self.clocks(), self.period)
        if found is not None:
            report.interruption(found)
            self.metrics.interruption(found)
            if found.unwatched:
                self.engine.resume(found.unwatched, self.clock())

    def _take_stock(self) -> None:
        engine = self.engine
        self.health.jobs = len(engine.registry.active())
        self.health.firing = sum(len(incident.members) for incident in engine.book.incidents)
        self.health.sources_down = tuple(state.info.name for state in engine.sources if not state.up)

    def _next_due(self, due: float) -> float:
        missed = int((time.monotonic() - due) // self.period)
        if missed > 0:
            self.health.missed_ticks += missed
            log.warning("ticks were missed", extra={"missed": missed, "interval": self.period})
        return due + (missed + 1) * self.period
