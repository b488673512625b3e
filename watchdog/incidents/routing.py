"""Where an alert goes: the routes of the rules file, first match first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchdog.incidents.severity import rank
from watchdog.rules.matchers import matches
from watchdog.rules.model import DEFAULT_GROUP_BY, Route

DEFAULT_GROUP_WAIT = 10.0


@dataclass(frozen=True, slots=True)
class Destination:
    """One receiver of an alert, with the terms of the route that led there."""

    receiver: str
    repeat_interval: float
    group_wait: float
    mute_times: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Routed:
    """Where one alert goes and which incident it belongs to."""

    destinations: tuple[Destination, ...]
    group_by: tuple[str, ...]
    places: tuple[str, ...] = ()
    """Where in the rules file the matching routes stand."""


def route(labels: Mapping[str, str], routes: Sequence[Route], group_by: tuple[str, ...] | None = None) -> Routed:
    """Return the destinations of an alert with these labels; ``group_by`` is the rule's own, which wins.

    A receiver that several routes name is told once, on the terms of the first. An alert that no
    route matches goes nowhere.
    """
    found: dict[str, Destination] = {}
    grouping = group_by
    places = []
    for candidate in routes:
        if not matches(candidate.matchers, labels):
            continue
        places.append(candidate.place)
        grouping = grouping if grouping is not None else candidate.group_by
        wait = candidate.group_wait
        if wait is None:
            wait = 0.0 if rank(labels.get("severity", "")) >= rank("critical") else DEFAULT_GROUP_WAIT
        for name in candidate.receivers:
            found.setdefault(name, Destination(name, candidate.repeat_interval, wait, candidate.mute_times))
        if not candidate.continue_:
            break
    return Routed(tuple(found.values()), grouping if grouping is not None else DEFAULT_GROUP_BY, tuple(places))
