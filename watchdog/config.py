"""Field types and base models that the rules file and every adapter's own section share.

Each adapter defines its section beside its code as a subclass of ``SourceConfig`` or
``ReceiverConfig``; the rules loader gets them from the registries.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w|y)")
_DURATION_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}


def parse_duration(value: Any) -> float:
    """Return seconds from ``"90s"``, ``"1h30m"``, ``"1d"`` (Prometheus's units) or ``0``.

    Raises ValueError with a remedy in its text for anything else, a bare number other than 0 included:
    its unit would be a guess.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError('is not a duration; write it as text with a unit, such as "20m" or "1h30m"')
    text = str(value).strip()
    if text in ("0", "0.0"):
        return 0.0
    if not isinstance(value, str):
        raise ValueError(f'has no unit; write "{_plain(value)}s" if seconds are meant')
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f'"{text}" is not a duration; write numbers with ms, s, m, h, d, w or y, such as "20m"')
    return sum(float(number) * _DURATION_SECONDS[unit] for number, unit in parts)


LONGEST = 30 * 86400.0
"""Seconds: a longer duration in a rules file is a slip, and would keep or ask for more than anything holds."""


def limited_duration(value: float) -> float:
    """Return the seconds. Raises ValueError with a remedy where they are more than ``LONGEST``."""
    if value > LONGEST:
        raise ValueError('is longer than 30 days; write at most "30d"')
    return value


def _plain(value: float) -> str:
    """Return a number without an empty fraction: ``60.0`` as 60."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    AfterValidator(limited_duration),
    Field(json_schema_extra={"type": "string", "examples": ["60s", "20m", "1h30m"]}),
]
"""Seconds, written as ``"20m"``; at most 30 days."""


class Section(BaseModel):
    """Base of every table of the rules file: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True)


class EnvRef(Section):
    """A secret by reference: ``{ env = "NAME" }`` (also NAME_FILE and /run/secrets/NAME)."""

    env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]


def _job_url(value: str) -> str:
    """Return the template. Raises ValueError with a remedy."""
    holes = set(re.findall(r"\{([^{}]*)\}", value))
    if not value.startswith(("https://", "http://")) or value != "".join(value.split()) or "job" not in holes:
        raise ValueError('is not an address with {job} in it; write one such as "https://example.com/{project}/{job}"')
    if holes - {"job", "project"}:
        raise ValueError(f"names {{{min(holes - {'job', 'project'})}}}; only {{job}} and {{project}} are known")
    return value


JobUrl = Annotated[str, AfterValidator(_job_url)]
"""A web address in which ``{job}`` and ``{project}`` stand for the provider's ids."""


class SourceConfig(Section):
    """What every ``[[sources]]`` table may hold."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)]
    type: str
    interval: Duration | None = None
    """Seconds between polls; the ``[poll]`` table's when not set."""
    stale_after: Duration | None = None
    """Seconds without a new sample after which a metric is unknown; max(3 × step, 5m) when not set."""
    base_url: str | None = None
    job_url: JobUrl | None = None
    """The page of a job for people, ``https://…/{project}/{job}``; the provider's own when not set."""


class ReceiverConfig(Section):
    """What every ``[[receivers]]`` table may hold."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)]
    type: str
    send_resolved: bool = True
