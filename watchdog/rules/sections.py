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
    mute_times: tuple[str, ...] = ()
    """Names of mute times in which this route does not ping."""


class MuteTimeSection(RulesSection):
    """``[[mute_times]]``: a time in which routes that name it do not ping. All kinds of spans given must hold."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)]
    """By which routes name it."""
    times: tuple[str, ...] = ()
    """Times of day, ``"22:00-24:00"``; the end is not part of it."""
    weekdays: tuple[str, ...] = ()
    """Days of the week, ``"monday:friday"``."""
    days_of_month: tuple[str, ...] = ()
    """Days of the month, ``"1:7"``; ``"-1"`` is the last."""
    months: tuple[str, ...] = ()
    """Months, ``"december"``."""
    years: tuple[str, ...] = ()
    """Years, ``"2026:2027"``."""
    location: str = "UTC"
    """Time zone, ``"Europe/Berlin"``."""


class InhibitSection(RulesSection):
    """``[[inhibit]]``: while one alert fires, others need no word of their own."""

    source_match: Annotated[tuple[str, ...], Field(min_length=1)]
    """Matchers of the alert that says enough."""
    target_match: Annotated[tuple[str, ...], Field(min_length=1)]
    """Matchers of the alerts that are muted while it fires."""
    equal: tuple[Label, ...] = ()
    """Labels that must be equal on both."""


class FlappingSection(RulesSection):
    """``[flapping]``: from how many changes on an alert is said to flap, instead of each change."""

    changes: Annotated[int, Field(ge=3, strict=True)] = 6
    """Firing and resolving count one each."""
    within: Annotated[Duration, Field(ge=60)] = 3600.0
    """Over how long changes are counted."""


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
    waste: Annotated[bool, Field(strict=True)] = False
    """The GPUs that it is about are paid for nothing while it fires: messages say what that has cost."""
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
