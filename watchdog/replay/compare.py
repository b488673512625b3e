"""Two rules files over one recording: which alerts has only one of them?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from watchdog.model import Labels
from watchdog.replay.figures import Figures, RuleFigures
from watchdog.replay.ledger import Firing


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes from the first rules file to the second."""

    rules: tuple[tuple[RuleFigures | None, RuleFigures | None], ...]
    """The figures of each rule in both; None in a file that does not have it. In the order of the first file."""
    only_first: tuple[Firing, ...]
    only_second: tuple[Firing, ...]
    """Firings without one of the same rule, for the same labels, at an overlapping time in the other file."""


def difference_of(first: Figures, second: Figures) -> Difference:
    """Compare two replays of one recording."""
    before = {figures.rule: figures for figures in first.rules}
    after = {figures.rule: figures for figures in second.rules}
    names = dict.fromkeys([*before, *after])
    return Difference(
        rules=tuple((before.get(name), after.get(name)) for name in names),
        only_first=_only(first, second),
        only_second=_only(second, first),
    )


def _only(one: Figures, other: Figures) -> tuple[Firing, ...]:
    there: dict[tuple[str, Labels], list[Firing]] = defaultdict(list)
    for firing in other.firings:
        there[_what(firing)].append(firing)
    end = max(one.extent.end, other.extent.end)
    return tuple(firing for firing in one.firings if not _overlaps(firing, there[_what(firing)], end))


def _what(firing: Firing) -> tuple[str, Labels]:
    return firing.alert.rule, firing.alert.instance


def _overlaps(firing: Firing, others: Iterable[Firing], end: float) -> bool:
    until = firing.start + firing.lasted(end)
    return any(firing.start <= other.start + other.lasted(end) and other.start <= until for other in others)
