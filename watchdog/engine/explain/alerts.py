"""The open alerts of a rule: how they stand, why, and whom they reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchdog.alerts.knowledge import Doubt, Knowledge, Unknown
from watchdog.alerts.program import CompiledRule
from watchdog.engine.engine import Engine
from watchdog.engine.explain.blame import blame, described
from watchdog.engine.explain.look import Evaluation, Look
from watchdog.engine.explain.model import OpenAlert, Reason, Verdict
from watchdog.engine.explain.subject import Subject
from watchdog.incidents.routing import route
from watchdog.labels import LabelColumns
from watchdog.model import Alert, AlertState, Labels
from watchdog.muting import Mutes


@dataclass(frozen=True, slots=True)
class Case:
    """One rule at its last evaluation."""

    engine: Engine
    rule: CompiledRule
    at: float
    expr: Evaluation
    clear: Evaluation | None
    """Of ``clear_expr``, if the rule has one."""
    mutes: Mutes
    holding: frozenset[Labels]
    """The alerts for which the expression holds."""

    @property
    def knowledge(self) -> Knowledge:
        """What the judge knew."""
        return Knowledge(self.engine.history, self.engine.registry, self.engine.sources, self.at)

    @property
    def uncovered(self) -> LabelColumns | None:
        """Series whose windows held too few samples."""
        parts = [one.uncovered for one in (self.expr, self.clear) if one is not None and one.uncovered is not None]
        return LabelColumns.concat(parts) if parts else None

    def words(self, unknown: Unknown, source: str | None) -> str:
        """Return a doubt in words, with the error of the source that is down."""
        state = self.engine.sources.get(source) if source and unknown.doubt is Doubt.SOURCE else None
        return f"{unknown.reason} ({state.error})" if state is not None and state.error else unknown.reason

    def look(self, evaluation: Evaluation, subject: Subject) -> Look:
        """Return an evaluation as the subject sees it."""
        return Look(evaluation, subject, self.rule.rule.min_coverage)

    def alerts(self, subject: Subject) -> list[Alert]:
        """Return the open alerts of the rule that speak of the subject: firing, frozen, pending."""
        found = [alert for alert in self.engine.judge.alerts.values() if alert.rule == self.rule.rule.name]
        mine = [alert for alert in found if subject.about(dict(alert.instance))]
        return sorted(mine, key=lambda one: (one.unknown_since is not None, one.state is AlertState.PENDING))


def open_alert(case: Case, alert: Alert, subject: Subject) -> OpenAlert:
    """Return how one alert stands."""
    routed = route(alert.label_map, case.engine.program.terms.routes, case.rule.rule.group_by)
    mutes = case.mutes
    muted = mutes.why(alert.label_map)
    if not muted and routed.destinations and all(mutes.time(item.mute_times) for item in routed.destinations):
        muted = mutes.time(routed.destinations[0].mute_times)
    return OpenAlert(
        labels=dict(alert.instance),
        name=subject.name(_identity(alert)),
        state=alert.state.value,
        frozen=alert.unknown_since is not None,
        value=alert.value,
        text=_text(case, alert, subject),
        receivers=tuple(item.receiver for item in routed.destinations),
        routes=routed.places,
        muted=muted,
    )


def verdict(alerts: Sequence[OpenAlert], count: int) -> Verdict:
    """Return what ``count`` open alerts come to, in one reason; ``alerts`` are the first of them, not none."""
    reason, first = min(((_reason(alert), alert) for alert in alerts), key=lambda pair: _ORDER.index(pair[0]))
    more = count - 1
    name = f"{first.name}: " if first.name else ""
    text = f"no route matches its labels; {first.text}" if reason is Reason.UNROUTED else first.text
    text = f"{first.muted}; {text}" if reason is Reason.MUTED else text
    return Verdict(reason, f"{name}{text}" + (f"; and {more} more series" if more else ""))


_ORDER = (Reason.FIRING, Reason.MUTED, Reason.UNROUTED, Reason.FROZEN, Reason.PENDING)


def _reason(alert: OpenAlert) -> Reason:
    if alert.frozen:
        return Reason.FROZEN
    if alert.state == AlertState.PENDING.value:
        return Reason.PENDING
    if not alert.receivers:
        return Reason.UNROUTED
    return Reason.MUTED if alert.muted else Reason.FIRING


def _text(case: Case, alert: Alert, subject: Subject) -> str:
    rule, now = case.rule.rule, case.at
    if alert.unknown_since is not None:
        return f"{_doubt(case, alert)}; it stays as it was {described(now - alert.unknown_since)} ago"
    held = described(now - alert.active_at)
    if alert.state is AlertState.PENDING:
        return f"it has held for {held} of {described(rule.for_seconds)}"
    if alert.event:
        return "it has happened, and is said once"
    if alert.no_data and alert.keep_firing_since is None:
        return f'{_doubt(case, alert)}, and no_data is "alert"'
    if alert.keep_firing_since is not None:
        since = described(now - alert.keep_firing_since)
        return f"it has not held for {since} and is kept for {described(rule.keep_firing_for)} (keep_firing_for)"
    if case.clear is not None and alert.instance not in case.holding:
        return (
            f"it holds no more, but is not clear yet: {_not_clear(case, case.clear, subject.narrowed(alert.instance))}"
        )
    return f"it has held for {held}"


def _identity(alert: Alert) -> dict[str, str]:
    """Return the labels of the series, and the job's name for people."""
    names = {name for name, _ in alert.instance} | {"job_name"}
    return {name: value for name, value in alert.labels if name in names}


def _doubt(case: Case, alert: Alert) -> str:
    unknown = case.knowledge.doubt(case.rule, alert.instance, case.uncovered, holds=alert.instance in case.holding)
    return case.words(unknown, dict(alert.instance).get("source")) if unknown is not None else "its data was missing"


def _not_clear(case: Case, clear: Evaluation, subject: Subject) -> str:
    return blame(case.look(clear, subject)).text
