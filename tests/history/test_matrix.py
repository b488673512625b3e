"""Shapes of the matrices: growth, rows in order, columns that move."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchdog.history.matrix import FARTHEST, NEVER, Matrix, whole_milliseconds
from watchdog.history.write import write


def filled(columns: int, rows: int) -> Matrix:
    """Value 100 × row + column at time 60 × row."""
    matrix = Matrix(60.0)
    for _ in range(columns):
        matrix.add_column()
    row, column = np.divmod(np.arange(rows * columns), columns)
    write(matrix, column, 60.0 * row, 100.0 * row + column)
    return matrix


@pytest.mark.parametrize("step", [0.0, -60.0, math.nan, math.inf, 2 * FARTHEST])
def test_a_step_must_be_above_nothing(step: float) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        Matrix(step)


def test_a_new_column_holds_nothing() -> None:
    matrix = filled(1, 3)
    assert matrix.add_column() == 1
    assert np.isnan(matrix.offsets[:, 1]).all()
    assert np.isnan(matrix.values[:, 1]).all()
    assert (matrix.newest[1], matrix.samples) == (NEVER, 3)


@pytest.mark.parametrize(
    ("gone", "left"),
    [([0], [3, 1, 2]), ([3], [0, 1, 2]), ([0, 3], [2, 1]), ([1, 2], [0, 3]), ([0, 1, 2, 3], []), ([], [0, 1, 2, 3])],
)
def test_the_last_columns_fill_the_gaps(gone: list[int], left: list[int]) -> None:
    matrix = filled(4, 2)
    to, came_from = matrix.remove_columns(np.array(gone, dtype=np.intp))
    assert matrix.values.tolist() == [[float(c) for c in left], [100.0 + c for c in left]]
    assert matrix.newest_values.tolist() == [100.0 + c for c in left]
    assert [left[index] for index in to] == came_from.tolist()


def test_room_for_columns_is_given_back() -> None:
    matrix = filled(200, 2)
    wide = matrix.nbytes
    matrix.remove_columns(np.arange(40, 200))
    assert matrix.capacity[1] == 60
    assert matrix.nbytes < wide / 2
    assert matrix.values.tolist() == filled(40, 2).values.tolist()


def test_rows_come_after_those_of_their_slot() -> None:
    matrix = filled(1, 3)
    matrix.insert_rows(np.array([-1.0, 1.0, 1.0, 5.0]))
    assert matrix.slots.tolist() == [-1, 0, 1, 1, 1, 2, 5]
    assert np.isnan(matrix.values[:, 0]).tolist() == [True, False, False, True, True, False, True]
    assert matrix.values[5, 0] == 200.0


def test_steady_use_keeps_its_size() -> None:
    matrix = filled(4, 60)
    sizes = set()
    for tick in range(60, 400):
        write(matrix, np.arange(4), np.full(4, 60.0 * tick), np.zeros(4))
        matrix.keep_rows(1, 61)
        sizes.add(matrix.capacity)
    assert len(sizes) <= 2, "the size at the start and that of steady use"
    assert max(rows for rows, _ in sizes) <= 61 * 1.25


@pytest.mark.parametrize(
    ("time", "kept"),
    [
        (0.0, 0.0),
        (1_796_136_863.0, 1_796_136_863.0),
        (1_796_136_863.719, 1_796_136_863.719),
        (1_796_136_863.7199998, 1_796_136_863.719),
        (1_796_136_863.72, 1_796_136_863.72),
        (1_796_136_863.7200003, 1_796_136_863.72),
        (1_796_136_863.7206, 1_796_136_863.72),
        (-0.001, -0.001),
        (-0.0006, -0.001),
        (-0.0004, -0.001),
        (FARTHEST, FARTHEST),
        (-FARTHEST, -FARTHEST),
    ],
)
def test_a_time_counts_at_the_last_whole_millisecond(time: float, kept: float) -> None:
    assert whole_milliseconds(np.array([time])).tolist() == [kept]


@given(st.integers(-(2**43) * 1000, 2**43 * 1000))
def test_a_whole_millisecond_stays_what_it_is(milliseconds: int) -> None:
    assert whole_milliseconds(np.array([milliseconds / 1000])).tolist() == [milliseconds / 1000]


@given(st.floats(-FARTHEST, FARTHEST))
def test_no_time_becomes_later(time: float) -> None:
    (kept,) = whole_milliseconds(np.array([time])).tolist()
    assert kept <= time
    assert time - kept <= 0.001 + math.ulp(time)
    assert round(kept * 1000) / 1000 == kept


@given(
    st.sampled_from([0.001, 1 / 3, 15.0, 45.5, 60.0, 8388.607, 8388.608, 8388.609, 2_592_000.0, 1e9, FARTHEST]),
    st.lists(st.integers(-(2**43) * 1000, 2**43 * 1000) | st.integers(1_796_136_000_000, 1_796_137_000_000)),
)
def test_whole_milliseconds_come_back_exactly(step: float, milliseconds: list[int]) -> None:
    """Of any step: of a long one, whose milliseconds do not fit 32 bits, too."""
    times = sorted({number / 1000 for number in milliseconds})
    matrix = Matrix(step)
    matrix.add_column()
    write(matrix, np.zeros(len(times), dtype=np.intp), np.array(times), np.arange(float(len(times))))
    found = matrix.column(0)
    assert found[0].tolist() == times
    assert found[1].tolist() == list(range(len(times)))


def test_times_of_usual_steps_take_half_the_room() -> None:
    assert [Matrix(step).offsets.itemsize for step in (60.0, 8388.608, 8388.609)] == [4, 4, 8]


def test_large_arrays_lie_outside_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = filled(200, 3)
    monkeypatch.setattr("watchdog.history.matrix._LARGE", 64)
    matrix = filled(200, 3)
    assert isinstance(_owner(matrix.values), mmap.mmap)
    assert isinstance(_owner(matrix.offsets), mmap.mmap)
    assert _owner(usual.values) is None
    assert matrix.values.tolist() == usual.values.tolist()
    assert matrix.offsets.tolist() == usual.offsets.tolist()


def _owner(array: Any) -> object:
    """What holds the memory of a view; None for numpy itself."""
    below = array.base
    if isinstance(below, memoryview):
        return below.obj
    return None if below is None else _owner(below)
