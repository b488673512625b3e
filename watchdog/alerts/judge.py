"""One evaluation of all rules: what the expressions find, what is known, and what becomes of each alert."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from traceback import extract_tb

from watchdog.alerts.evaluation import Context, Evaluation, Found, evaluate_rule, with_missing
from watchdog.alerts.knowledge import Doubt, Knowledge, Unknown
from watchdog.alerts.lifecycle import Sighting, Verdict, advance, begin, close
from watchdog.alerts.lookback import HeldSince
from watchdog.alerts.program import CompiledRule
from watchdog.alerts.texts import describe
from watchdog.errors import EvaluationError
from watchdog.jobs.registry import GONE, SOURCE_REMOVED
from watchdog.model import Alert, AlertState, JobKey, JobRecord, JobStatus, Labels

RULE_REMOVED = "rule removed"
NO_DATA = "no data"
NO_JOB_LEFT = "no job runs there any more"
"""The end of what belongs to several jobs: it says nothing of whether the problem is over."""
_OF_JOBS = ("provider", "project", "project_name", "job", "job_name", "owner", "gpu_type")


@dataclass(frozen=True, slots=True)
class Tally:
    """What one rule's expression gave, in figures."""

    found: int = 0
    """Series for which it held, those of missing data (``no_data = "alert"``) included."""
    uncovered: int = 0
    """Series whose windows held too few samples."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one evaluation of all rules changed."""

    changed: tuple[Alert, ...]
    """New, changed and closed alerts, in their new form."""
    forgotten: tuple[str, ...]
    """Fingerprints of pending alerts that came to nothing."""
    failures: Mapping[str, str]
    """Rules that could not be evaluated, and why: their alerts stay as they are."""
    doubts: Mapping[tuple[str, Labels], str]
    """For rules and instances whose expression holds but which do not fire: why."""
    tallies: Mapping[str, Tally]
    """By rule, for those that could be evaluated."""
    untold: frozenset[JobKey] = frozenset()
    """Ended jobs on whose end some rule with ``event`` could not be judged: to be judged again."""


class Judge:
    """Holds the alerts of all rules and judges them, tick by tick."""

    def __init__(self, rules: Sequence[CompiledRule], alerts: Iterable[Alert] = ()) -> None:
        self.rules = tuple(rules)
        self._alerts = {alert.fingerprint: alert for alert in alerts if alert.state is not AlertState.INACTIVE}

    @property
    def alerts(self) -> Mapping[str, Alert]:
        """Pending and firing alerts by fingerprint."""
        return self._alerts

    def replace_rules(self, rules: Sequence[CompiledRule]) -> None:
        """Swap the rules; alerts of rules that are gone close at the next evaluation."""
        self.rules = tuple(rules)

    def copy(self) -> Judge:
        """Return one that goes its own way from here."""
        return Judge(self.rules, self._alerts.values())

    def judge(self, context: Context) -> Judgement:
        """Evaluate every rule once and move every alert on."""
        this = _Round(context, self._alerts)
        this.close_orphans({rule.rule.name: rule for rule in self.rules})
        for rule in self.rules:
            this.run(rule)
        self._alerts = {key: alert for key, alert in this.alerts.items() if alert.state is not AlertState.INACTIVE}
        return this.judgement()


