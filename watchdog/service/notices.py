"""Says what is wrong with watchdog itself: a receiver that refuses or gives up messages, a rules file that is refused.

Of a receiver it tells the others: those whom it should tell cannot know. What begins and its end are each said
once, over restarts too: what was said is written in the transaction that says it. A message about a receiver is
itself never the reason for another one, so two broken receivers say it once each.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from watchdog.delivery import EventKind, SenderEvent
from watchdog.model import AlertView, Changes, IncidentView, Labels, Notification, Reason
from watchdog.ports import Clock

Commit = Callable[[Changes], None]
Waiting = Callable[[str], int]
"""Returns how many transitions wait for a receiver. Raises StoreError."""

_KEY = "receiver_stopped."
"""Begins the keys of what the store remembers: since when a receiver has been stopped, and why; empty if it is not."""
_REJECTED = "rules_rejected"
"""Under it the store remembers since when the rules file has been refused, and why; empty if it is not."""
_OWN = "receiver-"
"""Begins the ids of our own notifications."""
_QUIET = 3600.0
"""Seconds after the word that a receiver gave up a message in which further ones are not said."""


class Notices:
    """Puts what is wrong with watchdog into the outbox. Every method may be called by any thread."""

    def __init__(  # one value per thing that it needs
        self, receivers: Mapping[str, bool], meta: Mapping[str, str], commit: Commit, waiting: Waiting, clock: Clock
    ) -> None:
        """``receivers``: by name, whether it wants to know of ends. ``meta``: what the store remembers."""
        self.receivers = receivers
        self._commit = commit
        self._waiting = waiting
        self._clock = clock
        self._stopped = {key.removeprefix(_KEY): meta[key] for key in meta if key.startswith(_KEY) and meta[key]}
        self._inherited = set(self._stopped)
        """Receivers that an earlier process left as stopped, and that have not answered yet."""
        self._gave_up: dict[str, float] = {}
        self._rejected = meta.get(_REJECTED, "")
        self._lock = threading.Lock()

    def tell(self, event: SenderEvent) -> None:
        """Say what others should know of this event. Raises StoreError; may then be called again."""
        with self._lock:
            self._tell(event)

    def _tell(self, event: SenderEvent) -> None:
        name = event.receiver
        if event.kind is EventKind.STOPPED:
            self._inherited.discard(name)
            if name not in self._stopped:
                self._say_stopped(name, event.reason)
        elif event.kind is EventKind.RECOVERED or (event.kind is EventKind.SENT and name in self._inherited):
            if name in self._stopped:
                self._say_recovered(name)
            self._inherited.discard(name)  # last: what could not be written is told again
        elif event.kind is EventKind.PARKED and not event.ids[0].startswith(_OWN):
            self._say_given_up(event)

    def settle(self) -> None:
        """Say the end of stops that no sender will ever speak of. Raises StoreError; may then be called again.

        A receiver that the rules no longer name has no sender. One for which nothing waits has taken, or given up,
        all that it refused, and the process died before it could say so.
        """
        with self._lock:
            for name in list(self._stopped):
                if name not in self.receivers:
                    self._say_recovered(name, "receiver removed")
                    self._inherited.discard(name)
                elif name in self._inherited and not self._waiting(name):
                    self._say_recovered(name)
                    self._inherited.discard(name)

    def rules_rejected(self, reason: str) -> None:
        """Say that the rules file is refused, and old rules go on. Raises StoreError; may then be called again."""
        with self._lock:
            if self._rejected:
                return
            now = self._clock()
            note = f"{now!r} {reason}"
            self._put("", note, Reason.FIRST, _alert("", "RulesRejected", _rejection(reason), now), {_REJECTED: note})
            self._rejected = note

    def rules_loaded(self) -> None:
        """Say that the rules file is in force again, if it was refused. Raises StoreError; may then be called again."""
        with self._lock:
            if not self._rejected:
                return
            note, now = self._rejected, self._clock()
            since, _, reason = note.partition(" ")
            alert = _alert("", "RulesRejected", _rejection(reason), float(since), now)
            self._put("", note, Reason.ALL_RESOLVED, alert, {_REJECTED: ""})
            self._rejected = ""

    def _say_stopped(self, name: str, reason: str) -> None:
        now = self._clock()
        note = f"{now!r} {reason}"
        waiting = self._waiting(name)
        wait = f"; {waiting} transition{'s wait' if waiting != 1 else ' waits'}"
        alert = _alert(name, "ReceiverStopped", f"receiver {name} refuses messages: {reason}{wait}", now)
        self._put(name, note, Reason.FIRST, alert, {_KEY + name: note})
        self._stopped[name] = note

    def _say_recovered(self, name: str, end: str = "resolved") -> None:
        note, now = self._stopped[name], self._clock()
        since, _, reason = note.partition(" ")
        alert = _alert(name, "ReceiverStopped", f"receiver {name} refused messages: {reason}", float(since), now)
        self._put(name, note, Reason.ALL_RESOLVED, replace(alert, end_reason=end), {_KEY + name: ""})
        del self._stopped[name]

    def _say_given_up(self, event: SenderEvent) -> None:
        name, now = event.receiver, self._clock()
        if now - self._gave_up.get(name, -_QUIET) < _QUIET:
            return
        text = f"receiver {name} gave up {len(event.ids)} of its messages: {event.reason}; the log has all of them"
        alert = _alert(name, "ReceiverGaveUp", text, now, now)
        self._put(name, event.ids[0], Reason.EVENT, alert, {})
        self._gave_up[name] = now

    def _put(self, name: str, story: str, reason: Reason, alert: AlertView, meta: Mapping[str, str]) -> None:
        """Commit one notification for each receiver other than ``name``; ``story`` tells one incident from the next."""
        over, at = reason is Reason.ALL_RESOLVED, self._clock()
        others = [other for other, wants_ends in self.receivers.items() if other != name and (wants_ends or not over)]
        incident = _OWN + _digest(name, story)
        labels = tuple(pair for pair in alert.labels if pair[0] == "receiver") or (("alertname", alert.name),)
        status = "firing" if reason is Reason.FIRST else "resolved"
        key = f"{{}}:{{{_pairs(labels)}}}"
        closed = None if reason is Reason.FIRST else at
        view = IncidentView(incident, key, labels, status, "critical", alert.starts_at, closed, (alert,), None)
        rows = tuple(
            Notification(
                id=f"{incident}-{_digest(other, reason.value)}",
                incident=incident,
                receiver=other,
                sequence=2 if over else 1,
                reason=reason,
                ping=not over,
                created_at=at,
                changed=(alert.fingerprint,),
                view=view,
            )
            for other in others
        )
        self._commit(Changes(at=at, outbox=rows, meta=meta))


def _rejection(reason: str) -> str:
    return f"the rules file is refused, and the rules before it stay in force: {reason}"


def _alert(name: str, rule: str, summary: str, since: float, until: float | None = None) -> AlertView:
    """Return what stands in the message; without ``until`` it still fires, and equal to ``since`` it is an event.

    ``name`` is the receiver that it is about; empty if it is about none.
    """
    event = until == since
    receiver = (("receiver", name),) if name else ()
    return AlertView(
        fingerprint=_digest(rule, name),
        name=rule,
        status="firing" if until is None or event else "resolved",
        severity="critical",
        labels=(("alertname", rule), *receiver, ("severity", "critical")),
        summary=summary,
        description="",
        runbook_url="",
        starts_at=since,
        ends_at=until,
        value=None,
        worst=None,
        unknown=False,
        event=event,
        end_reason="" if until is None or event else "resolved",
        expr="",
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]


def _pairs(labels: Labels) -> str:
    return ",".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels)
