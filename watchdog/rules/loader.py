"""The rules file, read and checked as a whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

from watchdog.config import ReceiverConfig, SourceConfig
from watchdog.rules.build import build_route, build_rule
from watchdog.rules.checks import Context
from watchdog.rules.model import Route, Rule, Ruleset
from watchdog.rules.problems import Report, Table, nearest
from watchdog.rules.read import ARRAYS, Tables, read_tables
from watchdog.rules.sections import PollSection, RouteSection, RuleSection
from watchdog.rules.validate import validate
from watchdog.vocabulary import METRICS, Metric

Config = TypeVar("Config", SourceConfig, ReceiverConfig)
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
    if not report.count:
        _check_presence(tables, report)
    poll = _poll(tables, report)
    sources = _adapters(tables.arrays["sources"], source_models, report)
    _check_intervals(tables.arrays["sources"], sources, report)
    receivers = _adapters(tables.arrays["receivers"], receiver_models, report)
    for kind, key in (("sources", "name"), ("receivers", "name"), ("rules", "alert")):
        _check_names(tables.arrays[kind], key, report)
    routes = _routes(tables.arrays["routes"], _names(tables.arrays["receivers"]), report)
    rules = _rules(tables.arrays["rules"], _context(poll, sources, metrics), report)
    report.raise_if_any()
    return Ruleset(
        interval=poll.interval,
        sources=tuple(sources),
        receivers=tuple(receivers),
        routes=tuple(routes),
        rules=tuple(rules),
        checksum=tables.checksum,
        files=tuple(tables.files),
    )


def _check_presence(tables: Tables, report: Report) -> None:
    for kind in ARRAYS:
        if not tables.arrays[kind]:
            report.add_file(tables.first, 0, f"has no [[{kind}]]: {_NEEDED[kind]}", "add one; see rules.example.toml")


def _poll(tables: Tables, report: Report) -> PollSection:
    found = [validate(table, PollSection, report) for table in tables.poll]
    return next((section for section in found if section is not None), PollSection())


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


def _context(poll: PollSection, sources: list[SourceConfig], metrics: Mapping[str, Metric]) -> Context:
    intervals = [poll.interval if source.interval is None else source.interval for source in sources]
    return Context(
        metrics,
        shortest=min(intervals, default=poll.interval),
        longest=max(intervals, default=poll.interval),
    )


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


def _routes(tables: list[Table], receivers: Collection[str], report: Report) -> list[Route]:
    sections = [(table, validate(table, RouteSection, report)) for table in tables]
    return [build_route(table, section, receivers, report) for table, section in sections if section is not None]


def _rules(tables: list[Table], context: Context, report: Report) -> list[Rule]:
    sections = [(table, validate(table, RuleSection, report)) for table in tables]
    return [build_rule(table, section, context, report) for table, section in sections if section is not None]
