"""Rules made ready to run: parsed queries and compiled templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from watchdog import templates
from watchdog.alerts.reads import Sum, only_missed, sums_of
from watchdog.promql import Query, parse
from watchdog.rules.model import Rule, Ruleset
from watchdog.vocabulary import METRICS, RESOURCE_METRICS, Scope


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule with everything that can be worked out once."""

    rule: Rule
    query: Query
    clear: Query | None
    labels: Mapping[str, templates.Template]
    summary: templates.Template
    description: templates.Template
    runbook_url: templates.Template
    sums: frozenset[Sum]
    """What it sums up over GPUs or nodes."""
    only_missed: frozenset[str]
    """The metrics that it reads only to see that they are not there."""

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics that decide whether an alert of this rule is known."""
        return self.query.metrics | (self.clear.metrics if self.clear else frozenset())

    @property
    def required(self) -> frozenset[str]:
        """The metrics without which the expression cannot hold: while one is missing, nothing is clear."""
        return self.query.required

    @property
    def reads_resources(self) -> bool:
        """Whether the rule is about what a job does, which only a running job does."""
        return bool(self.metrics & RESOURCE_METRICS)

    @property
    def about_source(self) -> bool:
        """Whether the rule reads nothing but the state of sources; it is judged while a source is down."""
        scopes = {METRICS[name].scope for name in self.metrics if name in METRICS}
        return scopes == {Scope.SOURCE}

    @property
    def about_jobs(self) -> bool:
        """Whether it finds something of jobs: without any that run there is nothing left of it."""
        scopes = {METRICS[name].scope for name in self.metrics - self.only_missed if name in METRICS}
        return bool(scopes - {Scope.SOURCE})

    @property
    def below(self) -> bool:
        """Whether a smaller value is a worse one."""
        return self.query.direction == "below"

    @property
    def proves(self) -> float:
        """Seconds for which the condition has held already when the expression begins to hold."""
        return self.query.proves

    @property
    def window(self) -> float:
        """Seconds of history that the rule needs, its ``for`` included."""
        windows = [self.query.window] + ([self.clear.window] if self.clear else [])
        return max(windows) + self.rule.for_seconds


def compile_rule(rule: Rule) -> CompiledRule:
    """Compile one rule of a checked file. Raises PromQLError for an expression that was not checked."""
    query = parse(rule.expr)
    clear = parse(rule.clear_expr) if rule.clear_expr else None
    return CompiledRule(
        rule=rule,
        query=query,
        clear=clear,
        labels={name: templates.compile_template(text) for name, text in rule.labels.items()},
        summary=templates.compile_template(rule.summary),
        description=templates.compile_template(rule.description),
        runbook_url=templates.compile_template(rule.runbook_url),
        sums=sums_of([query] if clear is None else [query, clear]),
        only_missed=only_missed(query),
    )


def compile_rules(ruleset: Ruleset) -> tuple[CompiledRule, ...]:
    """Compile all rules of a checked file, in file order."""
    return tuple(compile_rule(rule) for rule in ruleset.rules)
