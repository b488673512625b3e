"""Windows and newest samples: boundaries, holes, views."""

from __future__ import annotations

import numpy as np
import pytest

from watchdog.history.matrix import Matrix
from watchdog.history.read import latest, window
from watchdog.history.write import write

NAN = np.nan
ALL = slice(0, 2)


@pytest.fixture
def matrix() -> Matrix:
    """Series 0 at 0, 60, …, 300; series 1 at 30, 90, …, 330. Values are the minutes, rounded down."""
    made = Matrix(60.0)
    for column, phase in enumerate((0.0, 30.0)):
        times = np.arange(phase, 360.0, 60.0)
        write(made, np.full(6, made.add_column()), times, np.arange(6.0) + 10 * column)
    return made


@pytest.mark.parametrize(
    ("after", "until", "times", "complete"),
    [
        (59.9, 120.0, [[60, 90], [120, NAN]], False),
        (60.0, 120.0, [[NAN, 90], [120, NAN]], False),
        (60.1, 120.0, [[NAN, 90], [120, NAN]], False),
        (60.0, 119.9, [[NAN, 90]], False),
        (30.0, 90.0, [[60, 90]], True),
        (30.0, 119.9, [[60, 90]], True),
        (29.9, 90.0, [[NAN, 30], [60, 90]], False),
        (90.0, 210.0, [[120, 150], [180, 210]], True),
        (-np.inf, 30.0, [[0, 30]], True),
        (270.0, np.inf, [[300, 330]], True),
        (120.0, 120.0, [], False),
        (300.0, 30.0, [], False),
        (330.0, 900.0, [], False),
        (-900.0, -1.0, [], False),
        (90.0, 119.9, [], False),
        (31.0, 59.0, [], False),
        (10.0, 50.0, [[NAN, 30]], False),
    ],
)
def test_a_window_is_open_on_the_left(
    matrix: Matrix, after: float, until: float, times: list[list[float]], complete: bool
) -> None:
    found = window(matrix, ALL, after, until)
    np.testing.assert_array_equal(found.times, np.array(times).reshape(-1, 2))
    assert found.values.shape == found.times.shape
    assert found.complete is complete


def test_a_window_is_a_view_where_it_can_be(matrix: Matrix) -> None:
    whole = window(matrix, ALL, 30.0, 330.0)
    assert np.shares_memory(whole.offsets, matrix.offsets)
    assert np.shares_memory(whole.values, matrix.values)
    masked = window(matrix, ALL, 60.0, 330.0)
    assert not np.shares_memory(masked.offsets, matrix.offsets), "holes are made in a copy"
    assert np.shares_memory(masked.values, matrix.values)
    assert matrix.times(1, 0) == 60.0
    with pytest.raises(ValueError, match="read-only"):
        whole.values[0, 0] = 1.0


def test_a_window_of_some_columns_in_their_order(matrix: Matrix) -> None:
    found = window(matrix, np.array([1, 0]), 30.0, 90.0)
    assert found.times.tolist() == [[90, 60]]
    assert found.values.tolist() == [[11, 1]]


@pytest.mark.parametrize(
    ("after", "until", "times", "values"),
    [
        (-np.inf, np.inf, [300, 330], [5, 15]),
        (-np.inf, 330.0, [300, 330], [5, 15]),
        (-np.inf, 329.9, [300, 270], [5, 14]),
        (299.9, 330.0, [300, 330], [5, 15]),
        (300.0, 330.0, [NAN, 330], [NAN, 15]),
        (330.0, 400.0, [NAN, NAN], [NAN, NAN]),
        (-np.inf, 120.0, [120, 90], [2, 11]),
        (90.0, 120.0, [120, NAN], [2, NAN]),
        (-np.inf, -1.0, [NAN, NAN], [NAN, NAN]),
    ],
)
def test_the_latest_sample_of_an_interval(
    matrix: Matrix, after: float, until: float, times: list[float], values: list[float]
) -> None:
    found = latest(matrix, ALL, after, until)
    np.testing.assert_array_equal(found[0], times)
    np.testing.assert_array_equal(found[1], values)


def test_the_latest_looks_past_holes(matrix: Matrix) -> None:
    write(matrix, np.array([0, 0]), np.array([720.0, 720.5]), np.array([12.0, 12.5]))
    np.testing.assert_array_equal(latest(matrix, np.array([1, 0]), 0.0, 600.0), [[330, 300], [15, 5]])
    np.testing.assert_array_equal(latest(matrix, np.array([1, 0]), 0.0, 720.4), [[330, 720], [15, 12]])


def test_reading_gives_copies_of_the_newest(matrix: Matrix) -> None:
    latest(matrix, ALL, 0.0, 400.0)[1][:] = -1.0
    assert matrix.newest_values.tolist() == [5, 15]


@pytest.mark.parametrize("edge", [1_796_136_863.719, 1_796_136_863.72, 1_796_136_863.721, 1_796_136_840.0])
def test_edges_are_exact_to_the_millisecond(edge: float) -> None:
    """Samples a millisecond before the edge, on it and after it."""
    made = Matrix(60.0)
    times = np.round([edge - 0.001, edge, edge + 0.001], 3)
    write(made, np.full(3, made.add_column()), times, np.arange(3.0))
    for after, until, first in ((edge, np.inf, 2), (times[0], np.inf, 1), (-np.inf, edge, 0), (times[0], edge, 1)):
        last = 3 if until > edge else 2
        found = window(made, slice(0, 1), after, until)
        assert found.times[~np.isnan(found.times)].tolist() == times[first:last].tolist()
        assert latest(made, slice(0, 1), after, until)[0].tolist() == [times[last - 1]]


def test_times_of_a_window(matrix: Matrix) -> None:
    found = window(matrix, ALL, 60.0, 150.0)
    assert found.present.tolist() == [[False, True], [True, True]]
    np.testing.assert_array_equal(found.times, [[NAN, 90], [120, 150]])
    np.testing.assert_array_equal(found.since(np.array([60.0, 90.0])), [[NAN, 0], [60, 60]])
    assert found.at(np.array([1, 0]), np.array([0, 1])).tolist() == [120, 90]
    np.testing.assert_array_equal(found.part(slice(1, 2)).times, [[90], [150]])
