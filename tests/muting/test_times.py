"""Mute times: what can be written, and when they hold."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from watchdog.muting.times import holds
from watchdog.rules.model import MuteTime
from watchdog.rules.mute_times import MONTHS, WEEKDAYS, parse_days, parse_names, parse_times, parse_years


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("spans", "time", "expected"),
    [
        ({"times": (parse_times("09:00-17:30"),)}, "2026-03-02T08:59:59", False),
        ({"times": (parse_times("09:00-17:30"),)}, "2026-03-02T09:00:00", True),
        ({"times": (parse_times("09:00-17:30"),)}, "2026-03-02T17:29:59", True),
        ({"times": (parse_times("09:00-17:30"),)}, "2026-03-02T17:30:00", False),
        ({"times": (parse_times("22:00-24:00"), parse_times("00:00-06:00"))}, "2026-03-02T23:59:59", True),
        ({"weekdays": (parse_names("monday:friday", WEEKDAYS, 0),)}, "2026-03-02T12:00:00", True),  # a Monday
        ({"weekdays": (parse_names("mon:fri", WEEKDAYS, 0),)}, "2026-03-01T12:00:00", False),
        ({"weekdays": (parse_names("sunday", WEEKDAYS, 0),)}, "2026-03-01T12:00:00", True),
        ({"weekdays": (parse_names("6", WEEKDAYS, 0),)}, "2026-02-28T12:00:00", True),
        ({"days": (parse_days("1:7"),)}, "2026-03-07T23:59:59", True),
        ({"days": (parse_days("1:7"),)}, "2026-03-08T00:00:00", False),
        ({"days": (parse_days("-1"),)}, "2026-02-28T00:00:00", True),
        ({"days": (parse_days("-1"),)}, "2028-02-28T00:00:00", False),
        ({"days": (parse_days("25:-1"),)}, "2026-02-25T00:00:00", True),
        ({"days": (parse_days("31"),)}, "2026-02-28T00:00:00", False),
        ({"months": (parse_names("january:march", MONTHS, 1),)}, "2026-03-31T23:59:59", True),
        ({"months": (parse_names("4", MONTHS, 1),)}, "2026-04-01T00:00:00", True),
        ({"months": (parse_names("dec", MONTHS, 1),)}, "2026-04-01T00:00:00", False),
        ({"years": (parse_years("2026:2027"),)}, "2027-12-31T23:59:59", True),
        ({"years": (parse_years("2026"),)}, "2027-01-01T00:00:00", False),
        ({"weekdays": ((1, 5),), "times": ((0, 60),)}, "2026-03-02T01:00:00", False),  # all kinds must hold
    ],
)
def test_when_it_holds(spans: dict[str, Any], time: str, expected: bool) -> None:
    assert holds(MuteTime("n", **spans), at(time)) is expected


def test_times_are_those_of_the_place() -> None:
    nights = MuteTime("n", times=(parse_times("22:00-24:00"),), location="Asia/Shanghai")
    assert holds(nights, at("2026-03-02T14:00:00"))
    assert not holds(nights, at("2026-03-02T22:00:00"))
    summer = MuteTime("n", times=(parse_times("02:00-03:00"),), location="Europe/Berlin")
    assert holds(summer, at("2026-03-28T02:30:00", "Europe/Berlin"))
    assert not holds(summer, at("2026-03-29T03:00:00", "Europe/Berlin")), "the hour that summer time leaves out"


@pytest.mark.parametrize(
    ("parse", "texts"),
    [
        (parse_times, ["", "9:00-10:00", "10:00-09:00", "10:00-10:00", "23:00-24:01", "10:60-11:00", "22:00-06:00"]),
        (lambda text: parse_names(text, WEEKDAYS, 0), ["", "mo", "friday:monday", "7", "-1", "monday:tuesday:friday"]),
        (lambda text: parse_names(text, MONTHS, 1), ["0", "13", "jänner", "march:february"]),
        (parse_days, ["", "0", "32", "7:1", "-1:-7", "one"]),
        (parse_years, ["26", "2027:2026", ""]),
    ],
)
def test_what_is_no_span_is_refused_with_a_remedy(parse: Any, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(ValueError, match='"'):
            parse(text)
