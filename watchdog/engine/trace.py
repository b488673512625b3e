"""The last evaluations of each rule: enough to see since when a rule has looked the way it does."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from watchdog.alerts.judge import Judgement, Tally
from watchdog.model import Alert, AlertState

KEPT = 20
"""Evaluations of each rule that are kept, in memory only."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One evaluation of one rule."""

    at: float
    found: int
    """Series for which the expression held."""
    pending: int
    """Alerts of the rule after it; frozen ones count too."""
    firing: int
    frozen: int
    """Alerts that could not be judged for want of data."""
    uncovered: int
    """Series whose windows held too few samples to speak of."""
    error: str = ""
    """Why it could not be evaluated; the figures above are then those of the alerts alone."""


class Trace:
    """The last evaluations of every rule, by its name."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[Evaluated]] = {}

    def record(self, rules: Collection[str], judgement: Judgement, alerts: Iterable[Alert], now: float) -> None:
        """Write down one evaluation of these rules, and forget those that there are no more."""
        counts = Counter[tuple[str, str]]()
        for alert in alerts:
            counts[alert.rule, alert.state.value] += 1
            counts[alert.rule, "frozen"] += alert.unknown_since is not None
        self._kept = {name: self._kept.get(name, deque(maxlen=KEPT)) for name in rules}
        for name, kept in self._kept.items():
            tally = judgement.tallies.get(name, Tally())
            kept.append(
                Evaluated(
                    at=now,
                    found=tally.found,
                    pending=counts[name, AlertState.PENDING.value],
                    firing=counts[name, AlertState.FIRING.value],
                    frozen=counts[name, "frozen"],
                    uncovered=tally.uncovered,
                    error=judgement.failures.get(name, ""),
                )
            )

    def of(self, rule: str) -> Sequence[Evaluated]:
        """Return the last evaluations of a rule, oldest first."""
        return tuple(self._kept.get(rule, ()))
