"""One rule evaluated at one time: which series its expression finds, and which it cannot speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from watchdog.alerts.identity import compatible, fingerprint_of, instance_of
from watchdog.alerts.program import CompiledRule
from watchdog.alerts.texts import render_labels
from watchdog.errors import EvaluationError
from watchdog.jobs.registry import Registry
from watchdog.jobs.sources import Sources
from watchdog.labels import LabelColumns
from watchdog.model import JobKey, JobRecord, Labels
from watchdog.promql import Options, Query, Result, Vector, evaluate
from watchdog.promql.storage import Storage

MOST_ALERTS = 10_000
"""Series for which one rule may hold at a time: nobody reads more, and each is a row in the store."""


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that an evaluation reads."""

    storage: Storage
    registry: Registry
    sources: Sources
    now: float
    interval: float
    """Seconds between evaluations."""
    lookback: float
    """How old a sample an instant selector may take."""
    retention: float
    """Seconds of samples that the history keeps."""
    backfilled: frozenset[JobKey] = frozenset()
    """Jobs whose past was read just now: how long a condition has held can be seen in it."""
    new_rules: frozenset[str] = frozenset()
    """Rules that the file has only now: to them the past of every job is new."""

    def is_past_new(self, rule: str, job: JobKey) -> bool:
        """Whether this rule has not been judged on the past of this job."""
        return job in self.backfilled or rule in self.new_rules


@dataclass(frozen=True, slots=True)
class Found:
    """One series for which a rule's expression holds."""

    fingerprint: str
    instance: Labels
    labels: Mapping[str, str]
    """All labels of the series, descriptive ones too."""
    value: float | None
    """None when it "holds" because data is missing (``no_data = "alert"``)."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one rule's expressions gave at one time."""

    found: Mapping[str, Found]
    """By fingerprint."""
    cleared: tuple[Mapping[str, str], ...]
    """Label sets for which the clear condition holds."""
    uncovered: LabelColumns | None
    """Series whose windows hold too few samples; None when there are none."""

    def clears(self, instance: Labels) -> bool:
        """Whether the clear condition speaks of this alert."""
        labels = dict(instance)
        return any(compatible(labels, other) for other in self.cleared)


def evaluate_rule(rule: CompiledRule, context: Context, at: float, *, clearing: bool = False) -> Evaluation:
    """Evaluate one rule at one time (now, or in the past that the history holds).

    The clear condition, which may hold for every healthy series, is looked at only where ``clearing`` asks.
    Raises EvaluationError, also when two series would become the same alert.
    """
    options = Options(lookback=context.lookback, min_coverage=rule.rule.min_coverage)
    result = _evaluate(rule.query, context.storage, at, options)
    if isinstance(result.value, Vector) and result.value.size > MOST_ALERTS:
        raise EvaluationError(
            f"it holds for {result.value.size} series, more than {MOST_ALERTS}; make it narrower, or aggregate by job"
        )
    found: dict[str, Found] = {}
    for labels, value in _rows(result.value):
        item = find(rule, labels, value)
        if item.fingerprint in found:
            raise EvaluationError(f"two series give the same alert {dict(item.instance)}; keep more labels apart")
        found[item.fingerprint] = item
    uncovered = [result.uncovered] if result.uncovered is not None else []
    cleared: tuple[Mapping[str, str], ...] = ()
    if clearing and rule.clear is not None:
        found_clear = _evaluate(rule.clear, context.storage, at, options)
        cleared = tuple(labels for labels, _ in _rows(found_clear.value))
        uncovered += [found_clear.uncovered] if found_clear.uncovered is not None else []
    return Evaluation(found, cleared, LabelColumns.concat(uncovered) if uncovered else None)


def find(rule: CompiledRule, labels: Mapping[str, str], value: float | None) -> Found:
    """Make the result for one series: which alert it is."""
    instance = instance_of(labels)
    own = render_labels(rule, labels, float("nan") if value is None else value)
    return Found(fingerprint_of(rule.rule.name, instance, own), instance, labels, value)


def with_missing(seen: Evaluation, rule: CompiledRule, records: list[JobRecord]) -> Evaluation:
    """Return the evaluation with one more finding for each job whose data is missing."""
    missing = [find(rule, dict(record.job.labels), None) for record in records]
    return replace(seen, found={**seen.found, **{item.fingerprint: item for item in missing}})


def _evaluate(query: Query, storage: Storage, at: float, options: Options) -> Result:
    """Evaluate; what fails says where in the expression."""
    try:
        return evaluate(query, storage, at, options)
    except EvaluationError as error:
        start, end = error.start or 0, error.end or 0
        text = f"{error}, at character {start + 1}: {query.text[start:end]}"
        raise EvaluationError(text, start, end) from error


def _rows(value: object) -> list[tuple[dict[str, str], float]]:
    if isinstance(value, Vector):
        return [(value.labels.row(index), float(value.values[index])) for index in range(value.labels.size)]
    return []
