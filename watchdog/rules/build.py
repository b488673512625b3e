"""Tables of ``[[rules]]`` and ``[[routes]]`` to the rules and routes that run."""

from __future__ import annotations

from collections.abc import Sequence

from watchdog.promql.storage import Matcher
from watchdog.promql.write import duration, number
from watchdog.rules.checks import (
    Context,
    check_expr,
    check_label_name,
    check_labels,
    check_template,
    check_window,
    speaks_of_end,
)
from watchdog.rules.locate import Part
from watchdog.rules.matchers import parse_matcher
from watchdog.rules.model import Inhibit, Route, Rule
from watchdog.rules.problems import Report, Table, misspelt, nearest
from watchdog.rules.sections import InhibitSection, RouteSection, RuleSection
from watchdog.rules.short_form import Side, Threshold, parse_quantity

DEFAULT_SEVERITY = "warning"
SEVERITIES = ("info", "warning", "error", "critical")
"""The words that are ordered; others are allowed."""
_SHORT_ONLY = ("match", "below", "above", "window", "reduce", "clear")
_OF_RESOLVING = ("clear", "clear_expr", "keep_firing_for", "waste")
"""Keys that mean nothing to an event, which has no end."""
_OWN_LABELS = ("alertname", "source", "project", "job")
"""Labels that say what an alert is about; a rule must not overwrite them."""
SUBJECT = (
    "{{ labels.job_name or labels.job or labels.project_name or labels.project or labels.source or 'all' }}"
    "{% if labels.node %} node {{ labels.node }}{% endif %}{% if labels.gpu %} GPU {{ labels.gpu }}{% endif %}"
)
"""A template of whom an alert is about, for built-in texts."""
_SHOWN = {"ratio": " | humanizePercentage", "bytes": " | humanize1024", "seconds": " | humanizeDuration"}


def build_rule(table: Table, section: RuleSection, context: Context, report: Report) -> Rule:
    """Return a rule; it is fit to run only if nothing was added to ``report``."""
    _check_form(table, section, report)
    _check_event(table, section, report)
    _check_for(table, section, context, report)
    threshold = None
    if section.metric is not None:
        threshold = _threshold(table, section, section.metric, context, report)
    for key in ("expr", "clear_expr"):
        text = getattr(section, key)
        if text is not None:
            check_expr(table, key, text, context, report)
    for key in ("summary", "description", "runbook_url"):
        check_template(table, (key,), getattr(section, key), context, report)
    _check_group_by(table, section.group_by, context, report)
    return Rule(
        name=section.alert,
        expr=threshold.expr if threshold else section.expr or "",
        place=table.place,
        clear_expr=threshold.clear_expr if threshold else section.clear_expr,
        for_seconds=section.for_,
        keep_firing_for=section.keep_firing_for,
        grace=section.grace,
        min_coverage=section.min_coverage,
        no_data=section.no_data,
        event=section.event,
        waste=section.waste,
        labels=_labels(table, section, context, report),
        summary=section.summary or _summary(section, threshold, context),
        description=section.description,
        runbook_url=section.runbook_url,
        group_by=section.group_by,
        metric=section.metric,
        threshold=threshold.limit if threshold else None,
    )


def build_route(table: Table, section: RouteSection, context: Context, report: Report) -> Route:
    """Return a route; reports receivers that do not exist, and matchers that are none."""
    for position, name in enumerate(section.receivers):
        if context.receivers is not None and name not in context.receivers:
            remedy = nearest(name, context.receivers)
            report.add(table, ("receivers", position), f"no receiver is named {name}", remedy)
    for position, name in enumerate(section.mute_times):
        if context.receivers is not None and name not in context.mute_times:
            remedy = nearest(name, context.mute_times)
            report.add(table, ("mute_times", position), f"no mute time is named {name}", remedy)
    matchers = _matchers(table, section.match, report)
    for position, matcher in matchers:
        check_label_name(table, ("match", position), matcher.name, context, report)
    _check_group_by(table, section.group_by, context, report)
    return Route(
        receivers=section.receivers,
        matchers=tuple(matcher for _, matcher in matchers),
        continue_=section.continue_,
        group_by=section.group_by,
        group_wait=section.group_wait,
        repeat_interval=section.repeat_interval,
        mute_times=section.mute_times,
        place=table.place,
    )


def build_inhibit(table: Table, section: InhibitSection, context: Context, report: Report) -> Inhibit:
    """Return an inhibition; reports matchers that are none, and labels that no alert has."""
    sides = []
    for key, texts in (("source_match", section.source_match), ("target_match", section.target_match)):
        found = _matchers(table, texts, report, key)
        for position, matcher in found:
            check_label_name(table, (key, position), matcher.name, context, report)
        sides.append(tuple(matcher for _, matcher in found))
    for position, name in enumerate(section.equal):
        check_label_name(table, ("equal", position), name, context, report)
    return Inhibit(sides[0], sides[1], section.equal)


def _matchers(table: Table, texts: Sequence[str], report: Report, key: str = "match") -> list[tuple[int, Matcher]]:
    """Return the matchers with their positions; what is none is reported and left out."""
    found = []
    for position, text in enumerate(texts):
        try:
            found.append((position, parse_matcher(text)))
        except ValueError as error:
            _report(table, (key, position), error, report)
    return found


def _check_group_by(table: Table, names: Sequence[str] | None, context: Context, report: Report) -> None:
    for position, name in enumerate(names or ()):
        check_label_name(table, ("group_by", position), name, context, report)


