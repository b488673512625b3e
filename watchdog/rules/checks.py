"""What can be wrong with an expression or a template, found before it is ever needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from watchdog import templates
from watchdog.errors import PromQLError
from watchdog.promql import Query, parse, point
from watchdog.promql.functions import LABELLING
from watchdog.promql.nodes import Aggregate, Binary, Call, Node, Number, Selector, Subquery, Text
from watchdog.promql.parse import walk
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.promql.write import duration
from watchdog.rules.locate import Part
from watchdog.rules.problems import Report, Table, misspelt, nearest
from watchdog.vocabulary import Metric

SAMPLE_LABELS = (
    *("alertname", "severity", "source", "provider", "project", "project_name", "job", "job_name"),
    *("owner", "gpu_type", "node", "gpu", "status"),
)
SAMPLE: Mapping[str, Any] = {
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
BARE: Mapping[str, Any] = {**SAMPLE, "labels": {}, "job": dict.fromkeys(SAMPLE["job"])}
"""The same of an alert of which little is known."""
LONGEST_WINDOW = 7 * 86400.0
"""Seconds of history that a rule may ask for: memory is bounded by the longest window of all rules."""
_END_STATES = ("completed", "failed", "stopped")
_SEE = "docs/rules.md lists what is supported"


@dataclass(frozen=True, slots=True)
class Context:
    """What the rules of one file are checked against."""

    metrics: Mapping[str, Metric]
    labels: frozenset[str]
    """Every label that an alert may have: those of the metrics and those that rules add."""
    shortest: float
    """Seconds between ticks: the shortest interval of all sources."""
    longest: float
    """Seconds between two samples of the slowest source."""
    receivers: frozenset[str] | None
    """Their names; None while a file could not be read, which may hold more of them."""
    mute_times: frozenset[str] = frozenset()


def check_expr(table: Table, key: str, text: str, context: Context, report: Report) -> None:
    """Report an expression that does not parse, asks for unknown metrics, or whose windows are too short."""
    try:
        query = parse(text)
    except PromQLError as error:
        report.add(
            table,
            (key,),
            f"{error.reason}, {_at(text, error.start, error.end)}",
            error.remedy or _SEE,
            point(text, error.start, error.end),
        )
        return
    _check_shape(table, key, query, report)
    for selector in query.selectors:
        place, excerpt = _at(text, selector.start, selector.end), _pointed(text, selector)
        if selector.metric is None:
            report.add(table, (key,), f"names no metric, {place}", "write the metric's name before the braces", excerpt)
        elif selector.metric not in context.metrics:
            remedy = nearest(selector.metric, context.metrics)
            report.add(table, (key,), f"unknown metric {selector.metric}, {place}", remedy, excerpt)
        else:
            check_labels(table, (key,), selector.matchers, context.metrics[selector.metric], report)
        if selector.range is not None:
            check_window(table, key, selector.range, context, report)
    for subquery in (node for node in walk(query.root) if isinstance(node, Subquery)):
        if subquery.step is not None and subquery.range < 2 * subquery.step:
            place = _at(text, subquery.start, subquery.end)
            reason, remedy = f"the subquery cannot hold two steps, {place}", "make it longer, or the step shorter"
            report.add(table, (key,), reason, remedy, _pointed(text, subquery))
    _check_grouping(table, key, query, context, report)


def speaks_of_end(text: str) -> bool:
    """Whether an expression holds only for jobs that have ended: ``job_status{status="failed"} == 1``, say."""
    try:
        node = parse(text).root
    except PromQLError:
        return False
    while isinstance(node, Binary) and node.op in ("and", "unless"):
        node = node.left
    if isinstance(node, Binary) and isinstance(node.right, Number):
        if (node.op, node.right.value) not in (("==", 1.0), (">", 0.0), (">=", 1.0), ("!=", 0.0)):
            return False
        node = node.left
    return isinstance(node, Selector) and any(
        (m.name, m.op) == ("status", MatchOp.EQUAL) and m.value in _END_STATES for m in node.matchers
    )


def _check_shape(table: Table, key: str, query: Query, report: Report) -> None:
    """Report what PromQL can say and a rule cannot use."""
    if query.kind != "vector":
        given = {"scalar": "a number", "string": "a text", "matrix": "a range of samples"}[query.kind]
        report.add(table, (key,), f"gives {given}, not series", "compare a metric with something, as in a > 1")
    for node in query.fixed:
        place = _at(query.text, node.start, node.end)
        reason = f"reads at a fixed time, which the history will not hold for long, {place}"
        report.add(
            table, (key,), reason, "use offset, or watchdog query for a look at the past", _pointed(query.text, node)
        )
    if query.window > LONGEST_WINDOW:
        reason = f"reads {duration(query.window)} back; {duration(LONGEST_WINDOW)} are kept in memory at most"
        report.add(table, (key,), reason, "use a shorter window")


def check_labels(
    table: Table, keys: tuple[Part, ...], matchers: Collection[Matcher], metric: Metric, report: Report
) -> None:
    """Report matchers on labels that the metric cannot have: they would silently match nothing, or all."""
    for matcher in matchers:
        if matcher.name not in (*metric.labels, "__name__"):
            reason = f"{metric.name} has no label {matcher.name}"
            report.add(table, keys, reason, nearest(matcher.name, metric.labels))


def _check_grouping(table: Table, key: str, query: Query, context: Context, report: Report) -> None:
    """Report labels of ``by``, ``on`` and their like that no metric of the expression has."""
    known = {name for metric in query.metrics if metric in context.metrics for name in context.metrics[metric].labels}
    known |= {node.value for node in _written(query)} if known else set()
    for node, name in _grouping(query):
        if known and name not in known:
            reason = f"no metric of the expression has a label {name}, {_at(query.text, node.start, node.end)}"
            report.add(table, (key,), reason, nearest(name, known), _pointed(query.text, node))


def _grouping(query: Query) -> Iterator[tuple[Node, str]]:
    for node in walk(query.root):
        if isinstance(node, Aggregate):
            yield from ((node, name) for name in node.labels)
        elif isinstance(node, Binary):
            yield from ((node, name) for name in (*node.matching.labels, *node.matching.include))


def _written(query: Query) -> Iterator[Text]:
    """Yield the names of the labels that the expression itself makes."""
    for node in walk(query.root):
        if isinstance(node, Call) and node.name in LABELLING:
            yield from [item for item in node.arguments if isinstance(item, Text)][:1]
        elif isinstance(node, Aggregate) and isinstance(node.param, Text):
            yield node.param


def check_label_name(table: Table, keys: tuple[Part, ...], name: str, context: Context, report: Report) -> None:
    """Report a name that is nearly one of the labels that alerts have."""
    meant = misspelt(name, context.labels)
    if meant is not None:
        report.add(table, keys, f"no alert has a label {name}", f"did you mean {meant}?")


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


def check_template(table: Table, keys: tuple[Part, ...], text: str, context: Context, report: Report) -> None:
    """Report a template that does not compile, names what does not exist, or fails on sample data."""
    try:
        template = templates.compile_template(text)
        names = templates.names_in(template)
        for data in (SAMPLE, BARE):
            # Only a rule with a metric has a limit that a text can name.
            limit = 0.5 if "metric" in table.data else None
            templates.render(template, {**data, "threshold": limit})
    except ValueError as error:
        reason, _, remedy = str(error).partition("; ")
        reason = reason if reason.startswith("is not") else f"the template {reason}"
        report.add(table, keys, reason, remedy or "docs/rules.md lists what a template may use")
        return
    before = report.count
    for name in sorted(names.variables - templates.DATA_NAMES):
        report.add(table, keys, f"the template names {name}, which there is not", nearest(name, templates.DATA_NAMES))
    if names.job and keys[0] in ("labels", "severity"):
        report.add(table, keys, "names job, whose facts may change while the alert lasts", "use labels")
    for name in sorted(names.job - set(SAMPLE["job"])):
        report.add(table, keys, f"the template names job.{name}, which there is not", nearest(name, SAMPLE["job"]))
    for name in sorted(names.labels):
        check_label_name(table, keys, name, context, report)
    blank = text and not templates.render(template, {**SAMPLE, "threshold": 0.5}).strip()
    if blank and keys == ("summary",) and report.count == before:
        report.add(table, keys, "prints nothing", "write a text, or leave it out for the built-in one")


def _pointed(text: str, node: Node) -> str:
    return point(text, node.start, node.end)


def _at(text: str, start: int, end: int) -> str:
    """Name a place of an expression by its first character, counted from 1, and its words."""
    words = text[start:end].strip()
    return f"at character {start + 1}" + (f": {words[:40]}" if words else "")
