"""Flapping: an alert that changes too often is one state, not a message for each change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from watchdog.model import Incident
from watchdog.rules.model import Flapping

Flips = dict[str, tuple[float, ...]]


def inherited(incident: Incident, before: Incident | None) -> Incident:
    """Return a new incident that remembers the changes of the one before it in the same group."""
    return incident if before is None else replace(incident, flips=before.flips)


def flipped(incident: Incident, fingerprints: Iterable[str], now: float) -> Incident:
    """Return the incident with one more change of each of these alerts."""
    flips = dict(incident.flips)
    for key in fingerprints:
        flips[key] = (*flips.get(key, ()), now)
    return replace(incident, flips=tuple(flips.items()))


def settled(incident: Incident, terms: Flapping, now: float) -> Incident:
    """Return the incident with changes that are long past dropped, and what flaps by the others.

    An alert flaps from ``changes`` changes on, until no more than half of them are left in the window: else a
    steady pace near the limit would itself begin and end over and over.
    """
    flips = {key: tuple(t for t in times if t > now - terms.within) for key, times in incident.flips}
    flips = {key: times for key, times in flips.items() if times}
    flapping = tuple(key for key, times in flips.items() if _flaps(len(times), terms, already=key in incident.flapping))
    if tuple(flips.items()) == incident.flips and flapping == incident.flapping:
        return incident
    return replace(incident, flips=tuple(flips.items()), flapping=flapping)


def would_flap(incident: Incident, fingerprints: Iterable[str], terms: Flapping, now: float) -> bool:
    """Whether one more change of one of these alerts makes it flap."""
    flips = dict(settled(incident, terms, now).flips)
    return any(_flaps(len(flips.get(key, ())) + 1, terms, already=key in incident.flapping) for key in fingerprints)


def _flaps(changes: int, terms: Flapping, *, already: bool) -> bool:
    return changes >= terms.changes or (already and changes > terms.changes / 2)