def _report(table: Table, keys: tuple[Part, ...], error: ValueError, report: Report) -> None:
    reason, _, remedy = str(error).partition("; ")
    report.add(table, keys, reason, remedy or "correct it")


def _check_form(table: Table, section: RuleSection, report: Report) -> None:
    if section.metric is not None and section.expr is not None:
        report.add(table, ("expr",), "stands beside metric", "write either expr, or metric with below or above")
    elif section.metric is None and section.expr is None:
        report.add(table, (), "has neither metric nor expr", 'add metric and below = "5%" (or above), or expr')
    elif section.metric is not None and section.clear_expr is not None:
        report.add(table, ("clear_expr",), "belongs to expr", "write clear beside metric")
    elif section.metric is None:
        for key in _SHORT_ONLY:
            if getattr(section, key) not in (None, ()):
                remedy = "write clear_expr" if key == "clear" else "write it into expr"
                report.add(table, (key,), "belongs to metric, and this rule has expr", remedy)


def _check_event(table: Table, section: RuleSection, report: Report) -> None:
    for key in _OF_RESOLVING if section.event else ():
        if getattr(section, key):
            report.add(
                table, (key,), "is about how long it lasts, and an event never resolves", "leave it out, or event"
            )
    if section.expr is None or not speaks_of_end(section.expr):
        return
    if not section.event:
        reason = "holds only for jobs that have ended, whose alerts are closed: it would never fire"
        report.add(table, ("expr",), reason, "add event = true")
    elif section.for_:
        report.add(
            table, ("for",), "waits, and the end of a job is seen only once: it would never fire", "leave it out"
        )


def _check_for(table: Table, section: RuleSection, context: Context, report: Report) -> None:
    if 0 < section.for_ < context.shortest:
        reason = f"{duration(section.for_)} is shorter than the poll interval, {duration(context.shortest)}"
        report.add(table, ("for",), reason, f'write "{duration(context.shortest)}" or more, or leave it out')


def _threshold(table: Table, section: RuleSection, metric: str, context: Context, report: Report) -> Threshold | None:
    matchers = _matchers(table, section.match, report)
    if metric not in context.metrics:
        report.add(table, ("metric",), f"unknown metric {metric}", nearest(metric, context.metrics))
    else:
        for position, matcher in matchers:
            check_labels(table, ("match", position), [matcher], context.metrics[metric], report)
    if section.window is not None:
        check_window(table, "window", section.window, context, report)
    elif section.reduce is not None:
        report.add(table, ("reduce",), "has no window to reduce", 'add window = "20m"')
    side = _side(table, section, report)
    limit = _quantity(table, side, section, context, report) if side else None
    clear = _quantity(table, "clear", section, context, report)
    if side is None or limit is None:
        return None
    if clear is not None and (clear < limit if side == "below" else clear > limit):
        reason = f"is on the side where the alert fires ({side} {number(limit)})"
        report.add(table, ("clear",), reason, f"set it at or {'above' if side == 'below' else 'below'} the limit")
    chosen = tuple(matcher for _, matcher in matchers)
    return Threshold(metric, side, limit, section.window, section.reduce, clear, chosen)


def _side(table: Table, section: RuleSection, report: Report) -> Side | None:
    if section.below is not None and section.above is not None:
        report.add(table, ("above",), "stands beside below", "keep one of the two; write two rules for a band")
        return None
    if section.below is None and section.above is None:
        report.add(table, ("metric",), "has no limit", 'add below = "5%" or above = "95%"')
        return None
    return "below" if section.below is not None else "above"


def _quantity(table: Table, key: str, section: RuleSection, context: Context, report: Report) -> float | None:
    value = getattr(section, key)
    known = context.metrics.get(section.metric or "")
    if value is None or known is None:
        return None
    try:
        return parse_quantity(value, known.unit)
    except ValueError as error:
        _report(table, (key,), error, report)
        return None


def _labels(table: Table, section: RuleSection, context: Context, report: Report) -> dict[str, str]:
    for name, text in section.labels.items():
        check_template(table, ("labels", name), text, context, report)
        if name in _OWN_LABELS:
            report.add(table, ("labels", name), "says what the alert is about", "choose another name")
    if section.severity is not None:
        check_template(table, ("severity",), section.severity, context, report)
        if "severity" in section.labels:
            report.add(table, ("severity",), "is also in labels", "keep one of the two")
    severity = section.severity or section.labels.get("severity") or DEFAULT_SEVERITY
    meant = misspelt(severity, SEVERITIES, likeness=0.65)
    if meant is not None:
        keys = ("severity",) if section.severity is not None else ("labels", "severity")
        report.add(table, keys, f"{severity} is no severity that is ordered", f"did you mean {meant}?")
    return {**section.labels, "severity": severity}


def _summary(section: RuleSection, threshold: Threshold | None, context: Context) -> str:
    """Return the built-in text of a rule without its own."""
    if threshold is None:
        return f"{section.alert}: {SUBJECT}"
    shown = _SHOWN.get(context.metrics[threshold.metric].unit, " | humanize")
    during = f" for {duration(threshold.window)}" if threshold.window else ""
    limit = f"{threshold.side} {{{{ threshold{shown} }}}}"
    return f"{SUBJECT}: {threshold.metric} {limit}{during} (now {{{{ value{shown} }}}})"
