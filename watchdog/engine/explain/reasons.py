"""The first reason why a rule fires or does not, for one subject."""

from __future__ import annotations

from datetime import UTC, datetime

from watchdog.alerts.judge import in_grace
from watchdog.alerts.knowledge import Doubt
from watchdog.engine.explain import alerts as standing
from watchdog.engine.explain.alerts import Case, open_alert
from watchdog.engine.explain.blame import blame, described
from watchdog.engine.explain.look import is_empty
from watchdog.engine.explain.model import OpenAlert, Reason, Verdict
from watchdog.engine.explain.subject import Subject
from watchdog.jobs.series import over
from watchdog.model import JobRecord

MOST_ALERTS = 100
"""Open alerts that an explanation holds."""


def judged(case: Case, subject: Subject) -> tuple[Verdict, tuple[OpenAlert, ...], int]:
    """Return the first reason, the first open alerts, and how many of those there are."""
    found = case.alerts(subject)
    alerts = tuple(open_alert(case, alert, subject) for alert in found[:MOST_ALERTS])
    return _verdict(case, subject, alerts, len(found)), alerts, len(found)


def _verdict(case: Case, subject: Subject, alerts: tuple[OpenAlert, ...], count: int) -> Verdict:
    failure = case.engine.last.failures.get(case.rule.rule.name, "") if case.engine.last else ""
    if failure:
        return Verdict(Reason.ERROR, failure + ("; its alerts stay as they are" if count else ""))
    if count:
        return standing.verdict(alerts, count)
    return _ended(case, subject) or _unjudged(case, subject) or _idle(case, subject)


def _ended(case: Case, subject: Subject) -> Verdict | None:
    record = subject.record
    if record is None or record.ended_at is None:
        return None
    ago = described(case.at - record.ended_at)
    return Verdict(Reason.ENDED, f"the job ended {ago} ago, {clock(record.ended_at)} ({record.end_reason})")


def _unjudged(case: Case, subject: Subject) -> Verdict | None:
    """Say why nothing can be judged: the source is down, or the job does not run."""
    doubt = case.knowledge.doubt(case.rule, subject.labels, None, holds=True)
    if doubt is None or doubt.doubt is Doubt.DATA:
        return None
    reason = Reason.SOURCE_DOWN if doubt.doubt is Doubt.SOURCE else Reason.NOT_RUNNING
    return Verdict(reason, case.words(doubt, dict(subject.labels).get("source")))


def _idle(case: Case, subject: Subject) -> Verdict:
    """Say why it does not fire though all is known of source and job."""
    look = case.look(case.expr, subject)
    empty = is_empty(look.value(case.expr.query.root))
    found = blame(look) if empty else None
    if found is not None and found.reason is not Reason.FALSE:
        missing = _why_missing(case, subject) if found.reason is Reason.NO_SAMPLES else ""
        return Verdict(found.reason, missing or found.text)
    if subject.record is not None and in_grace(case.rule, subject.record, case.at):
        return Verdict(Reason.GRACE, _grace(case, subject.record))
    return found or _held_back(case, subject)


def _why_missing(case: Case, subject: Subject) -> str:
    if subject.record is not None:
        status = subject.record.job.status
        for name in sorted(case.rule.required):
            if over(name, status):
                return f"the job is {status.value}, so it has no {name}"
    doubt = case.knowledge.doubt(case.rule, subject.labels, None, holds=False)
    return doubt.reason if doubt is not None and doubt.doubt is Doubt.DATA else ""


def _grace(case: Case, record: JobRecord) -> str:
    wanted = described(case.rule.rule.grace)
    if record.running_since is None:
        return f"the job does not run yet; the rule waits for its first {wanted} (grace)"
    return f"the job has run for {described(case.at - record.running_since)}; the rule waits for {wanted} (grace)"


def _held_back(case: Case, subject: Subject) -> Verdict:
    """Return why the judge did not begin an alert although the expression holds."""
    doubts = case.engine.last.doubts if case.engine.last is not None else {}
    for (name, instance), why in doubts.items():
        labels = dict(instance)
        if name == case.rule.rule.name and subject.about(labels):
            named = subject.name(labels)
            return Verdict(Reason.HELD_BACK, f"{named}: {why}" if named else why)
    return Verdict(Reason.HELD_BACK, "what it speaks of has ended")


def clock(at: float) -> str:
    """Return a time of day, UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
