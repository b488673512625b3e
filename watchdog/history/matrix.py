"""The samples of series that share a step: two time-major matrices and the exact times.

Rows are ordered by ``(slot, k)``: slot is ``floor(time / step)``, and k = 0, 1, … tells rows of one slot
apart when a series has several samples in it. A series' samples of a slot lie in its first rows, sorted.
There is a row only for slots that hold a sample, so a jump of the clock costs one row.
"""

from __future__ import annotations

import numpy as np

from watchdog.labels import Index
from watchdog.promql.storage import Floats

NEVER = float("-inf")
"""Newest time of a series without samples."""


class Matrix:
    """Columns are series, dense from 0; rows grow at the end and are dropped at both ends.

    ``slots`` (rows), ``times`` and ``values`` (rows, series), ``newest`` and ``newest_values`` (series)
    are live views; any change of shape makes them invalid. Holes have NaN in both matrices.
    """

    __slots__ = ("_end", "_newest", "_newest_values", "_slots", "_start", "_times", "_values", "count", "step")

    def __init__(self, step: float) -> None:
        if not step > 0:
            raise ValueError(f"a step of {step} s is not possible; it must be above 0")
        self.step = step
        self.count = 0
        self._start = self._end = 0
        self._slots = np.empty(0)
        self._times, self._values = np.empty((0, 0)), np.empty((0, 0))
        self._newest, self._newest_values = np.empty(0), np.empty(0)

    @property
    def slots(self) -> Floats:
        """Slot of each row, ascending; floats, so that infinite bounds and odd times need no care."""
        return self._slots[self._start : self._end]

    @property
    def times(self) -> Floats:
        """Time of each sample, NaN for a hole."""
        return self._times[self._start : self._end, : self.count]

    @property
    def values(self) -> Floats:
        """Value of each sample."""
        return self._values[self._start : self._end, : self.count]

    @property
    def newest(self) -> Floats:
        """Time of the newest sample of each series; ``NEVER`` without one."""
        return self._newest[: self.count]

    @property
    def newest_values(self) -> Floats:
        """Value of the newest sample of each series; NaN without one."""
        return self._newest_values[: self.count]

    @property
    def capacity(self) -> tuple[int, int]:
        """Rows and columns that there is room for."""
        rows, width = self._times.shape
        return rows, width

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self._slots, self._times, self._values, self._newest, self._newest_values)
        return sum(array.nbytes for array in arrays)

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return int(np.count_nonzero(~np.isnan(self.times)))

    def column(self, column: int) -> tuple[Floats, Floats]:
        """Return the times and values of one series, without holes."""
        times, values = self.times[:, column], self.values[:, column]
        there = ~np.isnan(times)
        return times[there], values[there]

    def add_column(self) -> int:
        """Make room for one more series, all holes; return its column."""
        rows, width = self.capacity
        if self.count == width:
            self._resize(rows, width + max(16, width // 8))
        column, self.count = self.count, self.count + 1
        self.times[:, column] = self.values[:, column] = np.nan
        self._newest[column], self._newest_values[column] = NEVER, np.nan
        return column

    def remove_columns(self, columns: Index) -> tuple[Index, Index]:
        """Remove series (ascending columns); the last ones move into the gaps.

        Returns ``(to, came_from)``: the columns that hold another series now, and where it was.
        """
        left = self.count - len(columns)
        to = columns[columns < left]
        came_from = np.setdiff1d(np.arange(left, self.count), columns)
        for matrix in (self.times, self.values):
            matrix[:, to] = matrix[:, came_from]
        for array in (self._newest, self._newest_values):
            array[to] = array[came_from]
        self.count = left
        rows, width = self.capacity
        if width > 64 and left * 4 < width:
            self._resize(rows, left + max(16, left // 2))
        return to, came_from

    def insert_rows(self, slots: Floats) -> None:
        """Add rows of holes for ``slots`` (ascending, not empty), each after the rows its slot already has."""
        position = int(np.searchsorted(self.slots, slots[0], side="right"))
        self._reserve(len(slots))
        first = self._start + position
        merged = np.concatenate((self._slots[first : self._end], slots))
        order = np.argsort(merged, kind="stable")
        was_there = order < self._end - first
        end = first + len(merged)
        self._slots[first:end] = merged[order]
        for matrix in (self._times, self._values):
            tail = matrix[first : self._end, : self.count].copy()
            matrix[first:end, : self.count] = np.nan
            matrix[first:end, : self.count][was_there] = tail
        self._end = end

    def keep_rows(self, first: int, last: int) -> None:
        """Drop the rows outside ``[first, last)``; the newest samples are the caller's to look after."""
        self._start, self._end = self._start + first, self._start + last

    def note_newest(self, columns: Index, times: Floats, values: Floats) -> None:
        """Take in samples sorted by ``(column, time)``: the last of each column may be its newest."""
        last = np.append(columns[1:] != columns[:-1], True)
        columns, times, values = columns[last], times[last], values[last]
        later = times >= self._newest[columns]
        self._newest[columns[later]] = times[later]
        self._newest_values[columns[later]] = values[later]

    def _reserve(self, rows: int) -> None:
        """Make room for more rows at the end. A fixed share of slack keeps steady use at a fixed size."""
        if self._end + rows > self.capacity[0]:
            needed = self._end - self._start + rows
            self._resize(needed + max(8, needed // 8), self.capacity[1])

    def _resize(self, rows: int, width: int) -> None:
        live, count = self._end - self._start, self.count
        slots, times, values = np.empty(rows), np.empty((rows, width)), np.empty((rows, width))
        newest, newest_values = np.empty(width), np.empty(width)
        slots[:live], times[:live, :count], values[:live, :count] = self.slots, self.times, self.values
        newest[:count], newest_values[:count] = self.newest, self.newest_values
        self._slots, self._times, self._values = slots, times, values
        self._newest, self._newest_values = newest, newest_values
        self._start, self._end = 0, live
