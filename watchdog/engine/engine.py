"""One tick, top to bottom: take in, judge, tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from uuid import uuid4

from watchdog.alerts.evaluation import Context
from watchdog.alerts.judge import Judge, Judgement
from watchdog.engine.program import Program
from watchdog.engine.trace import Trace
from watchdog.history import History, SeriesPoints
from watchdog.incidents.book import Book
from watchdog.jobs.registry import JobChanges, Registry
from watchdog.jobs.series import STATE_SERIES, job_samples, over, source_samples
from watchdog.jobs.sources import Sources
from watchdog.model import (
    Alert,
    AlertState,
    Changes,
    JobKey,
    JobReading,
    JobRecord,
    Notification,
    OwnRow,
    Poll,
    PollRequest,
    Snapshot,
)
from watchdog.muting import Mutes, Silences

KEEP_ENDED_JOBS = 7 * 86400.0
"""Seconds for which the end of a job is remembered, so that it is not announced again."""


@dataclass(frozen=True, slots=True)
class TickResult:
    """What one tick did: the changes to commit, and what the log and the metrics want to know."""

    changes: Changes
    started: tuple[JobRecord, ...] = ()
    ended: tuple[JobRecord, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    """Rules that could not be evaluated, and why."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Points left out, by reason."""

    @property
    def notifications(self) -> tuple[Notification, ...]:
        """What was put into the outbox."""
        return self.changes.outbox


