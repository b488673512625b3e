"""Since when has a condition held? Read from the history, where the history reaches.

After a start, and when a job is first seen, the provider's own history has just been read. A rule with
``for`` need not wait for time that has already passed: the past evaluations are made up for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from watchdog.alerts.knowledge import Knowledge
from watchdog.errors import EvaluationError
from watchdog.model import Alert, JobKey, Labels

if TYPE_CHECKING:
    from watchdog.alerts.evaluation import Context, Evaluation
    from watchdog.alerts.program import CompiledRule

MAX_STEPS = 240
"""Past evaluations made at most; a longer ``for`` is looked through in coarser steps."""


class HeldSince:
    """Looks back for one rule in one tick; evaluates each past time once, and only when asked."""

    def __init__(
        self,
        rule: CompiledRule,
        context: Context,
        evaluate: Callable[[CompiledRule, Context, float], Evaluation],
    ) -> None:
        self._rule = rule
        self._context = context
        self._evaluate = evaluate
        self._step = max(context.interval, rule.rule.for_seconds / MAX_STEPS)
        self._past: dict[int, Evaluation | None] = {}

    def since(self, fingerprint: str, instance: Labels) -> float:
        """Return since when a condition that holds now has held without a break, as far as ``for`` asks.

        Without a past to look at (the job was already being watched) that is now.
        """
        if not self._looks_back(instance):
            return self._context.now
        since, _ = self._unbroken(fingerprint, instance)
        return self._after_grace(since, instance)

    def confirm(self, alert: Alert) -> Alert:
        """Return a restored pending alert as its job's history, read again, shows it.

        Where the history shows a break, the alert began after it. Where it shows that the condition has
        held for all of ``for``, so it did. Where nothing is known of the time between, the stored time stands.
        """
        if not self._looks_back(alert.instance):
            return alert
        since, broken = self._unbroken(alert.fingerprint, alert.instance)
        if broken:
            return replace(alert, active_at=max(alert.active_at, since))
        if self._context.now - since >= self._rule.rule.for_seconds:
            return replace(alert, active_at=min(alert.active_at, since), unknown_since=None)
        return alert

    def _unbroken(self, fingerprint: str, instance: Labels) -> tuple[float, bool]:
        """Return since when it holds, and whether it is seen not to have held before that."""
        now = since = self._context.now
        for index in range(1, int(-(-self._rule.rule.for_seconds // self._step)) + 1):
            at = now - index * self._step
            seen = self._at(index, at)
            if seen is None:
                return since, False
            if fingerprint not in seen.found:
                return since, self._known(seen, instance, at)
            since = at
        return since, False

    def _known(self, seen: Evaluation, instance: Labels, at: float) -> bool:
        context = self._context
        past = Knowledge(context.storage, context.registry, context.sources, at)
        return past.doubt(self._rule, instance, seen.uncovered, holds=False) is None

    def _looks_back(self, instance: Labels) -> bool:
        labels = dict(instance)
        if not self._rule.rule.for_seconds or "job" not in labels or "source" not in labels:
            return False
        return self._context.is_past_new(self._rule.rule.name, JobKey(labels["source"], labels["job"]))

    def _at(self, index: int, at: float) -> Evaluation | None:
        if index not in self._past:
            try:
                self._past[index] = self._evaluate(self._rule, self._context, at)
            except EvaluationError:
                self._past[index] = None
        return self._past[index]

    def _after_grace(self, since: float, instance: Labels) -> float:
        labels = dict(instance)
        record = self._context.registry.get(JobKey(labels["source"], labels["job"]))
        if record is None or record.running_since is None:
            return since
        return min(self._context.now, max(since, record.running_since + self._rule.rule.grace))
