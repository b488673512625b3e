"""Functions over range vectors, each on all series at once.

A window has shape (rows, series); a hole is a NaN time. Every function returns one value per series and is
only asked for series that have the samples it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from watchdog.promql.numbers import sum_rows
from watchdog.promql.storage import Floats, Window


@dataclass(frozen=True, slots=True)
class RangeCall:
    """One call: the samples, and what the function may want to know beside them."""

    window: Window
    counts: Floats
    """Samples per series."""
    at: float
    """The evaluation time."""
    start: float
    end: float
    """The window's bounds."""
    arguments: Sequence[float]
    """The scalar arguments, in order."""
    version: int = 3
    """Which Prometheus to follow where 2 and 3 differ."""

    def part(self, columns: slice) -> RangeCall:
        """Return the same call for some of the series."""
        return replace(self, window=self.window.part(columns), counts=self.counts[columns])

    @property
    def present(self) -> np.ndarray:
        """Where there is a sample."""
        return self.window.present

    def filled(self, value: float) -> Floats:
        """Return the values with holes set to ``value``."""
        if self.window.complete:
            return self.window.values
        return np.where(self.present, self.window.values, value)

    def ends(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return times and values of the first and the last sample of each series."""
        at, values = self.window.at, self.window.values
        if self.window.complete:
            every = slice(None)
            return at(0, every), values[0], at(-1, every), values[-1]
        present, columns = self.present, np.arange(values.shape[1])
        first = np.argmax(present, axis=0)
        last = len(values) - 1 - np.argmax(present[::-1], axis=0)
        return at(first, columns), values[first, columns], at(last, columns), values[last, columns]


PART = 1 << 18
"""Samples of a large window that are computed at a time: what is in between stays small, and in the cache."""


def in_parts(compute: Callable[[RangeCall], Floats], call: RangeCall) -> Floats:
    """Compute some series after the other when there are many; each is on its own."""
    rows, series = call.window.values.shape
    width = max(1, PART // max(1, rows))
    if series <= width:
        return compute(call)
    parts = [slice(start, start + width) for start in range(0, series, width)]
    return np.concatenate([compute(call.part(part)) for part in parts])


@dataclass(frozen=True, slots=True)
class RangeFunction:
    """How a range function is computed and what it needs."""

    compute: Callable[[RangeCall], Floats]
    needs: int = 1
    """Samples without which it has no value."""
    covered: bool = True
    """Whether ``min_coverage`` applies; not to functions that count or that look at one sample."""
    keeps_name: bool = False


def _sum(call: RangeCall) -> Floats:
    return sum_rows(call.filled(0.0))


def _avg(call: RangeCall) -> Floats:
    total = _sum(call)
    if not np.isinf(total).any():
        return total / call.counts
    small = sum_rows(call.filled(0.0) / call.counts)  # finite where only the sum is too large
    return np.where(np.isinf(total), small, total / call.counts)


def _min(call: RangeCall) -> Floats:
    return np.asarray(np.fmin.reduce(call.filled(np.nan), axis=0))


def _max(call: RangeCall) -> Floats:
    return np.asarray(np.fmax.reduce(call.filled(np.nan), axis=0))


def _count(call: RangeCall) -> Floats:
    return call.counts.astype(float)


def _present(call: RangeCall) -> Floats:
    return np.ones(len(call.counts))


def _last(call: RangeCall) -> Floats:
    return call.ends()[3]


def _stdvar(call: RangeCall) -> Floats:
    """Return the variance around the mean. Distances are taken from the first sample: equal samples give 0."""
    away = call.window.values - call.ends()[1]
    if not call.window.complete:
        away = np.where(call.present, away, 0.0)
    away = away - away.sum(axis=0) / call.counts
    if not call.window.complete:
        away = np.where(call.present, away, 0.0)
    return np.asarray((away * away).sum(axis=0) / call.counts)


def _stddev(call: RangeCall) -> Floats:
    return np.asarray(np.sqrt(_stdvar(call)))


def _quantile(call: RangeCall) -> Floats:
    return quantile_of_sorted(call.arguments[0], _sorted(call), call.counts.astype(int))


def _sorted(call: RangeCall) -> Floats:
    """Return each column sorted: holes last; a NaN sample comes first, as in Prometheus."""
    values = call.filled(np.inf)
    if not np.isnan(values).any():
        return np.sort(values, axis=0)
    order = np.argsort(np.where(np.isnan(values), -np.inf, values), axis=0, kind="stable")
    nan_before_inf = np.take_along_axis(values, order, axis=0)
    again = np.argsort(~np.isnan(nan_before_inf), axis=0, kind="stable")
    return np.take_along_axis(nan_before_inf, again, axis=0)


def quantile_of_sorted(q: float, ordered: Floats, counts: np.ndarray) -> Floats:
    """Return the q-quantile of each column's first ``counts`` values, by linear interpolation."""
    size = ordered.shape[1]
    if np.isnan(q):
        return np.full(size, np.nan)
    if q < 0 or q > 1:
        return np.full(size, -np.inf if q < 0 else np.inf)
    rank = q * (counts - 1)
    low = np.floor(rank).astype(int)
    high = np.minimum(low + 1, counts - 1)
    columns = np.arange(size)
    weight = rank - low
    return np.asarray(ordered[low, columns] * (1 - weight) + ordered[high, columns] * weight)


SUMMARIES: Mapping[str, RangeFunction] = {
    "avg_over_time": RangeFunction(_avg),
    "min_over_time": RangeFunction(_min),
    "max_over_time": RangeFunction(_max),
    "sum_over_time": RangeFunction(_sum),
    "count_over_time": RangeFunction(_count, covered=False),
    "last_over_time": RangeFunction(_last, covered=False, keeps_name=True),
    "present_over_time": RangeFunction(_present, covered=False),
    "stddev_over_time": RangeFunction(_stddev),
    "stdvar_over_time": RangeFunction(_stdvar),
    "quantile_over_time": RangeFunction(_quantile),
}
"""Functions that sum a window up in one number."""
