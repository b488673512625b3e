"""Writing into cells that are empty, hold the sample, hold another, or hold several."""

from __future__ import annotations

import numpy as np
import pytest

from watchdog.history.matrix import Matrix
from watchdog.history.write import write

Pair = tuple[float, float]


@pytest.fixture
def matrix() -> Matrix:
    """One series that nothing is written to but by ``put``; and one beside it."""
    made = Matrix(60.0)
    made.add_column()
    made.add_column()
    return made


def put(matrix: Matrix, *pairs: Pair, column: int = 0) -> tuple[int, int]:
    times, values = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return write(matrix, np.full(len(times), column), times, values)


def held(matrix: Matrix, column: int = 0) -> list[Pair]:
    times, values = matrix.column(column)
    return list(zip(times.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("before", "batch", "counts", "after"),
    [
        ([], [], (0, 0), []),
        ([], [(60, 1)], (1, 0), [(60, 1)]),
        ([(60, 1)], [(60, 1)], (0, 0), [(60, 1)]),
        ([(60, 1)], [(60, 2)], (0, 1), [(60, 2)]),
        ([(60, 1)], [(60, 2), (60, 3)], (0, 1), [(60, 3)]),
        ([(60, 1)], [(70, 2)], (1, 0), [(60, 1), (70, 2)]),
        ([(70, 1)], [(60, 2)], (1, 0), [(60, 2), (70, 1)]),
        ([(60, 1), (80, 2)], [(70, 3)], (1, 0), [(60, 1), (70, 3), (80, 2)]),
        ([(60, 1), (80, 2)], [(80, 3)], (0, 1), [(60, 1), (80, 3)]),
        ([(60, 1), (80, 2)], [(60, 1), (80, 2)], (0, 0), [(60, 1), (80, 2)]),
        ([(60, 1), (80, 2)], [(80, 3), (90, 4), (60, 5)], (1, 2), [(60, 5), (80, 3), (90, 4)]),
        ([(120, 1)], [(119.999, 2), (60, 3)], (2, 0), [(60, 3), (119.999, 2), (120, 1)]),
        ([(-60, 1)], [(-0.001, 2), (0, 3)], (2, 0), [(-60, 1), (-0.001, 2), (0, 3)]),
    ],
)
def test_samples_end_in_order_each_once(
    matrix: Matrix, before: list[Pair], batch: list[Pair], counts: tuple[int, int], after: list[Pair]
) -> None:
    put(matrix, *before)
    put(matrix, (60, 7), (180, 8), column=1)
    assert put(matrix, *batch) == counts
    assert held(matrix) == after
    assert held(matrix, 1) == [(60, 7), (180, 8)]
    assert (np.diff(matrix.slots) >= 0).all()
    assert matrix.newest[1] == 180
    assert not after or (matrix.newest[0], matrix.newest_values[0]) == after[-1]


def test_a_crowded_slot_has_as_many_rows_as_its_fullest_cell(matrix: Matrix) -> None:
    put(matrix, (60, 1), (70, 2), (80, 3))
    put(matrix, (61, 1), (71, 2), column=1)
    assert matrix.slots.tolist() == [1, 1, 1]
    put(matrix, (81, 3), (91, 4), column=1)
    assert matrix.slots.tolist() == [1, 1, 1, 1]
    assert held(matrix, 1) == [(61, 1), (71, 2), (81, 3), (91, 4)]


def test_a_gap_costs_no_rows(matrix: Matrix) -> None:
    put(matrix, (0, 1), (1e12, 2))
    assert matrix.slots.tolist() == [0, 1e12 // 60]


def test_columns_of_a_batch_may_come_in_any_order(matrix: Matrix) -> None:
    columns, times = np.array([1, 0, 1, 0]), np.array([60.0, 120.0, 0.0, 0.0])
    assert write(matrix, columns, times, np.array([1.0, 2.0, 3.0, 4.0])) == (4, 0)
    assert held(matrix, 0) == [(0, 4), (120, 2)]
    assert held(matrix, 1) == [(0, 3), (60, 1)]
