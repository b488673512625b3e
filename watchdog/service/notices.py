"""Says on the other receivers that one refuses messages, or gave one up: those whom it should tell cannot know.

A stop and its end are each said once, over restarts too: what was said is written in the transaction that says it.
A message about a receiver is itself never the reason for another one, so two broken receivers say it once each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from watchdog.delivery import EventKind, SenderEvent
from watchdog.model import AlertView, Changes, IncidentView, Notification, Reason
from watchdog.ports import Clock

Commit = Callable[[Changes], None]
Waiting = Callable[[str], int]
"""Returns how many transitions wait for a receiver. Raises StoreError."""

_KEY = "receiver_stopped."
"""Begins the keys of what the store remembers: since when a receiver has been stopped, and why; empty if it is not."""
_OWN = "receiver-"
"""Begins the ids of our own notifications."""
_QUIET = 3600.0
"""Seconds after the word that a receiver gave up a message in which further ones are not said."""


class Notices:
    """Puts what is wrong with a receiver into the outbox of all others. ``tell`` is called by the senders' threads."""

    def __init__(  # one value per thing that it needs
        self, receivers: Mapping[str, bool], meta: Mapping[str, str], commit: Commit, waiting: Waiting, clock: Clock
    ) -> None:
        """``receivers``: by name, whether it wants to know of ends. ``meta``: what the store remembers."""
        self._receivers = receivers
        self._commit = commit
        self._waiting = waiting
        self._clock = clock
        self._stopped = {name: meta[_KEY + name] for name in receivers if meta.get(_KEY + name)}
        self._inherited = set(self._stopped)
        """Receivers that an earlier process left as stopped, and that have not answered yet."""
        self._gave_up: dict[str, float] = {}

    def tell(self, event: SenderEvent) -> None:
        """Say what others should know of this event. Raises StoreError; may then be called again."""
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

    def _say_stopped(self, name: str, reason: str) -> None:
        now = self._clock()
        note = f"{now!r} {reason}"
        waiting = self._waiting(name)
        wait = f"; {waiting} transition{'s wait' if waiting != 1 else ' waits'}"
        alert = _alert(name, "ReceiverStopped", f"receiver {name} refuses messages: {reason}{wait}", now)
        self._put(name, note, Reason.FIRST, alert, {_KEY + name: note})
        self._stopped[name] = note

    def _say_recovered(self, name: str) -> None:
        note, now = self._stopped[name], self._clock()
        since, _, reason = note.partition(" ")
        alert = _alert(name, "ReceiverStopped", f"receiver {name} refused messages: {reason}", float(since), now)
        self._put(name, note, Reason.ALL_RESOLVED, alert, {_KEY + name: ""})
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
        """Commit one notification for each other receiver; ``story`` tells one incident from the next."""
        over, at = reason is Reason.ALL_RESOLVED, self._clock()
        others = [other for other, wants_ends in self._receivers.items() if other != name and (wants_ends or not over)]
        incident = _OWN + _digest(name, story)
        labels = (("receiver", name),)
        status = "firing" if reason is Reason.FIRST else "resolved"
        key = f"{{}}:{{receiver={json.dumps(name, ensure_ascii=False)}}}"
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


def _alert(name: str, rule: str, summary: str, since: float, until: float | None = None) -> AlertView:
    """Return what stands in the message; without ``until`` it still fires, and equal to ``since`` it is an event."""
    event = until == since
    return AlertView(
        fingerprint=_digest(rule, name),
        name=rule,
        status="firing" if until is None or event else "resolved",
        severity="critical",
        labels=(("alertname", rule), ("receiver", name), ("severity", "critical")),
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
