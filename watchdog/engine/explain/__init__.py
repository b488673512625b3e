"""Why does a rule fire, and why does it not? Read from the engine that judges, at the time it last judged."""

from __future__ import annotations

from collections import Counter

from watchdog.alerts.identity import instance_of
from watchdog.alerts.program import CompiledRule
from watchdog.engine.engine import Engine
from watchdog.engine.explain.alerts import Case
from watchdog.engine.explain.blame import described, short
from watchdog.engine.explain.look import Evaluation, evaluated
from watchdog.engine.explain.model import Explanation, JobVerdict, Reason, Verdict
from watchdog.engine.explain.plain import as_json
from watchdog.engine.explain.reasons import judged
from watchdog.engine.explain.steps import expression
from watchdog.engine.explain.subject import Subject, subjects
from watchdog.engine.explain.text import as_text
from watchdog.errors import Unavailable, UsageError
from watchdog.model import Labels
from watchdog.promql import Options, Vector
from watchdog.rules.model import Rule
from watchdog.vocabulary import METRICS, Scope

__all__ = ["Explanation", "Reason", "Subject", "Verdict", "as_json", "as_text", "explain", "rules_named", "subjects"]

MOST_JOBS = 20
"""Jobs of which a verdict is given, when none is named."""
_OF_JOBS = frozenset({Scope.GPU, Scope.NODE, Scope.JOB})


def rules_named(engine: Engine, name: str | None) -> list[CompiledRule]:
    """Return the rule of this name; all of them for None. Raises UsageError when there is none."""
    found = [rule for rule in engine.program.rules if name in (None, rule.rule.name)]
    if not found:
        names = ", ".join(rule.rule.name for rule in engine.program.rules)
        raise UsageError(f'there is no rule "{name}"; there are: {names}')
    return found


def explain(engine: Engine, rule: CompiledRule, subject: Subject) -> Explanation:
    """Explain one rule as the engine judged it last. Raises Unavailable before the first evaluation."""
    if engine.last_at is None:
        raise Unavailable("there was no evaluation yet; ask again in a minute")
    case = _case(engine, rule, engine.last_at)
    verdict, alerts, count = judged(case, subject)
    jobs, more = _jobs(case) if subject.record is None and verdict.reason is not Reason.ERROR else ((), 0)
    record = subject.record
    return Explanation(
        rule=rule.rule.name,
        place=rule.rule.place,
        job=record.job.job if record else "",
        job_name=record.job.job_name if record else "",
        at=case.at,
        verdict=_together(jobs, more) if jobs and not count else verdict,
        terms=_terms(rule.rule),
        expr=expression(case.look(case.expr, subject)),
        clear=expression(case.look(case.clear, subject)) if case.clear and count else None,
        alerts=alerts,
        more_alerts=count - len(alerts),
        jobs=jobs,
        more_jobs=more,
        evaluations=tuple(engine.trace.of(rule.rule.name)),
    )


def _case(engine: Engine, rule: CompiledRule, at: float) -> Case:
    options = Options(lookback=engine.program.lookback, min_coverage=rule.rule.min_coverage)
    expr = evaluated(rule.query, engine.history, at, options)
    clear = evaluated(rule.clear, engine.history, at, options) if rule.clear is not None else None
    return Case(engine, rule, at, expr, clear, engine.mutes(at), _holding(expr))


def _holding(expr: Evaluation) -> frozenset[Labels]:
    root = expr.values.get(id(expr.query.root))
    return frozenset(instance_of(row) for row in root.labels.rows()) if isinstance(root, Vector) else frozenset()


def _jobs(case: Case) -> tuple[tuple[JobVerdict, ...], int]:
    """Return a verdict on each job that the rule may speak of, and how many more there are."""
    scopes = {METRICS[name].scope for name in case.rule.metrics if name in METRICS}
    records = case.engine.registry.active() if scopes & _OF_JOBS else []
    found = [
        JobVerdict(record.job.job, record.job.job_name, judged(case, Subject.of(record))[0])
        for record in records[:MOST_JOBS]
    ]
    return tuple(found), len(records) - len(found)


def _together(jobs: tuple[JobVerdict, ...], more: int) -> Verdict:
    """Return the reason of the only job, or the commonest of several."""
    if len(jobs) + more == 1:
        return jobs[0].verdict
    reasons = Counter(one.verdict.reason for one in jobs).most_common()
    counts = ", ".join(f"{count} {reason.value.replace('_', ' ')}" for reason, count in reasons)
    return Verdict(reasons[0][0], f"not for any of {len(jobs) + more} jobs ({counts})")


def _terms(rule: Rule) -> dict[str, str]:
    """Return the terms of a rule that are not those of every rule."""
    times = {"for": rule.for_seconds, "keep_firing_for": rule.keep_firing_for, "grace": rule.grace}
    terms = {name: described(seconds) for name, seconds in times.items() if seconds}
    terms["min_coverage"] = short(rule.min_coverage)
    if rule.no_data != "keep":
        terms["no_data"] = rule.no_data
    return terms
