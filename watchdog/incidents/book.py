"""The open incidents: which alerts belong together, and what each receiver has been told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from watchdog.incidents import flapping
from watchdog.incidents.decide import PINGS, why_notify
from watchdog.incidents.routing import Destination, route
from watchdog.incidents.standing import changed_since, conversation_of, standing_of, withheld
from watchdog.incidents.views import Marks, group_key_of, group_labels_of, incident_id, is_firing, view_of
from watchdog.jobs.registry import Registry
from watchdog.model import Alert, AlertState, Conversation, Incident, Notification, Reason
from watchdog.muting import Mutes
from watchdog.rules.model import Flapping, Inhibit, MuteTime, Route, Rule

_MAY_WAIT = frozenset({Reason.NEW_ALERTS, Reason.SOME_RESOLVED, Reason.UNKNOWN, Reason.KNOWN})
"""Reasons that a burst may put together; all others go out at once."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the rules file says of telling people."""

    rules: Mapping[str, Rule]
    routes: Sequence[Route]
    send_resolved: Mapping[str, bool]
    """By receiver; one that is not named is no longer configured."""
    flapping: Flapping = field(default_factory=Flapping)
    inhibits: Sequence[Inhibit] = ()
    mute_times: Mapping[str, MuteTime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scene:
    """What everything said in one tick is said of."""

    registry: Registry
    mutes: Mutes | None
    now: float

    def muted(self, alert: Alert, times: Sequence[str]) -> str:
        """Return what mutes an alert at a destination with these mute times; empty if nothing does."""
        if self.mutes is None:
            return ""
        return self.mutes.why(alert.label_map) or self.mutes.time(times)


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
        self._closed: dict[str, Incident] = {}
        """By group: the last one that closed, as long as its changes may still count as flapping."""
        for incident in incidents:
            if incident.closed_at is None:
                members = tuple(newest.get(member.fingerprint, member) for member in incident.members)
                self._keep(replace(incident, members=members))
            elif incident.closed_at >= self._last_closed(incident.group_key):
                self._closed[incident.group_key] = incident

    def copy(self) -> Book:
        """Return one that goes its own way from here."""
        other = Book(self.terms)
        other._open, other._closed = dict(self._open), dict(self._closed)
        other._home_of, other._home_of_group = dict(self._home_of), dict(self._home_of_group)
        return other

    @property
    def incidents(self) -> Sequence[Incident]:
        """The open incidents."""
        return tuple(self._open.values())

    def tell(self, changed: Iterable[Alert], registry: Registry, now: float, mutes: Mutes | None = None) -> Told:
        """Take in what changed, and return what there is to say of it and of reminders that are due."""
        scene = Scene(registry, mutes, now)
        touched = self._take_in((alert for alert in changed if alert.state is not AlertState.PENDING), now)
        notifications: list[Notification] = []
        for key in list(self._open):
            notifications += self._talk(key, scene, touched)
        incidents = tuple(self._open[key] for key in touched)
        for incident in incidents:
            if incident.closed_at is not None:
                self._drop(incident)
                self._closed[incident.group_key] = incident
        old = now - self.terms.flapping.within
        self._closed = {key: last for key, last in self._closed.items() if (last.closed_at or now) > old}
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

    def _take_in(self, alerts: Iterable[Alert], now: float) -> set[str]:
        """Put alerts where they belong; return the incidents in which one came or changed its state."""
        touched: set[str] = set()
        members: dict[str, dict[str, Alert]] = {}  # by incident: each is written once, however many alerts it has
        flips: dict[str, list[str]] = {}
        for alert in alerts:
            incident = self._home(alert)
            if incident is None:
                if alert.state is not AlertState.FIRING or (alert.event and alert.fired_at != now):
                    continue  # over, or an event that was said when it happened
                incident = self._open_for(alert, now)
                self._keep(incident)
            if incident.id not in members:
                members[incident.id] = {member.fingerprint: member for member in incident.members}
            own = members[incident.id]
            old = own.get(alert.fingerprint)
            own[alert.fingerprint] = alert
            self._home_of[alert.fingerprint] = incident.id
            if old is None or old.state is not alert.state:
                touched.add(incident.id)
                flips.setdefault(incident.id, []).extend([] if alert.event else [alert.fingerprint])
        for key, own in members.items():
            incident = flapping.flipped(self._open[key], flips.get(key, ()), now)
            self._open[key] = replace(incident, members=tuple(own.values()))
        return touched

    def _home(self, alert: Alert) -> Incident | None:
        """Return the open incident that has this alert, or whose group it joins."""
        home = self._home_of.get(alert.fingerprint)
        if home is None and alert.state is AlertState.FIRING:
            home = self._home_of_group.get(self._group_key(alert))
        return self._open[home] if home is not None else None

    def _group_key(self, alert: Alert) -> str:
        return group_key_of(group_labels_of(alert.label_map, self._route(alert)[1]))

    def _open_for(self, alert: Alert, now: float) -> Incident:
        """Return a new incident, or the last one of the group again when the alert begins to flap with this."""
        labels = group_labels_of(alert.label_map, self._route(alert)[1])
        key = group_key_of(labels)
        last = self._closed.pop(key, None)
        if last is not None and flapping.would_flap(last, [alert.fingerprint], self.terms.flapping, now):
            return replace(last, closed_at=None)
        return flapping.inherited(Incident(incident_id(key, now), key, labels, now), last)

    def _last_closed(self, group_key: str) -> float:
        last = self._closed.get(group_key)
        return last.closed_at or 0.0 if last is not None else 0.0

    def _route(self, alert: Alert) -> tuple[tuple[Destination, ...], tuple[str, ...]]:
        rule = self.terms.rules.get(alert.rule)
        routed = route(alert.label_map, self.terms.routes, rule.group_by if rule else None)
        return routed.destinations, routed.group_by

    def _talk(self, key: str, scene: Scene, touched: set[str]) -> list[Notification]:
        incident = flapping.settled(self._open[key], self.terms.flapping, scene.now)
        if incident.flapping != self._open[key].flapping:
            touched.add(key)
        if not any(is_firing(member) for member in incident.members) and not incident.flapping:
            incident = replace(incident, closed_at=scene.now)
            touched.add(key)
        told = {conversation.receiver: conversation for conversation in incident.conversations}
        said: list[Notification] = []
        for terms, members in self._audiences(incident, told):
            notification, conversation = self._say(incident, terms, members, told.get(terms.receiver), scene)
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
        known_to = {name: {*entry.firing, *entry.resolved} for name, entry in told.items()}
        for alert in incident.members:
            destinations = {item.receiver: item for item in self._route(alert)[0]}
            for name, conversation in told.items():
                if alert.fingerprint in known_to[name]:
                    destinations.setdefault(name, Destination(name, conversation.repeat_interval, 0.0))
            for name, item in destinations.items():
                if name not in self.terms.send_resolved:
                    continue
                known = terms.setdefault(name, item)
                terms[name] = replace(
                    known,
                    repeat_interval=min(known.repeat_interval, item.repeat_interval),
                    group_wait=min(known.group_wait, item.group_wait),
                )
                members.setdefault(name, []).append(alert)
        return [(terms[name], members[name]) for name in terms]

    def _say(
        self, incident: Incident, terms: Destination, members: list[Alert], told: Conversation | None, scene: Scene
    ) -> tuple[Notification | None, Conversation | None]:
        """Return what there is to say to one receiver, and the record of it; None where nothing changes."""
        now = scene.now
        muted = {
            alert.fingerprint: why
            for alert in members
            if (is_firing(alert) or alert.event) and (why := scene.muted(alert, terms.mute_times))
        }
        unheard = withheld(members, told, muted, incident.flapping)
        seen = [alert for alert in members if alert.fingerprint not in unheard]
        standing = standing_of(seen, muted, incident.flapping, told, now)
        send_resolved = self.terms.send_resolved[terms.receiver]
        reason = why_notify(told, standing, now, terms.repeat_interval, send_resolved=send_resolved)
        if (
            reason is not None
            and told is not None
            and reason in _MAY_WAIT
            and now - told.notified_at < terms.group_wait
        ):
            reason = None
        if reason is None:
            noted = frozenset({*muted, *unheard})
            return None, None if told is None or noted == frozenset(told.muted) else replace(
                told, muted=tuple(sorted(noted))
            )
        quiet = reason is Reason.ALL_RESOLVED and not send_resolved
        sequence = (told.sequence if told else 0) + (0 if quiet else 1)
        conversation = conversation_of(told, terms, standing, reason, sequence, now)
        conversation = replace(conversation, muted=tuple(sorted({*muted, *unheard})))
        if quiet:
            return None, conversation
        flips = {key: len(times) for key, times in incident.flips if key in incident.flapping}
        notification = Notification(
            id=f"{incident.id}-{terms.receiver}-{sequence}",
            incident=incident.id,
            receiver=terms.receiver,
            sequence=sequence,
            reason=reason,
            ping=reason in PINGS,
            created_at=now,
            changed=changed_since(told, standing),
            view=view_of(incident, seen, Marks(self.terms.rules, now, muted, flips), scene.registry),
        )
        return notification, conversation
