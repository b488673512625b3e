"""The open incidents: which alerts belong together, and what each receiver has been told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from watchdog.incidents.decide import PINGS, Standing, why_notify
from watchdog.incidents.routing import Destination, route
from watchdog.incidents.severity import highest
from watchdog.incidents.views import group_key_of, group_labels_of, incident_id, is_firing, view_of
from watchdog.jobs.registry import Registry
from watchdog.model import Alert, AlertState, Conversation, Incident, Notification, Reason
from watchdog.rules.model import Route, Rule

_MAY_WAIT = frozenset({Reason.NEW_ALERTS, Reason.SOME_RESOLVED, Reason.UNKNOWN, Reason.KNOWN})
"""Reasons that a burst may put together; all others go out at once."""

DATA_LOST_AFTER = 300.0
"""Seconds without data after which an incident is said to be unknown; a failed poll or two is not news."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the rules file says of telling people."""

    rules: Mapping[str, Rule]
    routes: Sequence[Route]
    send_resolved: Mapping[str, bool]
    """By receiver; one that is not named is no longer configured."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one tick has to say, and the incidents whose records changed with it."""

    incidents: tuple[Incident, ...]
    notifications: tuple[Notification, ...]


class Book:
    """Holds the open incidents. Closed ones leave it; the same group may open a new one later."""

    def __init__(self, terms: Terms, incidents: Iterable[Incident] = (), alerts: Iterable[Alert] = ()) -> None:
        self.terms = terms
        newest = {alert.fingerprint: alert for alert in alerts}
        self._open: dict[str, Incident] = {}
        self._home_of: dict[str, str] = {}
        """Incident by alert."""
        self._home_of_group: dict[str, str] = {}
        for incident in incidents:
            if incident.closed_at is None:
                members = tuple(newest.get(member.fingerprint, member) for member in incident.members)
                self._keep(replace(incident, members=members))

    @property
    def incidents(self) -> Sequence[Incident]:
        """The open incidents."""
        return tuple(self._open.values())

    def tell(self, changed: Iterable[Alert], registry: Registry, now: float) -> Told:
        """Take in what changed, and return what there is to say of it and of reminders that are due."""
        touched: set[str] = set()
        for alert in changed:
            if alert.state is not AlertState.PENDING:
                self._take_in(alert, now, touched)
        notifications: list[Notification] = []
        for key in list(self._open):
            notifications += self._talk(key, registry, now, touched)
        incidents = tuple(self._open[key] for key in touched)
        for incident in incidents:
            if incident.closed_at is not None:
                self._drop(incident)
        return Told(incidents, tuple(notifications))

    def _keep(self, incident: Incident) -> None:
        self._open[incident.id] = incident
        self._home_of_group[incident.group_key] = incident.id
        self._home_of.update(dict.fromkeys((member.fingerprint for member in incident.members), incident.id))

    def _drop(self, incident: Incident) -> None:
        del self._open[incident.id]
        self._home_of_group.pop(incident.group_key, None)
        for member in incident.members:
            self._home_of.pop(member.fingerprint, None)

    def _take_in(self, alert: Alert, now: float, touched: set[str]) -> None:
        incident = self._home(alert)
        if incident is None:
            if alert.state is not AlertState.FIRING:
                return
            incident = self._open_for(alert, now)
        members = {member.fingerprint: member for member in incident.members}
        old = members.get(alert.fingerprint)
        members[alert.fingerprint] = alert
        self._keep(replace(incident, members=tuple(members.values())))
        if old is None or old.state is not alert.state:
            touched.add(incident.id)

    def _home(self, alert: Alert) -> Incident | None:
        """Return the open incident that has this alert, or whose group it joins."""
        home = self._home_of.get(alert.fingerprint)
        if home is None and alert.state is AlertState.FIRING:
            home = self._home_of_group.get(self._group_key(alert))
        return self._open[home] if home is not None else None

    def _group_key(self, alert: Alert) -> str:
        return group_key_of(group_labels_of(alert.label_map, self._route(alert)[1]))

    def _open_for(self, alert: Alert, now: float) -> Incident:
        labels = group_labels_of(alert.label_map, self._route(alert)[1])
        key = group_key_of(labels)
        return Incident(id=incident_id(key, now), group_key=key, group_labels=labels, opened_at=now)

    def _route(self, alert: Alert) -> tuple[tuple[Destination, ...], tuple[str, ...]]:
        rule = self.terms.rules.get(alert.rule)
        routed = route(alert.label_map, self.terms.routes, rule.group_by if rule else None)
        return routed.destinations, routed.group_by

    def _talk(self, key: str, registry: Registry, now: float, touched: set[str]) -> list[Notification]:
        incident = self._open[key]
        if not any(is_firing(member) for member in incident.members):
            incident = replace(incident, closed_at=now)
            touched.add(key)
        told = {conversation.receiver: conversation for conversation in incident.conversations}
        said: list[Notification] = []
        for terms, members in self._audiences(incident, told):
            notification, conversation = self._say(incident, terms, members, told.get(terms.receiver), registry, now)
            if conversation is not None:
                told[terms.receiver] = conversation
                touched.add(key)
            said += [notification] if notification is not None else []
        self._open[key] = replace(incident, conversations=tuple(told.values()))
        return said

    def _audiences(self, incident: Incident, told: Mapping[str, Conversation]) -> list[tuple[Destination, list[Alert]]]:
        """Return each receiver with the alerts that it is told of.

        What was opened at a receiver is closed there, even when the routes have changed since.
        """
        terms: dict[str, Destination] = {}
        members: dict[str, list[Alert]] = {}
        for alert in incident.members:
            destinations = {item.receiver: item for item in self._route(alert)[0]}
            for name, conversation in told.items():
                if alert.fingerprint in (*conversation.firing, *conversation.resolved):
                    destinations.setdefault(name, Destination(name, conversation.repeat_interval, 0.0))
            for name, item in destinations.items():
                if name not in self.terms.send_resolved:
                    continue
                known = terms.setdefault(name, item)
                terms[name] = Destination(
                    name,
                    min(known.repeat_interval, item.repeat_interval),
                    min(known.group_wait, item.group_wait),
                )
                members.setdefault(name, []).append(alert)
        return [(terms[name], members[name]) for name in terms]

    def _say(  # the whole situation of one receiver, used once
        self,
        incident: Incident,
        terms: Destination,
        members: list[Alert],
        told: Conversation | None,
        registry: Registry,
        now: float,
    ) -> tuple[Notification | None, Conversation | None]:
        standing = _standing(members, now)
        send_resolved = self.terms.send_resolved[terms.receiver]
        reason = why_notify(told, standing, now, terms.repeat_interval, send_resolved=send_resolved)
        if reason is None:
            return None, None
        if told is not None and reason in _MAY_WAIT and now - told.notified_at < terms.group_wait:
            return None, None
        mute = reason is Reason.ALL_RESOLVED and not send_resolved
        sequence = (told.sequence if told else 0) + (0 if mute else 1)
        conversation = _conversation(told, terms, standing, reason, sequence, now)
        if mute:
            return None, conversation
        exprs = {name: rule.expr for name, rule in self.terms.rules.items()}
        return (
            Notification(
                id=f"{incident.id}-{terms.receiver}-{sequence}",
                incident=incident.id,
                receiver=terms.receiver,
                sequence=sequence,
                reason=reason,
                ping=reason in PINGS,
                created_at=now,
                changed=_changed(told, standing),
                view=view_of(incident, members, exprs, registry),
            ),
            conversation,
        )


