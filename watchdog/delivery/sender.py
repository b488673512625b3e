"""Delivers what waits in the outbox to one receiver: in order per incident, at least once, never too early.

A try is written down before it is made and its outcome after. So a crash in between is known to be
ambiguous; and an outcome that cannot be written (disk full) is kept and written before anything else is sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from queue import SimpleQueue
from random import random

from watchdog.delivery.decide import Action, Decision, Policy, Random, Try, backoff, decide
from watchdog.delivery.events import EventKind, SenderEvent, late_seconds
from watchdog.delivery.handing import SenderDelivery
from watchdog.errors import DeliveryError
from watchdog.model import IncidentView, Pending, Receipt
from watchdog.ports import Clock, Outbox, Receiver

OnEvent = Callable[[SenderEvent], None]
_UNFINISHED = "the receiver failed in a way that it should not"


class Sender:
    """The deliveries to one receiver. One thread at a time steps and closes; any may replace and reset."""

    def __init__(
        self,
        receiver: Receiver,
        outbox: Outbox,
        *,
        clock: Clock,
        on_event: OnEvent,
        policy: Policy | None = None,
        random: Random = random,
    ) -> None:
        self.clock = clock
        """Read around each delivery: one may take long, and waits count from the answer."""
        self._refused: set[str] = set()
        """Incidents whose message the receiver refused for good."""
        self._receiver = receiver
        self._successors: SimpleQueue[Receiver] = SimpleQueue()
        self._outbox = outbox
        self._on_event = on_event
        self._policy = policy or Policy()
        self._random = random
        self._counts: Counter[EventKind] = Counter()
        self._failures = 0
        self._resume_at = -inf
        self._wait = 0.0
        """Seconds from the answer to ``_resume_at``."""
        self._holds = False
        """Whether the receiver itself asked for that wait, which is then written down."""
        self._failed_at: dict[str, float] = {}
        """Incidents whose last try failed: they go last, so that a bad message does not stand before all others."""
        self._later: list[float] = []
        """When postponed rows become due."""
        self._unwritten: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """The receiver's name."""
        return self._receiver.name

    @property
    def stopped(self) -> bool:
        """Whether the receiver refuses something for good; until all that it refused has been taken."""
        return bool(self._refused)

    @property
    def counts(self) -> Mapping[EventKind, int]:
        """Events so far, by kind."""
        return self._counts

    @property
    def done(self) -> bool:
        """Whether nothing waits and nothing was given up. Raises StoreError."""
        return not self._counts[EventKind.PARKED] and not self._outbox.due(self.name, inf, 1)

    def replace(self, receiver: Receiver) -> None:
        """Deliver through this receiver of the same name from the next step on; the old one is closed then."""
        self._successors.put(receiver)

    def close(self) -> None:
        """Free the receiver's connections; nothing is delivered any more."""
        self._hand_over()
        self._receiver.close()

    def reset(self) -> None:
        """Try a stopped receiver again at the next step: its configuration may have been repaired."""
        if self.stopped:
            self._resume_at = -inf

    def step(self, now: float, interrupted: Callable[[], bool] = lambda: False) -> float:
        """Deliver what is due at ``now``; return when to come back (unix seconds).

        ``interrupted`` is asked between deliveries; once it says so, the rest is left to the next step.
        Raises StoreError; nothing is sent whose outcome could not be written down. What a receiver raises
        beside DeliveryError goes through, after its rows were postponed.
        """
        self._finish_writing()
        self._hand_over()
        self._shorten(now)
        if now < self._resume_at:
            return self._come_back(now)
        rows = self._outbox.due(self.name, now, self._policy.batch)
        newest = {row.notification.incident: row.notification.view for row in rows}
        rows = sorted(rows, key=lambda row: self._failed_at.get(row.notification.incident, -inf))
        for batch in _batches(rows, coalesce=self._receiver.coalesces):
            if interrupted():
                return now
            self._deliver(batch, newest[batch[0].notification.incident])
            if self._resume_at > now:
                return self._come_back(now)
        return now if len(rows) >= self._policy.batch else self._come_back(now)

    def _hand_over(self) -> None:
        while not self._successors.empty():
            self._receiver.close()
            self._receiver = self._successors.get()
            self.reset()

    def _shorten(self, now: float) -> None:
        """Wait no longer than was asked for when the clock was set back."""
        if self._resume_at > now + self._wait:
            self._resume_at = now + self._wait
            if self._holds:
                self._outbox.hold(self.name, self._resume_at)

    def _come_back(self, now: float) -> float:
        self._later = [time for time in self._later if time > now]
        soon = self._resume_at if self._resume_at > now else min(self._later, default=inf)
        return min(soon, now + self._policy.idle_wait)

    def _deliver(self, rows: Sequence[Pending], current: IncidentView) -> None:
        plain = any(row.plain for row in rows)
        error = self._try(rows, current, plain=plain)
        if error is None:
            return
        now = self.clock()
        tried = Try(max(row.attempts for row in rows), self._failures, plain)
        decision = decide(error, tried, now, self._policy, self._random)
        if decision.action is Action.PARK:
            self._park(rows, error, now)
            return
        self._put_off(rows, error, decision, now)
        if decision.action is Action.PLAIN:
            again = [replace(row, attempts=row.attempts + 1, plain=True) for row in rows]
            self._deliver(again, current)

    def _try(self, rows: Sequence[Pending], current: IncidentView, *, plain: bool) -> DeliveryError | None:
        """Make one try; return why the receiver did not take it."""
        ids, incident = _ids(rows), rows[0].notification.incident
        self._outbox.trying(ids)
        delivery = SenderDelivery(
            notifications=tuple(row.notification for row in rows),
            current=current,
            receipt=self._outbox.receipt(incident, self.name),
            now=self.clock(),
            plain=plain,
            maybe_sent=any(row.maybe_sent for row in rows),
            keeper=lambda receipt: self._outbox.keep_receipt(incident, self.name, receipt),
            newest=lambda: self._outbox.recent_receipt(self.name),
        )
        answered = False
        try:
            receipt = self._receiver.deliver(delivery)
            answered = True
        except DeliveryError as error:
            answered = True
            return error
        finally:
            if not answered:
                self._put_off_unfinished(rows, plain=plain)
        self._sent(rows, receipt)
        return None

    def _sent(self, rows: Sequence[Pending], receipt: Receipt) -> None:
        ids, incident, now = _ids(rows), rows[0].notification.incident, self.clock()
        self._failures = 0
        self._resume_at = -inf
        self._failed_at.pop(incident, None)

        def write() -> None:
            self._outbox.delivered(ids, self.name, incident, receipt, now)
            self._accept(rows, now)
            self._tell(EventKind.SENT, rows, "", now)

        self._write(write)

    def _accept(self, rows: Sequence[Pending], now: float) -> None:
        """Note that these rows stand in nobody's way any more."""
        incident = rows[0].notification.incident
        if self._refused == {incident}:
            self._tell(EventKind.RECOVERED, rows, "", now)
        self._refused.discard(incident)

    def _park(self, rows: Sequence[Pending], error: DeliveryError, now: float) -> None:
        self._failures = 0
        self._failed_at.pop(rows[0].notification.incident, None)

        def write() -> None:
            self._outbox.park(_ids(rows), error=str(error), now=now)
            self._accept(rows, now)
            self._tell(EventKind.PARKED, rows, error.reason, now)

        self._write(write)

    def _put_off(self, rows: Sequence[Pending], error: DeliveryError, decision: Decision, now: float) -> None:
        """Count the failed try, and keep silent as decided."""
        plain = decision.action is Action.PLAIN or any(row.plain for row in rows)
        maybe_sent = error.ambiguous or any(row.maybe_sent for row in rows)
        kind = EventKind.RETRY
        if decision.action is Action.STOP:
            kind = kind if self.stopped else EventKind.STOPPED
            self._refused.add(rows[0].notification.incident)
        if decision.action is not Action.PLAIN:
            self._failures += 1
            self._resume_at = decision.resume_at
            self._wait = decision.resume_at - now
            self._holds = decision.hold
            self._later.append(decision.not_before)
            if not decision.hold:
                self._failed_at[rows[0].notification.incident] = now

        def write() -> None:
            if decision.hold:
                self._outbox.hold(self.name, decision.resume_at)
            self._outbox.postpone(_ids(rows), decision.not_before, error=str(error), plain=plain, maybe_sent=maybe_sent)
            self._tell(kind, rows, error.reason, now, held_until=decision.resume_at if decision.hold else None)

        self._write(write)

    def _put_off_unfinished(self, rows: Sequence[Pending], *, plain: bool) -> None:
        """Postpone rows whose try ended in an error that nobody expected, so that it does not block the others."""
        now = self.clock()
        not_before = now + backoff(max(row.attempts for row in rows), self._policy, self._random)
        self._later.append(not_before)

        def write() -> None:
            self._outbox.postpone(_ids(rows), not_before, error=_UNFINISHED, plain=plain, maybe_sent=True)
            self._tell(EventKind.RETRY, rows, "unexpected", now)

        self._write(write)

    def _write(self, action: Callable[[], None]) -> None:
        """Write an outcome down; what fails is written at the next step, before anything is sent."""
        self._unwritten = action
        self._finish_writing()

    def _finish_writing(self) -> None:
        if self._unwritten is not None:
            self._unwritten()
            self._unwritten = None

    def _tell(
        self, kind: EventKind, rows: Sequence[Pending], reason: str, now: float, held_until: float | None = None
    ) -> None:
        oldest = min(row.notification.created_at for row in rows)
        attempts = max(row.attempts for row in rows) + 1
        self._counts[kind] += 1
        age = max(0.0, now - oldest)
        late = late_seconds(oldest, now)
        self._on_event(SenderEvent(kind, self.name, _ids(rows), reason, attempts, late, age, held_until))


def _ids(rows: Sequence[Pending]) -> tuple[str, ...]:
    return tuple(row.notification.id for row in rows)


def _batches(rows: Sequence[Pending], *, coalesce: bool) -> Iterator[Sequence[Pending]]:
    """Yield what goes out together: each row alone, or all rows of an incident, at the place of its first."""
    if not coalesce:
        yield from ([row] for row in rows)
        return
    by_incident: dict[str, list[Pending]] = {}
    for row in rows:
        by_incident.setdefault(row.notification.incident, []).append(row)
    yield from by_incident.values()
