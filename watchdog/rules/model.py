"""What a rules file becomes: frozen, checked, every duration in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from watchdog.config import ReceiverConfig, SourceConfig
from watchdog.promql.parse import parse
from watchdog.promql.storage import Matcher

NoData = Literal["keep", "alert", "resolve"]
DEFAULT_GROUP_BY = ("source", "project", "job")


@dataclass(frozen=True, slots=True)
class Rule:
    """One alerting rule; the short form is already PromQL here."""

    name: str
    expr: str
    place: str = field(compare=False)
    """``file:line`` of the rule, for messages; two rules may be equal at different places."""
    clear_expr: str | None = None
    """A firing alert clears when this holds for its labels; None: when ``expr`` no longer holds."""
    for_seconds: float = 0.0
    keep_firing_for: float = 0.0
    grace: float = 0.0
    """Not while the job has been running for less than this."""
    min_coverage: float = 0.8
    no_data: NoData = "keep"
    event: bool = False
    waste: bool = False
    """What it is about is paid for nothing while it fires."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Templates by label name; ``severity`` among them."""
    summary: str = ""
    """A template; the loader fills in a built-in one when the file has none."""
    description: str = ""
    runbook_url: str = ""
    group_by: tuple[str, ...] | None = None
    metric: str | None = None
    """The short form's metric, for units in texts."""
    threshold: float | None = None
    """The short form's limit, for charts and texts."""

    @property
    def proves(self) -> float:
        """For how many seconds the condition has held already when ``expr`` begins to hold; see ``Query.proves``."""
        return parse(self.expr).proves

    @property
    def predicts(self) -> bool:
        """Whether the value of ``expr`` is a forecast."""
        return parse(self.expr).predicts


@dataclass(frozen=True, slots=True)
class Route:
    """Where alerts go. The first match wins unless ``continue_``."""

    receivers: tuple[str, ...]
    matchers: tuple[Matcher, ...] = ()
    continue_: bool = False
    group_by: tuple[str, ...] | None = None
    group_wait: float | None = None
    """Seconds in which a burst is put together; None: 10 s, 0 for critical."""
    repeat_interval: float = 4 * 3600.0
    mute_times: tuple[str, ...] = ()
    """Names of mute times in which it does not ping."""
    place: str = field(default="", compare=False)


Span = tuple[int, int]
"""From and to."""


@dataclass(frozen=True, slots=True)
class MuteTime:
    """A time in which routes that name it do not ping: within each kind of span that is given."""

    name: str
    times: tuple[Span, ...] = ()
    """Minutes of the day; the end is not part of it."""
    weekdays: tuple[Span, ...] = ()
    """Sunday is 0; both ends are part of it, here and below."""
    days: tuple[Span, ...] = ()
    """Of the month; negative ones count from its end."""
    months: tuple[Span, ...] = ()
    years: tuple[Span, ...] = ()
    location: str = "UTC"


@dataclass(frozen=True, slots=True)
class Inhibit:
    """While an alert that ``source`` matches fires, those that ``target`` matches are muted."""

    source: tuple[Matcher, ...]
    target: tuple[Matcher, ...]
    equal: tuple[str, ...] = ()
    """Labels that must be equal on both."""


@dataclass(frozen=True, slots=True)
class Flapping:
    """When changes are too many to be news."""

    changes: int = 6
    within: float = 3600.0


@dataclass(frozen=True, slots=True)
class Ruleset:
    """A whole rules file (or folder), checked."""

    interval: float
    sources: tuple[SourceConfig, ...]
    receivers: tuple[ReceiverConfig, ...]
    routes: tuple[Route, ...]
    rules: tuple[Rule, ...]
    checksum: str
    """SHA-256 of the files' bytes, in name order."""
    files: tuple[str, ...] = ()
    mute_times: tuple[MuteTime, ...] = ()
    inhibits: tuple[Inhibit, ...] = ()
    flapping: Flapping = field(default_factory=Flapping)
