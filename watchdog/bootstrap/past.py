"""Backtests put together: the past of files or providers, and the live engine over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path

from watchdog.bootstrap.build import Environment, build_engine, build_sources, stored
from watchdog.engine.program import program_of
from watchdog.errors import UsageError
from watchdog.files import FileItem, read_items
from watchdog.model import Snapshot
from watchdog.replay import (
    Arrivals,
    Figures,
    Ledger,
    Names,
    Onsets,
    Recording,
    extent_of,
    figures_of,
    gather,
    infos_of,
    names_of,
    read_past,
    replay,
)
from watchdog.rules.model import Ruleset

Progress = Callable[[int, int], None]
"""Called with ticks done and all ticks."""


@dataclass(frozen=True, slots=True)
class Material:
    """What is replayed."""

    recording: Recording
    start: float | None = None
    """The first tick; None: at the first sample."""
    end: float | None = None
    """The last tick; None: when all has been read."""
    errors: tuple[str, ...] = ()
    """Why some of it may be missing."""
    lag: float = 0.0
    """Seconds after its time at which a sample can be read."""


def from_files(paths: Sequence[Path], ruleset: Ruleset, job: str, zone: tzinfo) -> Material:
    """Read history files. Raises UsageError."""
    return Material(gather(read_items(paths, zone), Names(job, names_of(ruleset))))


def from_providers(rulesets: Sequence[Ruleset], env: Environment, since: float) -> Material:
    """Read the last ``since`` seconds from the sources of the first rules, and what windows need before that.

    Jobs that have ended are read as far as the store remembers them. Raises UsageError, StoreError.
    """
    ruleset, now = rulesets[0], env.clock()
    window = since + max(program_of(rules, ()).window for rules in rulesets)
    ended = [record for record in stored(env.settings).jobs if record.ended_at and record.ended_at > now - since]
    items: list[FileItem] = []
    errors = []
    for name, source in build_sources(ruleset, env).items():
        past = read_past(source, now, window, ended)
        source.close()
        items += past.items
        errors += [f"{name}: {past.error}"] if past.error else []
    try:
        recording = gather(items, Names())
    except UsageError as error:
        raise UsageError("; ".join([*errors, str(error)])) from error
    return Material(recording, now - since, now, tuple(errors))


def backtest(ruleset: Ruleset, material: Material, env: Environment, progress: Progress) -> Figures:
    """Replay through the live engine, from an empty store."""
    infos = infos_of(ruleset, material.recording)
    interval = min([ruleset.interval, *(info.interval for info in infos)])
    arrivals = Arrivals(material.recording, infos, interval, material.start, material.end, material.lag)
    start, _ = arrivals.extent
    engine = build_engine(program_of(ruleset, infos), Snapshot(), replace(env, clock=lambda: start))
    ledger = Ledger(Onsets(material.recording))
    ticks = arrivals.ticks
    for now, result in replay(engine, arrivals):
        ledger.take(now, engine, result)
        progress(ledger.ticks, ticks)
    return figures_of(ledger, ruleset, extent_of(arrivals))