class _Round:
    """The work of one evaluation: alerts move from ``before`` to ``alerts``."""

    def __init__(self, context: Context, before: Mapping[str, Alert]) -> None:
        self.context = context
        self.before = before
        self.alerts = dict(before)
        self.failures: dict[str, str] = {}
        self.doubts: dict[tuple[str, Labels], str] = {}
        self.tallies: dict[str, Tally] = {}
        self.untold: set[JobKey] = set()
        self.knowledge = Knowledge(context.storage, context.registry, context.sources, context.now)

    def judgement(self) -> Judgement:
        changed = [alert for key, alert in self.alerts.items() if self.before.get(key) is not alert]
        forgotten = [key for key in self.before if key not in self.alerts]
        return Judgement(
            tuple(changed), tuple(forgotten), self.failures, self.doubts, self.tallies, frozenset(self.untold)
        )

    def close_orphans(self, rules: Mapping[str, CompiledRule]) -> None:
        """Close alerts whose rule, job or source is gone."""
        for alert in self.before.values():
            rule = rules.get(alert.rule)
            record = self.knowledge.record(dict(alert.instance))
            if alert.event and record is not None and record.end_untold and rule is not None:
                continue  # said already, while another rule has yet to be judged on the same end
            reason = RULE_REMOVED if rule is None else self._end_reason(alert.instance)
            reason = reason or (self._end_of_jobs(alert.instance) if rule is not None and rule.about_jobs else "")
            if reason:
                self._put(alert.fingerprint, close(alert, reason, self.context.now))

    def _end_of_jobs(self, instance: Labels) -> str:
        """Return why an alert that names no source is over: no job that runs is what it speaks of."""
        labels = dict(instance)
        if "source" in labels or self.context.sources.any_down():
            return ""
        named = {name: labels[name] for name in _OF_JOBS if name in labels}
        jobs = [dict(record.job.labels) for record in self.context.registry.active()]
        return "" if any(named.items() <= job.items() for job in jobs) else NO_JOB_LEFT

    def run(self, rule: CompiledRule) -> None:
        """Evaluate one rule and move its alerts. One that fails leaves its alerts as they are, and harms no other."""
        before = dict(self.alerts)
        try:
            self._run(rule)
        except EvaluationError as error:
            self._failed(rule, before, str(error))
        except Exception as error:  # noqa: BLE001  # the boundary of a rule: a mistake of ours must not blind the others
            self._failed(rule, before, unforeseen(error))

    def _failed(self, rule: CompiledRule, before: dict[str, Alert], why: str) -> None:
        self.alerts = before
        self.failures[rule.rule.name] = why
        self.tallies.pop(rule.rule.name, None)
        if rule.rule.event:
            self.untold.update(record.job.key for record in self.context.registry.untold())

    def _run(self, rule: CompiledRule) -> None:
        open_ = [a for a in self.alerts.values() if a.rule == rule.rule.name and a.state is not AlertState.INACTIVE]
        seen = evaluate_rule(rule, self.context, self.context.now, clearing=bool(open_))
        held = HeldSince(rule, self.context, evaluate_rule)
        if rule.rule.no_data == "alert":
            seen = with_missing(seen, rule, self._missing(rule, open_))
        uncovered = 0 if seen.uncovered is None else seen.uncovered.size
        self.tallies[rule.rule.name] = Tally(len(seen.found), uncovered)
        for alert in open_:
            self._move(rule, alert, seen, held)
        known = {alert.fingerprint for alert in open_}
        for key, found in seen.found.items():
            if key not in known and self._may_start(rule, found, seen):
                self._start(rule, found, held)

    def _end_reason(self, instance: Labels) -> str:
        """Return why what these labels speak of is over; empty while it is not."""
        labels = dict(instance)
        source = labels.get("source")
        if source is None:
            return ""
        if self.context.sources.get(source) is None:
            return SOURCE_REMOVED
        if "job" in labels:
            record = self.knowledge.record(labels)
            return GONE if record is None else record.end_reason
        if "project" in labels:
            jobs = self.context.registry.active()
            alive = any(r.job.source == source and r.job.project == labels["project"] for r in jobs)
            return "" if alive else NO_JOB_LEFT
        return ""

    def _missing(self, rule: CompiledRule, open_: Iterable[Alert]) -> list[JobRecord]:
        """Return running jobs without the data that the rule needs and without an alert that says more."""
        told = {dict(alert.instance).get("job") for alert in open_ if not alert.no_data}
        found = []
        for record in self.context.registry.active():
            job = record.job
            if job.status is not JobStatus.RUNNING or job.job in told or in_grace(rule, record, self.context.now):
                continue
            unknown = self.knowledge.doubt(rule, (("job", job.job), ("source", job.source)), None, holds=False)
            if unknown is not None and unknown.doubt is Doubt.DATA:
                found.append(record)
        return found

    def _move(self, rule: CompiledRule, alert: Alert, seen: Evaluation, held: HeldSince) -> None:
        found = seen.found.get(alert.fingerprint)
        if self._vanished(rule, alert):
            self._put(alert.fingerprint, close(alert, GONE, self.context.now))
            return
        if alert.state is AlertState.PENDING:
            alert = held.confirm(alert)
        sighting = self._sighting(rule, alert, found, seen)
        if sighting.reason == NO_DATA:
            self._put(alert.fingerprint, close(alert, NO_DATA, self.context.now))
            return
        after = advance(alert, sighting, rule.rule, self.context.now, below=rule.below)
        if after is not None and found is not None and sighting.verdict is Verdict.HOLDS:
            after = describe(rule, after, found.labels, self.knowledge.record(found.labels), self.context.now)
        self._put(alert.fingerprint, after)

    def _vanished(self, rule: CompiledRule, alert: Alert) -> bool:
        """Whether the alert's series has left the history while its job reports from elsewhere (a new pod)."""
        since = alert.unknown_since
        if since is None or self.context.now - since <= self.context.retention:
            return False
        return self.knowledge.vanished(rule, dict(alert.instance))

    def _sighting(self, rule: CompiledRule, alert: Alert, found: Found | None, seen: Evaluation) -> Sighting:
        unknown = self.knowledge.doubt(rule, alert.instance, seen.uncovered, holds=found is not None)
        if unknown is not None:
            return _without_data(rule, unknown)
        if found is not None:
            return Sighting(Verdict.HOLDS, found.value)
        held = rule.clear is not None and alert.state is AlertState.FIRING and not alert.no_data
        if held and not seen.clears(alert.instance):
            return Sighting(Verdict.HOLDS)
        return Sighting(Verdict.CLEAR)

    def _start(self, rule: CompiledRule, found: Found, held: HeldSince) -> None:
        now = self.context.now
        alert = Alert(
            rule=rule.rule.name,
            fingerprint=found.fingerprint,
            labels=(),
            instance=found.instance,
            state=AlertState.PENDING,
            active_at=held.since(found.fingerprint, found.instance),
            last_seen_at=now,
            value=found.value,
            worst=found.value,
            no_data=found.value is None,
            event=rule.rule.event,
        )
        begun = begin(alert, rule.rule, now)
        record = self.knowledge.record(found.labels)
        self._put(found.fingerprint, describe(rule, begun, found.labels, record, now))

    def _may_start(self, rule: CompiledRule, found: Found, seen: Evaluation) -> bool:
        record = self.knowledge.record(found.labels)
        ended_now = record is not None and (record.end_untold or record.ended_at == self.context.now)
        if self._end_reason(found.instance) and not (rule.rule.event and ended_now):
            return False
        if record is not None and in_grace(rule, record, self.context.now):
            self.doubts[rule.rule.name, found.instance] = "the job is younger than the rule's grace"
            return False
        unknown = self.knowledge.doubt(rule, found.instance, seen.uncovered, holds=True)
        if unknown is not None and not (found.value is None and unknown.doubt is Doubt.DATA):
            self.doubts[rule.rule.name, found.instance] = unknown.reason
            if record is not None and record.end_untold and unknown.doubt is Doubt.SOURCE:
                self.untold.add(record.job.key)
            return False
        return True

    def _put(self, fingerprint: str, alert: Alert | None) -> None:
        if alert is None:
            self.alerts.pop(fingerprint, None)
        else:
            self.alerts[fingerprint] = alert


def unforeseen(error: Exception) -> str:
    """Return what to say of an error that nobody foresaw: it has no words of its own for people."""
    place = extract_tb(error.__traceback__)[-1]
    return f"internal error: {type(error).__name__}: {error}, at {PurePath(place.filename).name}:{place.lineno}"


def in_grace(rule: CompiledRule, record: JobRecord, now: float) -> bool:
    """Whether the job has not yet run for as long as the rule wants."""
    if not rule.rule.grace or not record.active:
        return False
    return record.running_since is None or now - record.running_since < rule.rule.grace


def _without_data(rule: CompiledRule, unknown: Unknown) -> Sighting:
    """Apply the rule's ``no_data`` policy. A source that is down freezes whatever the policy says."""
    if unknown.doubt is Doubt.DATA and rule.rule.no_data == "alert":
        return Sighting(Verdict.HOLDS)
    if unknown.doubt is Doubt.DATA and not unknown.partial and rule.rule.no_data == "resolve":
        return Sighting(Verdict.CLEAR, reason=NO_DATA)
    return Sighting(Verdict.UNKNOWN, reason=unknown.reason)
