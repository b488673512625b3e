import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchdog.sources.base.points import PointReader
from watchdog.sources.base.times import epoch_seconds

OLDEST, NEWEST = 1000.0, 2000.0


def reader() -> PointReader:
    return PointReader(epoch_seconds, OLDEST, NEWEST)


def points(*pairs: tuple[object, object]) -> list[dict[str, object]]:
    return [{"timestamp": time, "value": value} for time, value in pairs]


def test_points_are_sorted_and_of_two_with_one_time_the_later_counts() -> None:
    found = reader()
    assert found.read(points((1200, 0.3), (1100, 0.1), (1200, 0.5)), 1.5) == ([1100, 1200], [0.1, 0.5])
    assert found.dropped == {}


def test_series_that_share_their_times_share_the_order_too() -> None:
    found = reader()
    assert found.read(points((1200, 1), (1100, 2)), 9.0) == ([1100.0, 1200.0], [2.0, 1.0])
    assert found.read(points((1200, 3), (1100, 4)), 9.0) == ([1100.0, 1200.0], [4.0, 3.0])
    assert found.read(points((1200, None), (1100, 4)), 9.0) == ([1100.0], [4.0])


def test_values_become_floats() -> None:
    _, values = reader().read(points((1100, 1), (1200, 0)), 1.5)
    assert values == [1.0, 0.0]
    assert [type(value) for value in values] == [float, float]


def test_an_empty_series_is_empty() -> None:
    assert reader().read([], 1.5) == ((), ())


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ({"timestamp": 1100, "value": None}, "null"),
        ({"timestamp": 1100}, "null"),
        ({"timestamp": 1100, "value": ""}, "null"),
        ({"timestamp": 1100, "value": math.nan}, "nan"),
        ({"timestamp": 1100, "value": math.inf}, "nan"),
        ({"timestamp": 1100, "value": 10**400}, "nan"),
        ({"timestamp": 1100, "value": True}, "bad_value"),
        ({"timestamp": 1100, "value": "high"}, "bad_value"),
        ({"timestamp": 1100, "value": -0.1}, "negative"),
        ({"timestamp": 1100, "value": 1.6}, "unit"),
        ({"value": 0.5}, "bad_timestamp"),
        ({"timestamp": None, "value": 0.5}, "bad_timestamp"),
        ({"timestamp": [], "value": 0.5}, "bad_timestamp"),
        ({"timestamp": "noon", "value": 0.5}, "bad_timestamp"),
        ({"timestamp": 999.9, "value": 0.5}, "too_old"),
        ({"timestamp": 2000.1, "value": 0.5}, "future"),
        (None, "bad_point"),
        ("0.5", "bad_point"),
        ([1100, 0.5], "bad_point"),
    ],
)
def test_a_bad_point_is_left_out_and_counted_and_the_rest_is_kept(point: object, reason: str) -> None:
    found = reader()
    good = {"timestamp": 1500, "value": 0.25}
    assert found.read([good, point, good], 1.5) == ([1500.0], [0.25])
    assert found.dropped == {reason: 1}


@pytest.mark.parametrize("time", [OLDEST, NEWEST])
def test_points_at_the_edges_of_the_window_are_kept(time: float) -> None:
    assert reader().read(points((time, 0.5)), 1.5) == ([time], [0.5])


def test_zero_is_a_value() -> None:
    assert reader().read(points((1100, 0), (1200, "0.00")), 1.5) == ([1100.0, 1200.0], [0.0, 0.0])


def test_ratios_leave_out_those_in_doubt() -> None:
    found = reader()
    series = ([1.0, 2.0, 3.0], [10.0, 15.0, 15.1])
    assert found.ratios(series, 10.0, 1.5) == ([1.0, 2.0], [1.0, 1.5])
    assert found.dropped == {"unit": 1}
    assert found.ratios(series, 10.0, math.inf)[1] == [1.0, 1.5, 1.51]
    assert found.ratios(((), ()), 10.0, 1.5) == ((), [])


values = st.one_of(
    st.floats(allow_nan=True), st.integers(-2, 2), st.booleans(), st.none(), st.text(max_size=4), st.lists(st.none())
)
times = st.one_of(st.integers(900, 2100), st.none(), st.text(max_size=3), st.lists(st.none(), max_size=1))
anything = st.one_of(st.fixed_dictionaries({"timestamp": times, "value": values}), st.none(), st.integers())


@given(st.lists(anything, max_size=12))
def test_whatever_comes_no_point_is_lost_or_made_up(raw: list[Any]) -> None:
    found = reader()
    seconds, kept = found.read(raw, 1.5)
    assert list(seconds) == sorted(set(seconds))
    assert all(OLDEST <= second <= NEWEST for second in seconds)
    assert all(0 <= value <= 1.5 for value in kept)
    good = {
        point["timestamp"]
        for point in raw
        if isinstance(point, dict)
        and isinstance(point["timestamp"], int)
        and OLDEST <= point["timestamp"] <= NEWEST
        and type(point["value"]) in (int, float)
        and 0 <= point["value"] <= 1.5
    }
    assert good <= set(seconds)
    assert len(seconds) + sum(found.dropped.values()) <= len(raw)
