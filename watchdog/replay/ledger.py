"""What happens in a replay, written down tick by tick: each time that an alert fires, and each message of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from watchdog.alerts.program import CompiledRule
from watchdog.engine.engine import Engine, TickResult
from watchdog.model import Alert, AlertState, AlertView, JobKey, Labels, Notification
from watchdog.replay.onset import Onsets

_Held = tuple[str, Labels]
"""Rule and instance."""


@dataclass(frozen=True, slots=True)
class Firing:
    """One alert from its firing to its end."""

    alert: Alert
    """Its newest form."""
    onset: float
    """When what it is about began, as far as the samples show; see docs/backtest.md."""
    start: float
    """When it fired."""
    again_after: float | None
    """Seconds since the same alert ended before; None for the first time."""
    end: float | None = None
    """None: it still fired when the record ended."""
    incident: str = ""
    pings: int = 0
    """Messages that would have pinged somebody because of it."""

    @property
    def job(self) -> JobKey | None:
        """The job that it is about; None of a project's cache or a source."""
        labels = dict(self.alert.instance)
        return JobKey(labels.get("source", ""), labels["job"]) if "job" in labels else None

    def lasted(self, end: float) -> float:
        """Return the seconds that it fired, until ``end`` if it still does."""
        return (end if self.end is None else self.end) - self.start


@dataclass(slots=True)
class Ledger:
    """Everything that a replay did."""

    onsets: Onsets
    firings: list[Firing] = field(default_factory=list)
    """In the order in which they began."""
    pings_of: Counter[str] = field(default_factory=Counter)
    """By rule: outbox rows that ping because of it; one about two rules counts at both."""
    pings_to: Counter[str] = field(default_factory=Counter)
    """By receiver: outbox rows that ping."""
    messages: int = 0
    """All outbox rows."""
    failures: Counter[str] = field(default_factory=Counter)
    """By rule: ticks at which it could not be evaluated."""
    errors: dict[str, str] = field(default_factory=dict)
    """By rule: the last reason for that."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Samples left out, by reason."""
    ticks: int = 0
    _held: dict[_Held, float] = field(default_factory=dict)
    """Since which tick the expression of a rule has held for an instance, firing or not."""
    _open: dict[str, int] = field(default_factory=dict)
    """By fingerprint of what fires: its place in ``firings``."""
    _ended: dict[str, float] = field(default_factory=dict)

    def take(self, now: float, engine: Engine, result: TickResult) -> None:
        """Write down one tick."""
        self.ticks += 1
        self.dropped.update(result.dropped)
        for rule, reason in result.failures.items():
            self.failures[rule] += 1
            self.errors[rule] = reason
        self._note_held(now, engine)
        rules = {rule.rule.name: rule for rule in engine.program.rules} if result.changes.alerts else {}
        for alert in result.changes.alerts:
            self._take_alert(alert, rules, now)
        for incident in result.changes.incidents:
            for member in incident.members:
                self._belongs(member, incident.id)
        for row in result.notifications:
            self._take_message(row)

    def _note_held(self, now: float, engine: Engine) -> None:
        """Remember since when each expression has held; an alert that waits for ``grace`` or for data is none yet."""
        doubts = engine.last.doubts if engine.last is not None else {}
        open_ = engine.judge.alerts.values()
        if not (doubts or open_ or self._held):
            return
        since = dict.fromkeys(doubts, now)
        since |= {(alert.rule, alert.instance): min(now, alert.active_at) for alert in open_}
        self._held = {key: self._held.get(key, at) for key, at in since.items()}

    def _take_alert(self, alert: Alert, rules: Mapping[str, CompiledRule], now: float) -> None:
        place = self._open.get(alert.fingerprint)
        if alert.state is AlertState.FIRING and place is None:
            held = self._held.get((alert.rule, alert.instance), alert.active_at)
            ended = self._ended.get(alert.fingerprint)
            self._open[alert.fingerprint] = len(self.firings)
            onset = self.onsets.of(rules[alert.rule], alert.instance, held)
            self.firings.append(Firing(alert, onset, now, None if ended is None else now - ended))
        elif alert.state is AlertState.FIRING and place is not None:
            self.firings[place] = replace(self.firings[place], alert=alert)
        elif alert.state is AlertState.INACTIVE and place is not None:
            del self._open[alert.fingerprint]
            self._ended[alert.fingerprint] = now
            self.firings[place] = replace(self.firings[place], alert=alert, end=alert.resolved_at)

    def _belongs(self, member: Alert, incident: str) -> None:
        place = self._open.get(member.fingerprint)
        if place is not None and not self.firings[place].incident:
            self.firings[place] = replace(self.firings[place], incident=incident)

    def _take_message(self, row: Notification) -> None:
        """Count a message, and its ping at the alerts and rules that it is about."""
        self.messages += 1
        if not row.ping:
            return
        self.pings_to[row.receiver] += 1
        about = _about(row)
        self.pings_of.update({view.name for view in about})
        for place in {self._open[view.fingerprint] for view in about if view.fingerprint in self._open}:
            self.firings[place] = replace(self.firings[place], pings=self.firings[place].pings + 1)


def _about(row: Notification) -> list[AlertView]:
    """Return the alerts because of which a message pings: those that began, or all that fire for a reminder."""
    firing = [view for view in row.view.alerts if view.status == "firing" or view.event]
    return [view for view in firing if view.fingerprint in row.changed] or firing
