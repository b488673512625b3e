"""Inhibition: while one alert fires, others need no word of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from watchdog.rules.matchers import matches
from watchdog.rules.model import Inhibit


def inhibitor(
    labels: Mapping[str, str], firing: Iterable[Mapping[str, str]], rules: Iterable[Inhibit]
) -> Mapping[str, str] | None:
    """Return the labels of a firing alert that inhibits an alert with ``labels``; None if none does.

    As in Alertmanager: a label that is missing equals one that is empty, and an alert that is on both sides of
    a rule is not inhibited by another such alert, nor by itself.
    """
    alerts = list(firing)
    for rule in rules:
        if not matches(rule.target, labels):
            continue
        both_sides = matches(rule.source, labels)
        for source in alerts:
            if not matches(rule.source, source) or (both_sides and matches(rule.target, source)):
                continue
            if all(source.get(name, "") == labels.get(name, "") for name in rule.equal):
                return source
    return None
