"""Field types that the sections of several sources share."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from watchdog.config import limited_duration, parse_duration


def _base_url(value: str) -> str:
    """Return the address without a slash at its end. Raises ValueError with a remedy."""
    try:
        parts = urlsplit(value)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        parts.netloc.encode("ascii")
    except ValueError:  # a port or bracket that is none, a host outside ASCII
        fine = False
    if not fine or value != "".join(value.split()):
        raise ValueError('is not a web address; write one such as "https://api.example.com"')
    if "@" in parts.netloc:
        raise ValueError("holds a user name or password; leave it out and put the key into its environment variable")
    if parts.query or parts.fragment:
        raise ValueError("holds a ? or #; leave out everything from there on")
    return value.rstrip("/")


def _ids(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids. Raises ValueError for an empty or a repeated one."""
    if any(not value.strip() for value in values):
        raise ValueError("holds an empty id; remove it")
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise ValueError(f'names "{repeated[0]}" twice; remove one')
    return values


BaseUrl = Annotated[str, AfterValidator(_base_url)]
"""``http(s)://host[:port][/path]`` without a slash at its end."""

Ids = Annotated[tuple[str, ...], AfterValidator(_ids)]
"""Ids of a provider: opaque, not empty, each once."""

Seconds = Annotated[
    float,
    BeforeValidator(parse_duration),
    AfterValidator(limited_duration),
    Field(gt=0, json_schema_extra={"type": "string", "examples": ["30s"]}),
]
"""A duration above 0 and of at most 30 days, in seconds."""
