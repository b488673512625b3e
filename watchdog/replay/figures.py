"""What a replay says of each rule, in figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from watchdog.promql import parse
from watchdog.replay.arrivals import Arrivals
from watchdog.replay.ledger import Firing, Ledger
from watchdog.rules.model import Rule, Ruleset
from watchdog.vocabulary import RESOURCE_METRICS


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """One rule. Durations are in seconds; None where it never fired."""

    rule: str
    severity: str
    """Of its first firing; before that the rule's own, which may be a template."""
    firings: int = 0
    incidents: int = 0
    pings: int = 0
    """Messages with a ping that were about it; one about two rules counts at both."""
    delay_median: float | None = None
    """From onset to firing."""
    delay_max: float | None = None
    flaps: int = 0
    """Firings so soon after the end of the same alert that they may count as flapping."""
    longest: float | None = None
    """From firing to end, or to the end of the record."""
    jobs: int = 0
    missing: tuple[str, ...] = ()
    """Metrics that it needs and the record does not have: of what it would have found nothing is known."""
    failed_ticks: int = 0
    """Ticks at which it could not be evaluated."""
    error: str = ""
    """The last reason for that."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What was replayed."""

    start: float
    """The first tick, in unix seconds."""
    end: float
    """The last."""
    jobs: int
    series: int
    samples: int
    metrics: frozenset[str]
    """Of the samples."""


def extent_of(arrivals: Arrivals) -> Extent:
    """Return what these arrivals hold."""
    start, end = arrivals.extent
    every = [one for job in arrivals.recording.jobs for one in job.every()]
    metrics = frozenset(one.metric for one in every)
    return Extent(start, end, len(arrivals.recording.jobs), len(every), arrivals.recording.samples, metrics)


@dataclass(frozen=True, slots=True)
class Figures:
    """A whole replay."""

    extent: Extent
    ticks: int
    rules: tuple[RuleFigures, ...]
    """In the order of the rules file."""
    firings: tuple[Firing, ...]
    """In the order in which they began."""
    incidents: int
    messages: int
    """Outbox rows; an edit of a message is one, too."""
    pings: int
    pings_to: Mapping[str, int]
    """By receiver."""
    dropped: Mapping[str, int]
    """Samples left out, by reason."""


def figures_of(ledger: Ledger, ruleset: Ruleset, extent: Extent) -> Figures:
    """Sum up."""
    own: dict[str, list[Firing]] = {rule.name: [] for rule in ruleset.rules}
    for firing in ledger.firings:
        own[firing.alert.rule].append(firing)
    rules = []
    for rule in ruleset.rules:
        figures = _of_rule(rule, own[rule.name], ruleset.flapping.within, extent.end)
        missing = tuple(sorted((parse(rule.expr).required & RESOURCE_METRICS) - extent.metrics))
        failed, error = ledger.failures[rule.name], ledger.errors.get(rule.name, "")
        figures = replace(figures, pings=ledger.pings_of[rule.name], missing=missing)
        rules.append(replace(figures, failed_ticks=failed, error=error))
    return Figures(
        extent=extent,
        ticks=ledger.ticks,
        rules=tuple(rules),
        firings=tuple(ledger.firings),
        incidents=_incidents(ledger.firings),
        messages=ledger.messages,
        pings=sum(ledger.pings_to.values()),
        pings_to=dict(ledger.pings_to),
        dropped=dict(ledger.dropped),
    )


def _of_rule(rule: Rule, firings: Sequence[Firing], within: float, end: float) -> RuleFigures:
    severity = firings[0].alert.severity if firings else rule.labels.get("severity", "")
    figures = RuleFigures(rule.name, severity)
    if not firings:
        return figures
    delays = [firing.start - firing.onset for firing in firings]
    lasted = [firing.lasted(end) for firing in firings if not firing.alert.event]
    return replace(
        figures,
        firings=len(firings),
        incidents=_incidents(firings),
        delay_median=median(delays),
        delay_max=max(delays),
        flaps=sum(firing.again_after is not None and firing.again_after < within for firing in firings),
        longest=max(lasted, default=None),
        jobs=len({firing.job for firing in firings if firing.job is not None}),
    )


def _incidents(firings: Iterable[Firing]) -> int:
    return len({firing.incident for firing in firings if firing.incident})
