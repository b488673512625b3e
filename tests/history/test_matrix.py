"""Shapes of the matrices: growth, rows in order, columns that move."""

from __future__ import annotations

import math

import numpy as np
import pytest

from watchdog.history.matrix import NEVER, Matrix
from watchdog.history.write import write


def filled(columns: int, rows: int) -> Matrix:
    """Value 100 × row + column at time 60 × row."""
    matrix = Matrix(60.0)
    for _ in range(columns):
        matrix.add_column()
    row, column = np.divmod(np.arange(rows * columns), columns)
    write(matrix, column, 60.0 * row, 100.0 * row + column)
    return matrix


@pytest.mark.parametrize("step", [0.0, -60.0, math.nan])
def test_a_step_must_be_above_nothing(step: float) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        Matrix(step)


def test_a_new_column_holds_nothing() -> None:
    matrix = filled(1, 3)
    assert matrix.add_column() == 1
    assert np.isnan(matrix.times[:, 1]).all()
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
