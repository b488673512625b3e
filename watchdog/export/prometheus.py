"""A rules file as a rule file of Prometheus (``groups:``), with everything that it cannot say written beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from watchdog.export import yaml
from watchdog.export.expression import NO_DATA_LABEL, expressions
from watchdog.export.texts import translate
from watchdog.promql.write import duration
from watchdog.rules.build import DEFAULT_SEVERITY, SUBJECT
from watchdog.rules.model import Rule, Ruleset

GROUP = "watchdog"
LOOKBACK = 300.0
"""Seconds; the age up to which Prometheus takes a sample, unless it is started with another."""
_EVENT = "event: Prometheus resolves it when the series ends; give its receiver send_resolved: false"
_HEADER = """\
Written by `watchdog export prometheus` from {files}.

Prometheus 2.42 or newer (keep_firing_for), VictoriaMetrics (vmalert) and Mimir can evaluate it. Scrape watchdog's
/metrics every {step} with honor_labels: true, else the scraper renames the label job, on which the rules join.

What differs on purpose:
- Missing data. In watchdog an alert stands still while its data is missing: nothing fires, nothing resolves. Here it
  resolves when its series end.
- The end of a job closes its alerts in watchdog at once, with the reason. Here they end when their series end, after
  keep_firing_for, and without a reason.
- After a restart watchdog reads the past again from the clouds. Here only what was scraped counts.
"""


@dataclass(frozen=True, slots=True)
class Note:
    """Something of a rule that Prometheus cannot say."""

    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Exported:
    """The rule file, and what it does not carry over."""

    text: str
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Entry:
    """One rule of the file being written."""

    rule: Rule
    expr: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        wrapped = [line for note in self.notes for line in _wrapped(note)]
        yield from yaml.comment(wrapped, 6)
        first, *rest = yaml.mapping(self._keys(), 8)
        yield f"      - {first.lstrip()}"
        yield from rest

    def _keys(self) -> dict[str, object]:
        rule = self.rule
        keys: dict[str, object] = {"alert": rule.name, "expr": self.expr}
        if rule.for_seconds:
            keys["for"] = duration(rule.for_seconds)
        if rule.keep_firing_for:
            keys["keep_firing_for"] = duration(rule.keep_firing_for)
        return {**keys, "labels": self.labels, "annotations": self.annotations}


def export(ruleset: Ruleset, interval: float | None = None) -> Exported:
    """Return the rule file; ``interval`` is the seconds between two scrapes, the rules' own poll interval if None."""
    step = interval or poll_interval(ruleset)
    entries = [entry for rule in ruleset.rules for entry in _entries(rule, step)]
    notes = [Note("", text) for text in _general(ruleset, step)]
    notes += [Note(entry.rule.name, text) for entry in entries for text in entry.notes]
    lines = [*yaml.comment(_header(ruleset, step), 0)]
    lines += ["groups:", f"  - name: {GROUP}", f"    interval: {duration(step)}", "    rules:"]
    for entry in entries:
        lines += entry.lines()
    return Exported("\n".join(lines) + "\n", tuple(notes))


def poll_interval(ruleset: Ruleset) -> float:
    """Return the seconds between two evaluations: the pace of the fastest source."""
    return min([ruleset.interval, *(source.interval for source in ruleset.sources if source.interval is not None)])


def _entries(rule: Rule, step: float) -> Iterator[_Entry]:
    found = expressions(rule, step)
    entry = _Entry(rule, found.main, notes=[*found.notes, *([_EVENT] if rule.event else [])])
    entry.labels = _labels(rule, entry.notes)
    entry.annotations = _annotations(rule, entry.notes)
    yield entry
    if found.no_data is not None:
        missing = _Entry(rule, found.no_data, {**entry.labels, NO_DATA_LABEL: "true"})
        missing.annotations = {"summary": f"{rule.name} cannot be judged: the data it needs is missing"}
        yield missing


def _labels(rule: Rule, notes: list[str]) -> dict[str, str]:
    found = {}
    for name, text in rule.labels.items():
        translated = translate(text, rule.name, rule.threshold)
        notes += [f"label {name}: {note}" for note in translated.notes]
        if translated.text is not None:
            found[name] = translated.text
        elif name == "severity":
            found[name] = DEFAULT_SEVERITY
            notes.append(f"label severity: {DEFAULT_SEVERITY} stands in its place")
        else:
            notes.append(f"label {name}: it is left out")
    return found


def _annotations(rule: Rule, notes: list[str]) -> dict[str, str]:
    texts = {"summary": rule.summary, "description": rule.description, "runbook_url": rule.runbook_url}
    found = {}
    for key, text in texts.items():
        if not text.strip():
            continue
        translated = translate(text, rule.name, rule.threshold, rule.labels, proves=rule.proves)
        notes += [f"{key}: {note}" for note in translated.notes]
        if translated.text is not None and translated.text.strip():
            found[key] = translated.text.strip()
        elif key == "summary":
            found[key] = translate(f"{rule.name}: {SUBJECT}", rule.name).text or rule.name
            notes.append(f"summary: a built-in text stands in its place; it was: {_one_line(text)}")
        else:
            notes.append(f"{key}: it is left out; it was: {_one_line(text)}")
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _general(ruleset: Ruleset, step: float) -> Iterator[str]:
    """Yield what concerns the file as a whole."""
    keep = _keeping(ruleset)
    if keep:
        yield f'No counterpart of no_data = "keep": when their data is missing, these resolve: {", ".join(keep)}.'
    stale = [source.stale_after or max(3 * step, LOOKBACK) for source in ruleset.sources]
    if max(stale, default=LOOKBACK) > LOOKBACK:
        yield f"Samples come slowly: start Prometheus with --query.lookback-delta={duration(max(stale))}."


def _keeping(ruleset: Ruleset) -> list[str]:
    return [rule.name for rule in ruleset.rules if rule.no_data == "keep" and not rule.event]


def _header(ruleset: Ruleset, step: float) -> list[str]:
    files = ", ".join(name.replace("\\", "/").rpartition("/")[2] for name in ruleset.files) or "a rules file"
    lines = _HEADER.format(files=files, step=duration(step)).splitlines()
    return lines + [line for note in _general(ruleset, step) for line in _wrapped(f"- {note}")]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 110, subsequent_indent="  ")
