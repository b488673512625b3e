"""Functions over range vectors, each on all series at once.

A window has shape (rows, series); a hole is a NaN time. Every function returns one value per series and is
only asked for series that have the samples it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

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

    @property
    def present(self) -> np.ndarray:
        """Where there is a sample."""
        return ~np.isnan(self.window.times)

    def filled(self, value: float) -> Floats:
        """Return the values with holes set to ``value``."""
        if self.window.complete:
            return self.window.values
        return np.where(self.present, self.window.values, value)


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
    return np.asarray(call.filled(0.0).sum(axis=0))


def _avg(call: RangeCall) -> Floats:
    return _sum(call) / call.counts


def _min(call: RangeCall) -> Floats:
    return np.asarray(np.fmin.reduce(call.filled(np.nan), axis=0))


def _max(call: RangeCall) -> Floats:
    return np.asarray(np.fmax.reduce(call.filled(np.nan), axis=0))


def _count(call: RangeCall) -> Floats:
    return call.counts.astype(float)


def _present(call: RangeCall) -> Floats:
    return np.ones(len(call.counts))


def _ends(call: RangeCall) -> tuple[Floats, Floats, Floats, Floats]:
    """Return times and values of the first and the last sample of each series."""
    times, values = call.window.times, call.window.values
    columns = np.arange(times.shape[1])
    first = np.argmax(call.present, axis=0)
    last = times.shape[0] - 1 - np.argmax(call.present[::-1], axis=0)
    return times[first, columns], values[first, columns], times[last, columns], values[last, columns]


def _last(call: RangeCall) -> Floats:
    return _ends(call)[3]


def _stddev(call: RangeCall) -> Floats:
    away = call.window.values - _avg(call)
    if not call.window.complete:
        away = np.where(call.present, away, 0.0)
    return np.asarray(np.sqrt((away * away).sum(axis=0) / call.counts))


def _quantile(call: RangeCall) -> Floats:
    q = call.arguments[0]
    ordered = np.sort(_nan_first(call), axis=0)
    return quantile_of_sorted(q, ordered, call.counts.astype(int))


def _nan_first(call: RangeCall) -> Floats:
    """Return values fit for sorting: holes last; a NaN sample sorts as the smallest, as in Prometheus."""
    values = np.where(np.isnan(call.window.values), -np.inf, call.window.values)
    return np.where(call.present, values, np.inf)


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


def _delta(call: RangeCall) -> Floats:
    """Extrapolate to the bounds of the window, as Prometheus does: at most half a sample spacing beyond them."""
    t_first, v_first, t_last, v_last = _ends(call)
    sampled = t_last - t_first
    spacing = sampled / (call.counts - 1)
    before, after = t_first - call.start, call.end - t_last
    before = np.where(before >= spacing * 1.1, spacing / 2, before)
    after = np.where(after >= spacing * 1.1, spacing / 2, after)
    return (v_last - v_first) * ((sampled + before + after) / sampled)


def _line(call: RangeCall, origin: Floats | float) -> tuple[Floats, Floats]:
    """Return slope and value at ``origin`` of the least-squares line."""
    x = call.window.times - origin
    y = call.window.values
    if not call.window.complete:
        x, y = np.where(call.present, x, 0.0), np.where(call.present, y, 0.0)
    n, sum_x, sum_y = call.counts, x.sum(axis=0), y.sum(axis=0)
    covariance = (x * y).sum(axis=0) - sum_x * sum_y / n
    variance = (x * x).sum(axis=0) - sum_x * sum_x / n
    slope = covariance / variance
    first = _ends(call)[1]
    flat = np.asarray((call.filled(0.0) == np.where(call.present, first, 0.0)).all(axis=0)) & np.isfinite(first)
    slope = np.where(flat, 0.0, slope)
    return slope, np.where(flat, first, sum_y / n - slope * sum_x / n)


def _deriv(call: RangeCall) -> Floats:
    return _line(call, _ends(call)[0])[0]


def _predict_linear(call: RangeCall) -> Floats:
    slope, now = _line(call, call.at)
    return now + slope * call.arguments[0]


RANGE_FUNCTIONS: Mapping[str, RangeFunction] = {
    "avg_over_time": RangeFunction(_avg),
    "min_over_time": RangeFunction(_min),
    "max_over_time": RangeFunction(_max),
    "sum_over_time": RangeFunction(_sum),
    "count_over_time": RangeFunction(_count, covered=False),
    "last_over_time": RangeFunction(_last, covered=False, keeps_name=True),
    "present_over_time": RangeFunction(_present, covered=False),
    "stddev_over_time": RangeFunction(_stddev),
    "quantile_over_time": RangeFunction(_quantile),
    "delta": RangeFunction(_delta, needs=2),
    "deriv": RangeFunction(_deriv, needs=2),
    "predict_linear": RangeFunction(_predict_linear, needs=2),
}
"""By name. Adding one is a function and a line here."""