def _standing(members: Iterable[Alert], now: float) -> Standing:
    alerts = list(members)
    lost = now - DATA_LOST_AFTER
    firing = [alert for alert in alerts if is_firing(alert)]
    events = [alert for alert in alerts if alert.event]
    return Standing(
        firing=[alert.fingerprint for alert in firing],
        resolved=[a.fingerprint for a in alerts if not a.event and a.state is AlertState.INACTIVE],
        unknown=[a.fingerprint for a in firing if a.unknown_since is not None and a.unknown_since <= lost],
        events=[alert.fingerprint for alert in events],
        severity=highest(alert.severity for alert in (*firing, *events)),
    )


def _conversation(  # the fields of one record
    told: Conversation | None, terms: Destination, standing: Standing, reason: Reason, sequence: int, now: float
) -> Conversation:
    pinged = now if reason in PINGS or told is None else told.pinged_at
    return Conversation(
        receiver=terms.receiver,
        sequence=sequence,
        notified_at=now,
        pinged_at=pinged,
        firing=tuple(standing.firing),
        resolved=(*standing.resolved, *standing.events),
        severity=highest((standing.severity, told.severity if told else "")),
        repeat_interval=terms.repeat_interval,
        unknown=tuple(standing.unknown),
    )


def _changed(told: Conversation | None, standing: Standing) -> tuple[str, ...]:
    """Return the alerts that are not as they were told; for a reminder, all that fire."""
    if told is None:
        return (*standing.firing, *standing.events)
    was = dict.fromkeys(told.resolved, "over") | dict.fromkeys(told.firing, "firing") | dict.fromkeys(told.unknown, "?")
    is_ = (
        dict.fromkeys((*standing.resolved, *standing.events), "over")
        | dict.fromkeys(standing.firing, "firing")
        | dict.fromkeys(standing.unknown, "?")
    )
    changed = tuple(key for key, state in is_.items() if was.get(key) != state)
    return changed or tuple(standing.firing)
