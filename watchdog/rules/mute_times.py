"""Tables of ``[[mute_times]]``, ``[[inhibit]]`` and ``[flapping]``: when not to ping."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from watchdog.rules.model import MuteTime, Span
from watchdog.rules.problems import Report, Table
from watchdog.rules.sections import MuteTimeSection

WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
MONTHS = tuple(name.lower() for name in calendar.month_name[1:])
_TIMES = re.compile(r"(\d\d):(\d\d)\s*-\s*(\d\d):(\d\d)")
_DAY = 24 * 60


def build_mute_time(table: Table, section: MuteTimeSection, report: Report) -> MuteTime:
    """Return a mute time; reports every span that is none, and a location that nobody knows."""

    def spans(key: str, texts: Iterable[str], parse: Callable[[str], Span]) -> tuple[Span, ...]:
        found = []
        for position, text in enumerate(texts):
            try:
                found.append(parse(text))
            except ValueError as error:
                reason, _, remedy = str(error).partition("; ")
                report.add(table, (key, position), reason, remedy)
        return tuple(found)

    _check_location(table, section.location, report)
    if not (section.times or section.weekdays or section.days_of_month or section.months or section.years):
        report.add(table, (), "names no time, so it would always mute", 'add times = ["22:00-24:00"] or weekdays')
    return MuteTime(
        name=section.name,
        times=spans("times", section.times, parse_times),
        weekdays=spans("weekdays", section.weekdays, lambda text: parse_names(text, WEEKDAYS, 0)),
        days=spans("days_of_month", section.days_of_month, parse_days),
        months=spans("months", section.months, lambda text: parse_names(text, MONTHS, 1)),
        years=spans("years", section.years, parse_years),
        location=section.location,
    )


def _check_location(table: Table, location: str, report: Report) -> None:
    try:
        ZoneInfo(location)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        report.add(
            table, ("location",), f"{location} is no time zone", 'write one such as "Europe/Berlin", or leave it out'
        )


def parse_times(text: str) -> Span:
    """Return minutes of a day for ``"22:00-24:00"``; the end is not part of it. Raises ValueError."""
    found = _TIMES.fullmatch(text.strip())
    hours = [int(group) for group in found.groups()] if found else []
    if not found or hours[1] > 59 or hours[3] > 59:
        raise ValueError(f'"{text}" is no time of day; write for example "22:00-24:00"')
    first, last = hours[0] * 60 + hours[1], hours[2] * 60 + hours[3]
    if not first < last <= _DAY:
        raise ValueError(f'"{text}" does not end after it begins; write a night as "22:00-24:00" and "00:00-06:00"')
    return first, last


def parse_names(text: str, names: Sequence[str], first: int) -> Span:
    """Return numbers (both inclusive) for ``"monday:friday"``, ``"jan"`` or ``"3"``. Raises ValueError."""
    ends = [_number(part, names, first) for part in text.lower().split(":")]
    if len(ends) > 2 or ends[0] > ends[-1]:
        raise ValueError(f'"{text}" is no range; write for example "{names[1]}:{names[-1]}", in this order')
    return ends[0], ends[-1]


def parse_days(text: str) -> Span:
    """Return days of the month (both inclusive), negative ones from its end: ``"1:7"``, ``"-1"``. Raises ValueError."""
    found = re.fullmatch(r"(-?\d{1,2})(?::(-?\d{1,2}))?", text.strip())
    days = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not all(1 <= abs(day) <= 31 for day in days) or (days[0] > days[1] and (days[0] < 0) == (days[1] < 0)):
        raise ValueError(f'"{text}" is no range of days; write for example "1:7", or "-1" for the last')
    return days


def parse_years(text: str) -> Span:
    """Return years (both inclusive). Raises ValueError."""
    found = re.fullmatch(r"(\d{4})(?::(\d{4}))?", text.strip())
    if found is None or int(found[1]) > int(found[2] or found[1]):
        raise ValueError(f'"{text}" is no range of years; write for example "2026:2027"')
    return int(found[1]), int(found[2] or found[1])


def _number(text: str, names: Sequence[str], first: int) -> int:
    text = text.strip()
    for index, name in enumerate(names):
        if text in (name, name[:3]):
            return index + first
    if text.isdecimal() and first <= int(text) < first + len(names):
        return int(text)
    raise ValueError(f'"{text}" is no such name; write one of {", ".join(names)}')
