"""Puts samples into a matrix: disorder, repeats, revisions, late ones, several in a slot.

A *cell* is one series' part of one slot. Most samples are alone in theirs, and find its first row empty
or holding themselves; those are written at once. The others are merged with what their cells hold then.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from watchdog.history.matrix import Matrix, whole_milliseconds
from watchdog.labels import Index
from watchdog.promql.storage import Floats

Mask = npt.NDArray[np.bool_]
Samples = tuple[Index, Floats, Floats]
"""Column, time and value of each sample."""


def write(matrix: Matrix, columns: Index, times: Floats, values: Floats) -> tuple[int, int]:
    """Write samples (one column, time and value each; any order, times within ``FARTHEST``).

    Times are first moved to whole milliseconds.
    Of two with equal column and time the later one counts; both count over what the matrix holds.
    Returns how many samples are new and how many had another value before.
    """
    if not len(times):
        return 0, 0
    columns, times, values = _each_once(columns, whole_milliseconds(times), values)
    matrix.note_newest(columns, times, values)
    slots = np.floor(times / matrix.step)
    rows = _rows_for(matrix, slots)
    before = matrix.times(rows, columns)
    new = np.isnan(before)
    simple = _last_of_cell(rows, columns) & (new | (before == times))
    if simple.all():
        return _put(matrix, rows, new, (columns, times, values))
    counts = _put(matrix, rows[simple], new[simple], (columns[simple], times[simple], values[simple]))
    merged = _merge(matrix, rows[~simple], (columns[~simple], times[~simple], values[~simple]))
    return counts[0] + merged[0], counts[1] + merged[1]


def _each_once(columns: Index, times: Floats, values: Floats) -> Samples:
    """Sort by column and time and keep the last of equal ones."""
    ahead = np.diff(columns)
    if ((ahead > 0) | ((ahead == 0) & (np.diff(times) > 0))).all():
        return columns, times, values
    order = np.lexsort((times, columns))
    columns, times, values = columns[order], times[order], values[order]
    last = ~_repeats(columns, times)
    return columns[last], times[last], values[last]


def _repeats(columns: Index, times: Floats) -> Mask:
    """Mark the samples (sorted by column and time) that are followed by one of equal column and time."""
    return np.append((columns[1:] == columns[:-1]) & (times[1:] == times[:-1]), False)


def _rows_for(matrix: Matrix, slots: Floats) -> Index:
    """Return the first row of each slot; make rows where there are none."""
    rows = np.searchsorted(matrix.slots, slots)
    missing = np.append(matrix.slots, np.nan)[rows] != slots
    if not missing.any():
        return rows
    matrix.insert_rows(np.unique(slots[missing]))
    return np.searchsorted(matrix.slots, slots)


def _last_of_cell(rows: Index, columns: Index) -> Mask:
    """Mark the samples (sorted) that are the last of the batch in their cell; most cells get one only."""
    return np.append((columns[1:] != columns[:-1]) | (rows[1:] != rows[:-1]), True)


def _put(matrix: Matrix, rows: Index, new: Mask, samples: Samples) -> tuple[int, int]:
    """Write samples into these rows; ``new`` marks those that go into a hole. Returns (new, revised)."""
    columns, times, values = samples
    revised = int(np.count_nonzero(~new & (matrix.values[rows, columns] != values)))
    matrix.put(rows, columns, times, values)
    return int(np.count_nonzero(new)), revised


def _merge(matrix: Matrix, rows: Index, samples: Samples) -> tuple[int, int]:
    """Merge samples (``rows`` are the first of their slots) with all that their cells hold."""
    held = _held(matrix, rows, samples[0])
    columns, times, values = (np.concatenate(pair) for pair in zip(held, samples, strict=True))
    order = np.lexsort((times, columns))
    columns, times, values = columns[order], times[order], values[order]
    old = _repeats(columns, times)  # the matrix holds each time once, and so does the batch
    revised = int(np.count_nonzero(old[:-1] & (values[1:] != values[:-1])))
    columns, times, values = columns[~old], times[~old], values[~old]
    slots = np.floor(times / matrix.step)
    depth = _rank(columns, slots)
    _deepen(matrix, slots, depth)
    into = np.searchsorted(matrix.slots, slots) + depth
    matrix.put(into, columns, times, values)
    return len(times) - len(held[0]), revised


def _held(matrix: Matrix, rows: Index, columns: Index) -> Samples:
    """Return the samples in the cells of these samples, each cell once."""
    cells = np.unique(np.stack((rows, columns)), axis=1)
    ends = np.searchsorted(matrix.slots, matrix.slots[cells[0]], side="right")
    depth = ends - cells[0]
    columns = np.repeat(cells[1], depth)
    rows = np.repeat(ends - np.cumsum(depth), depth) + np.arange(int(depth.sum()))
    times = matrix.times(rows, columns)
    there = ~np.isnan(times)
    rows, columns = rows[there], columns[there]
    return columns, times[there], matrix.values[rows, columns]


def _rank(columns: Index, slots: Floats) -> Index:
    """Number the samples (sorted) within their cells, from 0."""
    position = np.arange(len(slots))
    first = np.append(True, (columns[1:] != columns[:-1]) | (slots[1:] != slots[:-1]))
    return position - np.maximum.accumulate(np.where(first, position, 0))


def _deepen(matrix: Matrix, slots: Floats, depth: Index) -> None:
    """Give every slot enough rows for the deepest of its cells."""
    distinct, which = np.unique(slots, return_inverse=True)
    needed = np.zeros(len(distinct), dtype=np.intp)
    np.maximum.at(needed, which, depth + 1)
    there = np.searchsorted(matrix.slots, distinct, side="right") - np.searchsorted(matrix.slots, distinct)
    lacking = np.repeat(distinct, np.maximum(needed - there, 0))
    if len(lacking):
        matrix.insert_rows(lacking)
