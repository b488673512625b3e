"""The samples of series that share a step: two time-major matrices, of values and of times.

A time has a resolution of one millisecond: a sample counts at the last whole millisecond that is not after it
(``whole_milliseconds``). It is kept as milliseconds after the start of its slot, in 32 bits where that is exact.

Rows are ordered by ``(slot, k)``: slot is ``floor(time / step)``, and k = 0, 1, … tells rows of one slot
apart when a series has several samples in it. A series' samples of a slot lie in its first rows, sorted.
There is a row only for slots that hold a sample, so a jump of the clock costs one row.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from watchdog.labels import Index
from watchdog.promql.storage import Floats, Offsets, Places, seconds

NEVER = float("-inf")
"""Newest time of a series without samples."""
FARTHEST = 2.0**43
"""Seconds (278,000 years) either side of 1970 up to which each millisecond has a number of its own."""
_NARROW = 2**23 / 1000.0
"""Seconds (2.3 hours) up to which a 32-bit float holds the milliseconds of a step, and its rounding."""
_LARGE = 1 << 22
"""Bytes from which an array is not taken from the heap. Not far fewer: of arrays that it has given back, glibc
learns how much to keep at hand, and what rules compute with is a few megabytes."""


def whole_milliseconds(times: Floats) -> Floats:
    """Return times moved to the last whole millisecond that is not after them, as the numbers nearest to those.

    A time that is one already stays what it is. Never later, so that a sample taken now is not ahead of now.
    """
    rounded = np.rint(times * 1000.0)
    return np.asarray((rounded - (rounded / 1000.0 > times)) / 1000.0)


class Matrix:
    """Columns are series, dense from 0; rows grow at the end and are dropped at both ends.

    ``slots`` (rows), ``offsets`` and ``values`` (rows, series), ``newest`` and ``newest_values`` (series)
    are live views; any change of shape makes them invalid. Holes have NaN in both matrices.
    """

    __slots__ = ("_end", "_newest", "_newest_values", "_offsets", "_slots", "_start", "_values", "count", "step")

    def __init__(self, step: float) -> None:
        if not 0 < step <= FARTHEST:
            raise ValueError(f"a step of {step} s is not possible; it must be above 0 and at most {FARTHEST:.0f}")
        self.step = step
        self.count = 0
        self._start = self._end = 0
        self._slots = np.empty(0)
        self._offsets: Offsets = np.empty((0, 0), dtype=np.float32 if step <= _NARROW else np.float64)
        self._values = np.empty((0, 0))
        self._newest, self._newest_values = np.empty(0), np.empty(0)

    @property
    def slots(self) -> Floats:
        """Slot of each row, ascending; floats, so that infinite bounds and odd times need no care."""
        return self._slots[self._start : self._end]

    @property
    def offsets(self) -> Offsets:
        """Milliseconds from the start of its row to each sample, NaN for a hole."""
        return self._offsets[self._start : self._end, : self.count]

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
        rows, width = self._values.shape
        return rows, width

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self._slots, self._offsets, self._values, self._newest, self._newest_values)
        return sum(array.nbytes for array in arrays)

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return int(np.count_nonzero(~np.isnan(self.offsets)))

    def starts(self, rows: Places) -> Floats:
        """Return the whole milliseconds at which the slots of these rows start; offsets are counted from there."""
        return np.asarray(np.rint(self.slots[rows] * self.step * 1000.0))

    def times(self, rows: Places, columns: Places) -> Floats:
        """Return the unix seconds of the samples at these places, NaN for a hole."""
        return seconds(self.starts(rows), self.offsets[rows, columns])

    def put(self, rows: Index, columns: Index, times: Floats, values: Floats) -> None:
        """Put samples at these places; ``times`` are whole milliseconds, in the slots of their rows."""
        self.offsets[rows, columns] = np.rint(times * 1000.0) - self.starts(rows)
        self.values[rows, columns] = values

    def column(self, column: int) -> tuple[Floats, Floats]:
        """Return the times and values of one series, without holes."""
        times, values = self.times(slice(None), column), self.values[:, column]
        there = ~np.isnan(times)
        return times[there], values[there]

    def add_column(self) -> int:
        """Make room for one more series, all holes; return its column."""
        rows, width = self.capacity
        if self.count == width:
            self._resize(rows, width + max(16, width // 8))
        column, self.count = self.count, self.count + 1
        self.offsets[:, column] = self.values[:, column] = np.nan
        self._newest[column], self._newest_values[column] = NEVER, np.nan
        return column

    def remove_columns(self, columns: Index) -> tuple[Index, Index]:
        """Remove series (ascending columns); the last ones move into the gaps.

        Returns ``(to, came_from)``: the columns that hold another series now, and where it was.
        """
        left = self.count - len(columns)
        to = columns[columns < left]
        came_from = np.setdiff1d(np.arange(left, self.count), columns)
        for matrix in (self.offsets, self.values):
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
        for matrix in (self._offsets, self._values):
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
        """Move everything, one array after the other: there is no moment at which all are there twice."""
        self._slots = _moved(self.slots, (rows,))
        self._offsets = _moved(self.offsets, (rows, width))
        self._values = _moved(self.values, (rows, width))
        self._newest, self._newest_values = _moved(self.newest, (width,)), _moved(self.newest_values, (width,))
        self._start, self._end = 0, self._end - self._start


def _moved(live: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return an array of this shape that begins with what there is."""
    array = _empty(shape, live.dtype)
    array[tuple(slice(length) for length in live.shape)] = live
    return array


def _empty(shape: tuple[int, ...], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an array with any content. A large one has pages of its own: they go back to the system with it.

    From the heap, arrays that grow by turns leave holes behind that the next ones do not fit into.
    """
    size = math.prod(shape) * kind.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype=kind)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, dtype=kind).reshape(shape)
