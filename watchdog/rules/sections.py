"""The tables of a rules file that are not an adapter's own, as they are written."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from watchdog.config import Duration, Section
from watchdog.rules.model import NoData
from watchdog.rules.short_form import Reduce

Label = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Quantity = Annotated[float, Field(strict=True)] | str
"""A number, or text with a unit: ``"5%"``, ``"8GiB"``, ``"20m"``."""


class RulesSection(Section):
    """Base of the tables below; keys are written as in the file only."""

    model_config = ConfigDict(populate_by_name=False)


class PollSection(RulesSection):
    """``[poll]``: how often sources are asked and rules are judged."""

    interval: Annotated[Duration, Field(ge=1)] = 60.0
    """Seconds between polls; a source may set its own."""


class RouteSection(RulesSection):
    """``[[routes]]``: which alerts go to which receivers. The first match wins."""

    match: tuple[str, ...] = ()
    """Matchers that must all hold; without any, the route takes every alert."""
    receivers: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of receivers."""
    continue_: Annotated[bool, Field(alias="continue", strict=True)] = False
    """Try the routes below as well."""
    group_by: tuple[Label, ...] | None = None
    """Alerts that share these labels are one message; by source, project and job when not set."""
    group_wait: Duration | None = None
    """How long a first message waits for more of its kind; 10s when not set, 0 for critical."""
    repeat_interval: Annotated[Duration, Field(ge=60)] = 4 * 3600.0
    """How often a problem that lasts is said again."""


class RuleSection(RulesSection):
    """``[[rules]]``: either ``metric`` with ``below`` or ``above``, or ``expr``."""

    alert: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
    """The rule's name, each once."""
    expr: Annotated[str, Field(min_length=1)] | None = None
    """PromQL over the metrics of docs/metrics.md."""
    clear_expr: Annotated[str, Field(min_length=1)] | None = None
    """A firing alert clears when this holds; when ``expr`` no longer holds if not set."""
    metric: str | None = None
    """A metric of docs/metrics.md, for a threshold."""
    match: tuple[str, ...] = ()
    """Matchers that choose series of ``metric``; all of them when not set."""
    below: Quantity | None = None
    """The alert holds below this; one of ``below`` and ``above``."""
    above: Quantity | None = None
    """The alert holds above this."""
    window: Duration | None = None
    """Every sample of this span must be beyond the limit, unless ``reduce`` says otherwise."""
    reduce: Reduce | None = None
    """What of the window is compared with the limit."""
    clear: Quantity | None = None
    """The limit at which a firing alert clears."""
    for_: Annotated[Duration, Field(alias="for")] = 0.0
    """How long it must hold before it is said."""
    keep_firing_for: Duration = 0.0
    """How long a firing alert stays after it no longer holds."""
    grace: Duration = 0.0
    """Not while the job has run for less than this."""
    min_coverage: Annotated[float, Field(ge=0, le=1)] = 0.8
    """Share of the samples of a window that must be there to judge it."""
    no_data: NoData = "keep"
    """What a missing series does to a firing alert."""
    event: Annotated[bool, Field(strict=True)] = False
    """Said once, never resolved."""
    severity: Annotated[str, Field(min_length=1)] | None = None
    """Short for ``labels.severity``; ``warning`` when neither is set."""
    labels: dict[Label, str] = Field(default_factory=dict)
    """Templates by label name."""
    summary: str = ""
    """Template of the first line; a built-in one when not set."""
    description: str = ""
    """Template of what to know and do."""
    runbook_url: str = ""
    """Template of the address of a page that says more."""
    group_by: tuple[Label, ...] | None = None
    """The route's when not set."""
