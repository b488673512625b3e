"""A rules file with everything that it names built, ready to be put in force; what has not changed is taken over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watchdog.bootstrap.build import Environment, build_program, build_receiver, build_source, require
from watchdog.engine.program import Program
from watchdog.ports import Receiver, Source
from watchdog.receivers import Pacer
from watchdog.rules.model import Ruleset


@dataclass(frozen=True, slots=True)
class Prepared:
    """What runs, or is about to."""

    ruleset: Ruleset
    program: Program
    sources: Mapping[str, Source]
    receivers: Mapping[str, Receiver]

    def turns(self) -> dict[str, tuple[Source, float]]:
        """Return each source with the seconds between its polls."""
        return {
            config.name: (self.sources[config.name], config.interval or self.ruleset.interval)
            for config in self.ruleset.sources
        }

    def close(self, but: Prepared | None = None) -> None:
        """Free all connections, but those that ``but`` goes on with."""
        kept = () if but is None else (*but.sources.values(), *but.receivers.values())
        items: list[Source | Receiver] = [*self.sources.values(), *self.receivers.values()]
        for item in items:
            if not any(item is other for other in kept):
                item.close()


def prepare(ruleset: Ruleset, env: Environment, pacer: Pacer, before: Prepared | None = None) -> Prepared:
    """Build what a checked rules file names; of ``before`` that stays whose section has not changed.

    Raises UsageError that names every secret that is missing.
    """
    require(ruleset, env)
    old_sources, old_receivers = ({}, {}) if before is None else _unchanged(ruleset, before)
    sources = {
        config.name: old_sources.get(config.name) or build_source(config, ruleset, env) for config in ruleset.sources
    }
    receivers = {
        config.name: old_receivers.get(config.name) or build_receiver(config, env, pacer)
        for config in ruleset.receivers
    }
    return Prepared(ruleset, build_program(ruleset, sources), sources, receivers)


def _unchanged(ruleset: Ruleset, before: Prepared) -> tuple[dict[str, Source], dict[str, Receiver]]:
    old = before.ruleset
    intervals = {name: interval for name, (_, interval) in before.turns().items()}
    sources = {
        config.name: before.sources[config.name]
        for config in ruleset.sources
        if config in old.sources and (config.interval or ruleset.interval) == intervals[config.name]
    }
    receivers = {config.name: before.receivers[config.name] for config in ruleset.receivers if config in old.receivers}
    return sources, receivers
