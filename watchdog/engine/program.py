"""A rules file made ready to run, and the constants of the sources it names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from watchdog.alerts.program import CompiledRule, compile_rules
from watchdog.incidents.book import Terms
from watchdog.jobs.sources import SourceInfo
from watchdog.ports import Source
from watchdog.rules.model import Ruleset

LOOKBACK = 300.0
"""Prometheus's look-back: how old a sample an instant selector may take, at least."""
SHORTEST_WINDOW = 900.0
LONGEST_GRACE = 7 * 86400.0
"""Seconds of history read at most to find the start of a run."""


@dataclass(frozen=True, slots=True)
class Program:
    """What the engine runs."""

    interval: float
    rules: tuple[CompiledRule, ...]
    terms: Terms
    sources: tuple[SourceInfo, ...]

    @property
    def lookback(self) -> float:
        """Seconds; not shorter than the slowest source takes to be stale, so that none resolves by its pace."""
        return max([LOOKBACK, *(info.stale_after for info in self.sources)])

    @property
    def window(self) -> float:
        """Seconds of history that the rules need; ``grace`` may count from a job's first sample."""
        grace = min(LONGEST_GRACE, max((rule.rule.grace for rule in self.rules), default=0.0))
        return max([SHORTEST_WINDOW, self.lookback, grace, *(rule.window for rule in self.rules)])


def source_info(source: Source, interval: float, stale_after: float | None) -> SourceInfo:
    """Return the constants of a source."""
    return info_of(source.name, source.step, interval, stale_after)


def info_of(name: str, step: float, interval: float, stale_after: float | None) -> SourceInfo:
    """Return the constants of the source of this name: stale after max(3 × step, 5m) where the file does not say."""
    default = max(3 * max(step, interval), LOOKBACK)
    return SourceInfo(name, interval, step, default if stale_after is None else stale_after)


def program_of(ruleset: Ruleset, sources: Iterable[SourceInfo]) -> Program:
    """Compile a checked rules file."""
    rules = compile_rules(ruleset)
    terms = Terms(
        rules={rule.name: rule for rule in ruleset.rules},
        routes=ruleset.routes,
        send_resolved={receiver.name: receiver.send_resolved for receiver in ruleset.receivers},
        flapping=ruleset.flapping,
        inhibits=ruleset.inhibits,
        mute_times={interval.name: interval for interval in ruleset.mute_times},
    )
    return Program(ruleset.interval, rules, terms, tuple(sources))
