"""How long an answer asks to wait: ``Retry-After`` as services really write it. Pure."""

from __future__ import annotations

import math
from datetime import UTC
from email.utils import parsedate_to_datetime

MAX_RETRY_AFTER = 3600.0
"""Seconds: a longer Retry-After is taken for this."""


def seconds_to_wait(raw: object, now: float) -> float | None:
    """Return seconds from a number, a text with one, or an HTTP date; None for what is none or negative.

    Never more than ``MAX_RETRY_AFTER``: one wrong header must not silence anything for years.
    """
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    try:
        seconds = float(raw)
    except OverflowError:
        return MAX_RETRY_AFTER if raw > 0 else None  # type: ignore[operator]
    except ValueError:
        seconds = _until(str(raw), now)
    if math.isnan(seconds) or seconds < 0:
        return None
    return min(seconds, MAX_RETRY_AFTER)


def _until(text: str, now: float) -> float:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return math.nan
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)