class Engine:
    """History, jobs, alerts and incidents of one process. Owned by one thread; reads no clock."""

    def __init__(
        self, program: Program, snapshot: Snapshot, now: float, new_id: Callable[[], str] = lambda: str(uuid4())
    ) -> None:
        self.program = program
        self.history = History(retention=program.window)
        self.registry = Registry(snapshot.jobs)
        self.sources = Sources(program.sources, now)
        down = 0.0 if snapshot.at is None else max(0.0, now - snapshot.at)
        self.judge = Judge(program.rules, [_resumed(alert, down, now) for alert in snapshot.alerts])
        self.book = Book(program.terms, snapshot.incidents, snapshot.alerts)
        self.silences = Silences(snapshot.silences, new_id)
        self.last: Judgement | None = None
        self.last_at: float | None = None
        """When rules were last judged."""
        self.trace = Trace()
        self._read_before: set[JobKey] = set()
        self._backfilled: frozenset[JobKey] = frozenset()
        """Jobs whose samples were read for the first time in this process, and which no tick has judged since."""
        self._new_rules: frozenset[str] = frozenset()
        """Rules that came with the last change and have not been judged on all of the past that they need."""
        self._to_refill: set[JobKey] = set()
        """Jobs whose history is shorter than the rules now need."""
        self._changed_at = now
        self._unfinished = JobChanges(tuple(self._drop_unconfigured(now)))
        """What became of jobs and no tick has returned yet: of the start, or of ticks that failed."""
        self._again: tuple[Poll, ...] = ()
        """The polls of the last tick, if it failed to take them in: some ends are told once by their source."""
        self._active = self._active_now()
        """The jobs that ran after the last tick that did not fail."""
        self._over: tuple[JobRecord, ...] = ()
        """Ended jobs of which that tick has said everything: the next one forgets their samples."""

    def request(self, source: str, now: float) -> PollRequest:
        """Return what to ask of a source now: backfill what the history does not hold yet."""
        watched = self.registry.watched(source, self._newest)
        return PollRequest(now=now, watched=watched, window=self.program.window)

    def _newest(self, key: JobKey) -> float | None:
        return None if key in self._to_refill else self.history.newest_of_job(key.source, key.job)

    def change(self, program: Program, now: float) -> None:
        """Go on with other rules, routes and sources, as a restart would, and without its loss of memory.

        Alerts, timers and incidents of rules that stay are as they were. The next tick closes what is gone,
        and judges new rules on the past that is there; where that is too short, it is read again.
        """
        before = {rule.rule.name: rule.rule for rule in self.program.rules}
        new = {rule.rule.name for rule in program.rules if before.get(rule.rule.name) != rule.rule}
        if program.window > self.program.window:
            self._to_refill = {record.job.key for record in self.registry.active()}
        self._changed_at = now
        self._new_rules = (self._new_rules | new) & {rule.rule.name for rule in program.rules}
        self.program = program
        self.history.retention = program.window
        self.judge.replace_rules(program.rules)
        self.book.terms = program.terms
        self.sources.configure(program.sources, now)
        self._unfinished = self._unfinished.then(JobChanges(tuple(self._drop_unconfigured(now))))

    def resume(self, down: float, now: float) -> None:
        """Go on after ``down`` seconds in which nothing was judged (a suspended machine), as after a restart."""
        self.judge = Judge(self.judge.rules, [_resumed(alert, down, now) for alert in self.judge.alerts.values()])

    def tick(self, now: float, polls: Sequence[Poll]) -> TickResult:
        """Take in finished polls, judge every rule, and return what changed. Deterministic.

        Of a tick that raises nothing stays that was decided: the next one finds the same changes, and says them.
        """
        again, self._again = self._again, tuple(polls)
        polls = (*again, *polls)
        self._forget_over()
        self.sources.apply(polls, now)
        registry = self.registry.copy()
        jobs = self._unfinished.then(registry.apply(polls, now))
        dropped = self._ingest(polls, {record.job.key for record in jobs.read}, now)
        self._write_own(jobs, registry.untold(), now)
        self._note_backfilled(polls)
        self.registry, self._unfinished, self._again = registry, jobs, ()
        with ExitStack() as undo:
            undo.callback(self._undo, self.judge.copy(), self.book.copy(), self.silences.copy(), self.registry.copy())
            result = self._decide(jobs, dropped, now)
            undo.pop_all()
        return result

    def _undo(self, judge: Judge, book: Book, silences: Silences, registry: Registry) -> None:
        self.judge, self.book, self.silences, self.registry = judge, book, silences, registry

    def _decide(self, jobs: JobChanges, dropped: Mapping[str, int], now: float) -> TickResult:
        judgement = self.judge.judge(self._context(now))
        over = self.silences.end_with([record.job.key for record in jobs.ended], now)
        told = self.book.tell(judgement.changed, self.registry, now, self.mutes(now))
        judged = [r.job.key for r in self.registry.untold() if r.job.key not in judgement.untold]
        self.registry.told(judged)
        keys = dict.fromkeys([*(r.job.key for r in jobs.changed), *judged])
        records = tuple(record for key in keys if (record := self.registry.get(key)) is not None)
        self._tidy(now)
        changes = Changes(
            at=now,
            jobs=records,
            alerts=judgement.changed,
            forgotten_alerts=judgement.forgotten,
            incidents=told.incidents,
            outbox=told.notifications,
            silences=tuple(over),
        )
        started = tuple(record for record in jobs.changed if record.active and record.job.key not in self._active)
        self.trace.record([rule.rule.name for rule in self.program.rules], judgement, self.judge.alerts.values(), now)
        self._settle(judgement, records, now)
        return TickResult(changes, started, jobs.ended, judgement.failures, dropped)

    def _settle(self, judgement: Judgement, records: Iterable[JobRecord], now: float) -> None:
        """Note that this tick has come to its end. Nothing here can fail."""
        self.last, self.last_at = judgement, now
        self._over = tuple(record for record in records if not record.active and not record.end_untold)
        self._unfinished, self._active, self._backfilled = JobChanges(), self._active_now(), frozenset()
        self._to_refill &= self._active
        self._new_rules = self._new_rules if self._to_refill else frozenset()

    def _active_now(self) -> frozenset[JobKey]:
        return frozenset(record.job.key for record in self.registry.active())

    def _ingest(self, polls: Iterable[Poll], live: Collection[JobKey], now: float) -> dict[str, int]:
        """Take in the samples of jobs that live; a job that ended earlier may be listed for ever."""
        dropped: dict[str, int] = {}
        for poll in polls:
            state = self.sources.get(poll.source)
            if state is None:
                continue
            batch = [item for reading in poll.readings if reading.job.key in live for item in _series(reading)]
            report = self.history.ingest(batch, state.info.step, now)
            for counts in (report.dropped, *(reading.dropped for reading in poll.readings)):
                for reason, count in counts.items():
                    dropped[reason] = dropped.get(reason, 0) + count
        return dropped

    def _write_own(self, jobs: JobChanges, untold: Iterable[JobRecord], now: float) -> None:
        rows: dict[float, list[OwnRow]] = {self.program.interval: list(source_samples(self.sources))}
        changed = {record.job.key for record in jobs.changed}
        for record in {r.job.key: r for r in (*jobs.read, *untold)}.values():
            job = record.job
            for metric in STATE_SERIES if job.key in changed else ():
                if over(metric, job.status):
                    self.history.forget({"__name__": metric, "source": job.source, "job": job.job})
            state = self.sources.get(job.source)
            step = self.program.interval if state is None else state.info.interval
            newest = self.history.newest_of_job(job.source, job.job)
            rows.setdefault(step, []).extend(job_samples(record, newest, now))
        for step, found in rows.items():
            self.history.put_many(found, now, step)

    def _drop_unconfigured(self, now: float) -> list[JobRecord]:
        """End the jobs of sources that the rules file names no more; nothing else would ever end them."""
        gone = {r.job.source for r in self.registry.active() if self.sources.get(r.job.source) is None}
        return [record for source in sorted(gone) for record in self.registry.drop_source(source, now)]

    def _note_backfilled(self, polls: Iterable[Poll]) -> None:
        """Note the jobs whose samples were read for the first time in this process."""
        keys = {reading.job.key for poll in polls for reading in poll.readings if reading.points}
        self._to_refill -= {
            reading.job.key
            for poll in polls
            if poll.started_at >= self._changed_at  # one that was under way asked for the old window
            for reading in poll.readings
            if reading.points
        }
        self._backfilled |= keys - self._read_before
        self._read_before |= keys

    def _context(self, now: float) -> Context:
        return Context(
            storage=self.history,
            registry=self.registry,
            sources=self.sources,
            now=now,
            interval=self.program.interval,
            lookback=self.program.lookback,
            retention=self.history.retention,
            backfilled=self._backfilled,
            new_rules=self._new_rules,
        )

    def mutes(self, now: float) -> Mutes:
        """Return everything that mutes now."""
        firing = [alert.label_map for alert in self.judge.alerts.values() if alert.state is AlertState.FIRING]
        terms = self.program.terms
        return Mutes(self.silences, terms.inhibits, terms.mute_times, firing, now)

    def _forget_over(self) -> None:
        """Forget the samples of jobs that are over; not before it is certain that they need no judging again."""
        for record in self._over:
            self.history.forget({"source": record.job.source, "job": record.job.job})
            self._read_before.discard(record.job.key)
        self._over = ()

    def _tidy(self, now: float) -> None:
        self.history.trim(now)
        self.registry.forget(now - KEEP_ENDED_JOBS)
        self.silences.forget(now)


def _resumed(alert: Alert, down: float, now: float) -> Alert:
    """Return an alert as it goes on after ``down`` seconds in which nothing was judged.

    Whether a job's condition held meanwhile is seen in the past that is read again. Of what belongs to no job
    (a source, a cache) there is no such past: the time does not count toward ``for``.
    """
    if alert.state is not AlertState.PENDING or "job" in dict(alert.instance):
        return alert
    return replace(alert, active_at=min(now, alert.active_at + down))


def _series(reading: JobReading) -> Iterable[SeriesPoints]:
    labels, project_labels = reading.job.labels, reading.job.project_labels
    for points in reading.points:
        yield SeriesPoints(labels, points)
    for points in reading.project_points:
        yield SeriesPoints(project_labels, points)
