"""An explanation as data: what text, JSON and tests are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from watchdog.engine.trace import Evaluated


class Reason(StrEnum):
    """Why a rule does or does not fire, in the order in which the reasons are looked for."""

    ERROR = "error"
    FIRING = "firing"
    MUTED = "muted"
    UNROUTED = "unrouted"
    FROZEN = "frozen"
    PENDING = "pending"
    ENDED = "ended"
    SOURCE_DOWN = "source_down"
    NOT_RUNNING = "not_running"
    NO_SAMPLES = "no_samples"
    UNCOVERED = "uncovered"
    GRACE = "grace"
    HELD_BACK = "held_back"
    FALSE = "false"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first reason, and in words."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One series at one node of the expression. What does not apply is None."""

    labels: Mapping[str, str]
    name: str
    """The labels that tell it apart from the others: ``node=n0 gpu=3``; empty when there are none."""
    value: float | None = None
    samples: int | None = None
    """In the window."""
    expected: float | None = None
    needed: float | None = None
    """Samples without which the window does not speak: ``min_coverage`` of those expected."""
    left: float | None = None
    """The sides of a comparison."""
    right: float | None = None
    op: str = ""
    holds: bool | None = None

    @property
    def short(self) -> bool:
        """Whether the window holds too few samples."""
        return self.samples is not None and self.needed is not None and self.samples < self.needed


@dataclass(frozen=True, slots=True)
class Step:
    """One node of the expression, and what it gave for the series that are asked about."""

    text: str
    depth: int
    start: int
    end: int
    """Character offsets into the expression, of the word that makes the node what it is."""
    literal: bool
    note: str
    """Where there is nothing to show: ``no series``, ``no samples``, ``not reached``, …"""
    number: float | None
    """Of a node that is one number."""
    readings: tuple[Reading, ...]
    more: int
    """Series that are not in ``readings``."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression evaluated, from its top down."""

    text: str
    steps: tuple[Step, ...]
    error: str = ""
    pointer: str = ""
    """The line that failed and carets below it; empty when the place is not known."""


@dataclass(frozen=True, slots=True)
class OpenAlert:
    """A pending or firing alert."""

    labels: Mapping[str, str]
    name: str
    state: str
    frozen: bool
    value: float | None
    text: str
    receivers: tuple[str, ...]
    routes: tuple[str, ...]
    """Places of the routes in the rules file."""
    muted: str
    """What mutes it; empty when nothing does."""


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """What the rule says of one job."""

    job: str
    job_name: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Explanation:
    """One rule at its last evaluation, for one job or for all that it speaks of."""

    rule: str
    place: str
    job: str
    """The id; empty for all."""
    job_name: str
    at: float
    """When it was judged, unix seconds."""
    verdict: Verdict
    terms: Mapping[str, str]
    expr: Expression
    clear: Expression | None
    """``clear_expr``, while an alert waits for it."""
    alerts: tuple[OpenAlert, ...]
    more_alerts: int
    jobs: tuple[JobVerdict, ...]
    """Without a job: one verdict per job."""
    more_jobs: int
    evaluations: tuple[Evaluated, ...]
    """The last ones of the whole rule, oldest first."""
