"""What can be wrong with an expression or a template, found before it is ever needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watchdog import templates
from watchdog.errors import PromQLError
from watchdog.promql import parse
from watchdog.rules.locate import Part
from watchdog.rules.problems import Report, Table, nearest
from watchdog.rules.short_form import duration
from watchdog.vocabulary import Metric

SAMPLE_LABELS = (
    *("alertname", "severity", "source", "provider", "project", "project_name", "job", "job_name"),
    *("owner", "gpu_type", "node", "gpu", "status"),
)
SAMPLE = {
    "labels": {name: f"a-{name}" for name in SAMPLE_LABELS},
    "value": 0.5,
    "duration": 3600.0,
    "threshold": 0.5,
    "job": {
        "id": "a-job",
        "name": "a-job_name",
        "status": "running",
        "url": "https://example.com/a-job",
        "owner": "a-owner",
        "gpus": 8,
        "gpu_type": "H100",
        "cost_usd_per_hour": 32.0,
        "error": "a-error",
    },
}
"""What a template is tried with; the shape of ``alerts/texts.py``."""
_SEE = "docs/rules.md lists what is supported"


@dataclass(frozen=True, slots=True)
class Context:
    """What the rules of one file are checked against."""

    metrics: Mapping[str, Metric]
    shortest: float
    """Seconds between ticks: the shortest interval of all sources."""
    longest: float
    """Seconds between two samples of the slowest source."""


def check_expr(table: Table, key: str, text: str, context: Context, report: Report) -> None:
    """Report an expression that does not parse, asks for unknown metrics, or whose windows are too short."""
    try:
        query = parse(text)
    except PromQLError as error:
        report.add(table, (key,), f"{error.reason}, {_at(text, error.start, error.end)}", error.remedy or _SEE)
        return
    for selector in query.selectors:
        place = _at(text, selector.start, selector.end)
        if selector.metric is None:
            report.add(table, (key,), f"names no metric, {place}", "write the metric's name before the braces")
        elif selector.metric not in context.metrics:
            remedy = nearest(selector.metric, context.metrics)
            report.add(table, (key,), f"unknown metric {selector.metric}, {place}", remedy)
        if selector.range is not None:
            check_window(table, key, selector.range, context, report)


def check_window(table: Table, key: str, window: float, context: Context, report: Report) -> None:
    """Report a window that cannot hold two samples."""
    least = 2 * context.longest
    if window < least:
        report.add(
            table,
            (key,),
            f"the window {duration(window)} cannot hold two samples that are {duration(context.longest)} apart",
            f"make it {duration(least)} or longer, or poll more often",
        )


def check_template(table: Table, keys: tuple[Part, ...], text: str, report: Report) -> None:
    """Report a template that does not compile or fails on sample data."""
    try:
        templates.render(templates.compile_template(text), SAMPLE)
    except ValueError as error:
        report.add(table, keys, f"the template {error}", "docs/rules.md lists what a template may use")


def _at(text: str, start: int, end: int) -> str:
    """Name a place of an expression by its first character, counted from 1, and its words."""
    words = text[start:end].strip()
    return f"at character {start + 1}" + (f": {words[:40]}" if words else "")
