"""The rules file, read and checked as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from watchdog.config import ReceiverConfig, SourceConfig
from watchdog.rules.build import build_inhibit, build_route, build_rule
from watchdog.rules.checks import Context
from watchdog.rules.model import Flapping, Ruleset
from watchdog.rules.mute_times import build_mute_time
from watchdog.rules.problems import Report, Table, nearest
from watchdog.rules.read import NEEDED, Tables, read_tables
from watchdog.rules.sections import (
    FlappingSection,
    InhibitSection,
    MuteTimeSection,
    PollSection,
    RouteSection,
    RuleSection,
    RulesSection,
)
from watchdog.rules.validate import validate
from watchdog.vocabulary import METRICS, Metric

Config = TypeVar("Config", SourceConfig, ReceiverConfig)
Rules = TypeVar("Rules", RouteSection, RuleSection, MuteTimeSection, InhibitSection)
Single = TypeVar("Single", PollSection, FlappingSection)
_ALWAYS = ("alertname", "severity")
"""Labels that every alert has."""
_NEEDED = {
    "sources": "nothing would be watched",
    "receivers": "nobody would be told",
    "routes": "no alert would reach a receiver",
    "rules": "nothing would be noticed",
}


def load(
    path: Path,
    source_models: Mapping[str, type[SourceConfig]],
    receiver_models: Mapping[str, type[ReceiverConfig]],
    metrics: Mapping[str, Metric] = METRICS,
) -> Ruleset:
    """Read a rules file, or the ``*.toml`` of a folder in name order, and check everything in it.

    The models are those of the adapters' own tables, by ``type``. Raises RulesError with all problems,
    in file order.
    """
    report = Report()
    tables = read_tables(path, report)
    whole = not report.count
    if whole:
        _check_presence(tables, report)
    poll = _single(tables, "poll", PollSection, report)
    flapping = _single(tables, "flapping", FlappingSection, report)
    sources = _adapters(tables.arrays["sources"], source_models, report)
    _check_intervals(tables.arrays["sources"], sources, report)
    receivers = _adapters(tables.arrays["receivers"], receiver_models, report)
    for kind, key in (("sources", "name"), ("receivers", "name"), ("mute_times", "name"), ("rules", "alert")):
        _check_names(tables.arrays[kind], key, report)
    context = _context(tables, poll, sources, metrics)
    context = context if whole else replace(context, receivers=None)
    before = report.count
    routes = [build_route(table, route, context, report) for table, route in _sections(tables, RouteSection, report)]
    if whole and report.count == before:
        _check_routed(tables, report)
    sections = _sections(tables, MuteTimeSection, report)
    mute_times = [build_mute_time(table, section, report) for table, section in sections]
    inhibits = [build_inhibit(table, one, context, report) for table, one in _sections(tables, InhibitSection, report)]
    rules = [build_rule(table, rule, context, report) for table, rule in _sections(tables, RuleSection, report)]
    report.raise_if_any()
    return Ruleset(
        interval=poll.interval,
        sources=tuple(sources),
        receivers=tuple(receivers),
        routes=tuple(routes),
        rules=tuple(rules),
        mute_times=tuple(mute_times),
        inhibits=tuple(inhibits),
        flapping=Flapping(flapping.changes, flapping.within),
        checksum=tables.checksum,
        files=tuple(tables.files),
    )


def _check_presence(tables: Tables, report: Report) -> None:
    for kind in NEEDED:
        if not tables.arrays[kind]:
            report.add_file(tables.first, 0, f"has no [[{kind}]]: {_NEEDED[kind]}", "add one; see rules.example.toml")


def _single(tables: Tables, name: str, model: type[Single], report: Report) -> Single:
    table = tables.single.get(name)
    found = validate(table, model, report) if table is not None else None
    return found if found is not None else model()


def _adapters(tables: list[Table], models: Mapping[str, type[Config]], report: Report) -> list[Config]:
    found = []
    for table in tables:
        kind = table.data.get("type")
        if kind is None:
            report.add(table, ("type",), "is missing", f"write one of {', '.join(sorted(models))}")
        elif not isinstance(kind, str) or kind not in models:
            report.add(table, ("type",), f"unknown type {kind}", nearest(str(kind), models))
        else:
            section = validate(table, models[kind], report)
            found += [] if section is None else [section]
    return found


def _check_intervals(tables: list[Table], sources: list[SourceConfig], report: Report) -> None:
    short = {source.name for source in sources if source.interval is not None and source.interval < 1}
    for table in tables:
        if table.data.get("name") in short:
            report.add(table, ("interval",), "is shorter than 1s", 'write "1s" or more')


def _context(tables: Tables, poll: PollSection, sources: list[SourceConfig], metrics: Mapping[str, Metric]) -> Context:
    intervals = [poll.interval if source.interval is None else source.interval for source in sources]
    added = {name for table in tables.arrays["rules"] for name in _keys(table.data.get("labels"))}
    return Context(
        metrics,
        labels=frozenset(added.union(_ALWAYS, *(metric.labels for metric in metrics.values()))),
        shortest=min(intervals, default=poll.interval),
        longest=max([*intervals, *(getattr(source, "step", 0.0) for source in sources)], default=poll.interval),
        receivers=frozenset(_names(tables.arrays["receivers"])),
        mute_times=frozenset(_names(tables.arrays["mute_times"])),
    )


def _keys(value: object) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


def _names(tables: list[Table]) -> set[str]:
    return {name for table in tables if isinstance(name := table.data.get("name"), str)}


def _check_names(tables: list[Table], key: str, report: Report) -> None:
    first: dict[str, Table] = {}
    for table in tables:
        name = table.data.get(key)
        if not isinstance(name, str):
            continue
        if name in first:
            report.add(table, (key,), f"{name} is also the name at {first[name].place}", "choose another")
        first.setdefault(name, table)


def _check_routed(tables: Tables, report: Report) -> None:
    """Report receivers that no route names: they would never be told anything."""
    routed = {name for table in tables.arrays["routes"] for name in _list(table.data.get("receivers"))}
    for table in tables.arrays["receivers"]:
        name = table.data.get("name")
        if tables.arrays["routes"] and isinstance(name, str) and name not in routed:
            report.add(table, ("name",), f"no route leads to {name}", "name it in the receivers of a route")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_ARRAY_OF: Mapping[type[RulesSection], str] = {
    RouteSection: "routes",
    MuteTimeSection: "mute_times",
    InhibitSection: "inhibit",
    RuleSection: "rules",
}


def _sections(tables: Tables, model: type[Rules], report: Report) -> Iterator[tuple[Table, Rules]]:
    for table in tables.arrays[_ARRAY_OF[model]]:
        section = validate(table, model, report)
        if section is not None:
            yield table, section
