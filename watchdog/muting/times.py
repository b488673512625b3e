"""Mute times: hours, days and months in which a route does not ping. Alertmanager's time intervals."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from watchdog.rules.model import MuteTime, Span


def holds(interval: MuteTime, now: float) -> bool:
    """Whether a time is within a mute time: within every kind of span that it names."""
    at = datetime.fromtimestamp(now, ZoneInfo(interval.location))
    last = calendar.monthrange(at.year, at.month)[1]
    minute = at.hour * 60 + at.minute
    return (
        _within(interval.weekdays, (at.weekday() + 1) % 7)
        and _within(interval.months, at.month)
        and _within(interval.years, at.year)
        and (not interval.times or any(first <= minute < end for first, end in interval.times))
        and (not interval.days or any(_day_within(span, at.day, last) for span in interval.days))
    )


def _within(spans: Sequence[Span], value: int) -> bool:
    return not spans or any(first <= value <= end for first, end in spans)


def _day_within(span: Span, day: int, last: int) -> bool:
    first, end = (last + 1 + number if number < 0 else number for number in span)
    return max(first, 1) <= day <= end
