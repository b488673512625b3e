"""Reads times as providers write them: unix seconds out, None for what cannot be relied on."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any

from watchdog.sources.base.numbers import number

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?\s?([Zz]|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_MILLISECONDS_FROM = 1e11
"""Epoch numbers above this are milliseconds: as seconds they would be after the year 5000."""


def iso_seconds(raw: object, zone: tzinfo | None = None) -> float | None:
    """Return unix seconds of an ISO 8601 text; a text without a zone is in ``zone``, or None without one.

    Takes ``Z``, ``+00:00`` and ``+0000``, a space for the ``T``, and fractions of any length.
    """
    found = _ISO.fullmatch(raw.strip()) if isinstance(raw, str) else None
    if found is None:
        return None
    date, clock, fraction, offset = found.groups()
    if offset is None and zone is None:
        return None
    offset = "+00:00" if offset in ("Z", "z") else offset or ""
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}{offset}")
    except ValueError:  # the 30th of February
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
    return moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)


def epoch_seconds(raw: object) -> float | None:
    """Return unix seconds of an epoch number (or a text that holds one) in seconds or milliseconds."""
    value = number(raw)
    if not isinstance(value, float):
        return None
    return value / 1000.0 if value > _MILLISECONDS_FROM else value


def any_seconds(raw: object, zone: tzinfo) -> float | None:
    """Return unix seconds of either form; a text without a zone is in ``zone``."""
    found = iso_seconds(raw, zone)
    return epoch_seconds(raw) if found is None else found


class Stamps(dict[Any, float | None]):
    """Times by what the provider wrote. All series of a reply share their times: each is parsed once."""

    def __init__(self, parse: Callable[[object], float | None]) -> None:
        super().__init__()
        self._parse = parse

    def __missing__(self, key: object) -> float | None:
        found = self[key] = self._parse(key)
        return found
