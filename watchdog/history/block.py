"""The samples of the series of one metric and one step, in two time-major matrices.

``times[row, column]`` and ``values[row, column]``: one column per series, NaN time where a row holds no
sample of a series. Rows are ordered by slot (``floor(time / step)``); a slot has more than one row only
where some series has several samples in it, which then ascend. True times are kept, so a window is exact:
its rows are found by slot, and only its first and last slot need a look at the times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from watchdog.labels import Index
from watchdog.promql.storage import Floats, Window

_FIRST_ROWS = 16
_FIRST_COLUMNS = 8

Slots = npt.NDArray[np.int64]


class Block:
    """A growing matrix of samples. Columns are handed out and taken back; rows come and go with time."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.width = 0
        """Columns in use or free; every column number is below it."""
        self._times = np.full((_FIRST_ROWS, _FIRST_COLUMNS), np.nan)
        self._values = np.full((_FIRST_ROWS, _FIRST_COLUMNS), np.nan)
        self._slots: Slots = np.zeros(_FIRST_ROWS, dtype=np.int64)
        self._begin = 0
        self._end = 0
        self._free: list[int] = []
        self._newest = np.full(_FIRST_COLUMNS, -np.inf)

    @property
    def rows(self) -> int:
        """Rows in use."""
        return self._end - self._begin

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers."""
        return self._times.nbytes + self._values.nbytes

    @property
    def newest(self) -> Floats:
        """Time of the newest sample by column; minus infinity where there is none."""
        return self._newest[: self.width]

    def add_column(self) -> int:
        """Return the number of a column without samples."""
        if self._free:
            return self._free.pop()
        if self.width == self._times.shape[1]:
            self._widen(2 * self.width)
        self.width += 1
        return self.width - 1

    def drop_columns(self, columns: Sequence[int]) -> None:
        """Forget the samples of these columns and let others have them."""
        self._times[:, list(columns)] = np.nan
        self._newest[list(columns)] = -np.inf
        self._free.extend(columns)

    def write(self, columns: Index, times: Floats, values: Floats) -> tuple[int, int]:
        """Write samples; return how many were new and how many revised one of the same time.

        No two of them may have the same column and time.
        """
        order = np.lexsort((columns, times))
        columns, times, values = columns[order], times[order], values[order]
        slots = np.floor(times / self.step).astype(np.int64)
        rows = self._rows_for(slots)
        here = self._times[rows, columns]
        same = here == times
        hole = np.isnan(here) & ~_repeats(rows, columns)
        put = same | hole
        self._times[rows[put], columns[put]] = times[put]
        self._values[rows[put], columns[put]] = values[put]
        new, revised = int(np.count_nonzero(hole)), int(np.count_nonzero(same))
        for index in np.flatnonzero(~put):
            added = self._squeeze_in(int(slots[index]), int(columns[index]), float(times[index]), float(values[index]))
            new, revised = new + added, revised + 1 - added
        np.maximum.at(self._newest, columns, times)
        return new, revised

    def window(self, after: float, until: float, columns: Index | None) -> Window:
        """Return the samples with ``after < t <= until`` of these columns (None: all)."""
        low, high = self._span(after, until)
        picked: slice | Index = slice(0, self.width) if columns is None else columns
        times, values = self._times[low:high, picked], self._values[low:high, picked]
        if low < high:
            times = self._trim_edges(times, low, high, after, until)
        complete = not bool(np.isnan(times).any())
        return Window(times, values, complete)

    def latest(self, after: float, until: float, columns: Index | None) -> tuple[Floats, Floats]:
        """Return ``(times, values)`` of the newest sample with ``after < t <= until``; NaN time if none."""
        picked = np.arange(self.width) if columns is None else columns
        found_times, found_values = np.full(len(picked), np.nan), np.full(len(picked), np.nan)
        low, high = self._span(after, until)
        missing = np.arange(len(picked))
        for row in range(high - 1, low - 1, -1):
            if not len(missing):
                break
            times = self._times[row, picked[missing]]
            hit = (times > after) & (times <= until)
            found_times[missing[hit]] = times[hit]
            found_values[missing[hit]] = self._values[row, picked[missing[hit]]]
            missing = missing[~hit]
        return found_times, found_values

    def drop_before(self, time: float) -> Index:
        """Drop rows whose samples are all older than ``time``; return the columns left without any sample."""
        slot = int(np.floor(time / self.step))
        keep = int(np.searchsorted(self._slots[self._begin : self._end], slot, side="left"))
        self._begin += keep
        if self._begin > len(self._slots) // 2:
            self._move_to_front(len(self._slots))
        return np.flatnonzero(np.isfinite(self.newest) & (self.newest < time))

    # --- rows -------------------------------------------------------------------------------------

    def _span(self, after: float, until: float) -> tuple[int, int]:
        slots = self._slots[self._begin : self._end]
        low = 0 if after == -np.inf else int(np.searchsorted(slots, np.floor(after / self.step), side="left"))
        high = len(slots) if until == np.inf else int(np.searchsorted(slots, np.floor(until / self.step), side="right"))
        return self._begin + low, self._begin + max(low, high)

    def _trim_edges(self, times: Floats, low: int, high: int, after: float, until: float) -> Floats:
        """Make holes of samples in the first and last slot that lie outside the window."""
        slots = self._slots[low:high]
        first, last = slots[0], slots[-1]
        edges = np.flatnonzero((slots == first) | (slots == last))
        outside = (times[edges] <= after) | (times[edges] > until)
        if not outside.any():
            return times
        trimmed = times.copy()
        trimmed[edges] = np.where(outside, np.nan, times[edges])
        return trimmed

    def _rows_for(self, slots: Slots) -> Index:
        """Return the first row of each slot, making rows that are not there. ``slots`` ascend."""
        needed = np.unique(slots)
        present = np.isin(needed, self._slots[self._begin : self._end], assume_unique=False)
        for slot in needed[~present]:
            at = self._begin + int(np.searchsorted(self._slots[self._begin : self._end], slot, side="left"))
            self._insert_row(at, int(slot))
        return self._begin + np.searchsorted(self._slots[self._begin : self._end], slots, side="left")

    def _insert_row(self, at: int, slot: int) -> None:
        if self._end == len(self._slots):
            at -= self._make_room()
        if at < self._end:
            for matrix in (self._times, self._values, self._slots):
                matrix[at + 1 : self._end + 1] = matrix[at : self._end].copy()
        self._times[at, :] = np.nan
        self._slots[at] = slot
        self._end += 1

    def _make_room(self) -> int:
        """Make room for at least one more row at the end; return by how much rows moved to the front."""
        shift = self._begin
        self._move_to_front(len(self._slots) if self.rows < len(self._slots) // 2 else 2 * len(self._slots))
        return shift

    def _move_to_front(self, rows: int) -> None:
        used = slice(self._begin, self._end)
        count = self.rows
        times = np.full((rows, self._times.shape[1]), np.nan)
        values = np.full((rows, self._times.shape[1]), np.nan)
        slots = np.zeros(rows, dtype=np.int64)
        times[:count], values[:count], slots[:count] = self._times[used], self._values[used], self._slots[used]
        self._times, self._values, self._slots = times, values, slots
        self._begin, self._end = 0, count

    def _widen(self, columns: int) -> None:
        shape = (self._times.shape[0], columns)
        times, values, newest = np.full(shape, np.nan), np.full(shape, np.nan), np.full(columns, -np.inf)
        times[:, : self.width] = self._times[:, : self.width]
        values[:, : self.width] = self._values[:, : self.width]
        newest[: self.width] = self._newest[: self.width]
        self._times, self._values, self._newest = times, values, newest

    def _squeeze_in(self, slot: int, column: int, time: float, value: float) -> int:
        """Put a sample into a slot that already holds others of its series; return 1 if it is new, else 0."""
        slots = self._slots[self._begin : self._end]
        low = self._begin + int(np.searchsorted(slots, slot, side="left"))
        high = self._begin + int(np.searchsorted(slots, slot, side="right"))
        held = {
            float(t): float(v)
            for t, v in zip(self._times[low:high, column], self._values[low:high, column], strict=True)
            if not np.isnan(t)
        }
        new = int(time not in held)
        held[time] = value
        while high - low < len(held):
            before = self._begin
            self._insert_row(high, slot)
            low, high = low - before + self._begin, high - before + self._begin + 1
        for row, (t, v) in enumerate(sorted(held.items()), start=low):
            self._times[row, column], self._values[row, column] = t, v
        return new


def _repeats(rows: Index, columns: Index) -> npt.NDArray[np.bool_]:
    """Mark entries whose cell an earlier entry has too."""
    key = rows.astype(np.int64) * (int(columns.max(initial=0)) + 1) + columns
    first = np.zeros(len(key), dtype=np.bool_)
    first[np.unique(key, return_index=True)[1]] = True
    return ~first
