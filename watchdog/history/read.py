"""Reads samples out of a matrix: views where possible. Every interval is left-open: ``after < t <= until``."""

from __future__ import annotations

import numpy as np

from watchdog.history.matrix import Matrix
from watchdog.labels import Index
from watchdog.promql.storage import Floats, Window, seconds

Columns = slice | Index


def window(matrix: Matrix, columns: Columns, after: float, until: float) -> Window:
    """Return the samples of an interval.

    Only rows of the two slots at its ends are compared; they are left out where they hold nothing of
    it, and only where one holds both samples in and out of it are offsets copied, to make holes.
    """
    low, high = _span(matrix, after, until)
    starts, slots = matrix.starts(slice(low, high)), matrix.slots[low:high]
    offsets, values = matrix.offsets[low:high, columns], matrix.values[low:high, columns]
    edges = np.flatnonzero((slots == _slot(matrix, after)) | (slots == _slot(matrix, until)))
    times = seconds(starts[edges, None], offsets[edges])
    outside = (times <= after) | (times > until)
    empty = edges[(outside | np.isnan(times)).all(axis=1)]
    first, last = _without_empty(len(slots), set(empty.tolist()))
    if outside[(edges >= first) & (edges < last)].any():
        offsets = offsets.copy()
        offsets[edges] = np.where(outside, np.nan, offsets[edges])
    offsets, values = offsets[first:last], values[first:last]
    offsets.flags.writeable = values.flags.writeable = False
    return Window(starts[first:last], offsets, values, bool(offsets.size) and not np.isnan(offsets.min()))


def latest(matrix: Matrix, columns: Columns, after: float, until: float) -> tuple[Floats, Floats]:
    """Return time and value of each series' newest sample in an interval; NaN where there is none."""
    times, values = matrix.newest[columns].copy(), matrix.newest_values[columns].copy()
    ahead = np.flatnonzero(times > until)
    if len(ahead):
        at = np.arange(matrix.count)[columns][ahead]
        times[ahead], values[ahead] = scan(matrix, at, after, until)
    none = ~(times > after)
    times[none] = values[none] = np.nan
    return times, values


def _slot(matrix: Matrix, time: float) -> float:
    return float(np.floor(time / matrix.step))


def _span(matrix: Matrix, after: float, until: float) -> tuple[int, int]:
    """Return the rows ``[low, high)`` that may hold samples of the interval."""
    low = int(np.searchsorted(matrix.slots, _slot(matrix, after), side="left"))
    high = int(np.searchsorted(matrix.slots, _slot(matrix, until), side="right"))
    return low, max(low, high)


def _without_empty(rows: int, empty: set[int]) -> tuple[int, int]:
    """Return the rows ``[first, last)`` that remain when these rows are cut off both ends."""
    first, last = 0, rows
    while first in empty:
        first += 1
    while last - 1 in empty:
        last -= 1
    return first, last


def scan(matrix: Matrix, columns: Index, after: float, until: float) -> tuple[Floats, Floats]:
    """Return what ``latest`` does without relying on the newest samples noted: row by row, from the newest back."""
    times, values = np.full(len(columns), np.nan), np.full(len(columns), np.nan)
    open_ = np.arange(len(columns))
    low, row = _span(matrix, after, until)
    while len(open_) and row > low:
        row -= 1
        found = matrix.times(row, columns[open_])
        fits = (found > after) & (found <= until)
        hits = open_[fits]
        times[hits], values[hits] = found[fits], matrix.values[row, columns[hits]]
        open_ = open_[~fits]
    return times, values
