"""Functions of how a window's samples change: counters, differences, trends. See ``ranges`` for the shapes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from watchdog.promql.numbers import sum_rows, whole_milliseconds
from watchdog.promql.ranges import SUMMARIES, RangeCall, RangeFunction
from watchdog.promql.storage import Floats


def _pairs(call: RangeCall) -> tuple[Floats, Floats, np.ndarray]:
    """Return each sample, the one after it, and where there are both."""
    values, present = call.window.values, call.present
    if not call.window.complete:
        order = _packed(present)
        values, present = np.take_along_axis(values, order, axis=0), np.take_along_axis(present, order, axis=0)
    return values[:-1], values[1:], present[:-1]


def _packed(present: np.ndarray) -> np.ndarray:
    """Return the order of rows that puts each series' samples into its last ones: neighbours are neighbours."""
    return np.argsort(present, axis=0, kind="stable")


def _count_pairs(call: RangeCall, found: np.ndarray) -> Floats:
    return np.asarray(found.sum(axis=0), dtype=float) if len(found) else np.zeros(len(call.counts))


def _changes(call: RangeCall) -> Floats:
    before, after, both = _pairs(call)
    return _count_pairs(call, both & (before != after) & ~(np.isnan(before) & np.isnan(after)))


def _resets(call: RangeCall) -> Floats:
    before, after, both = _pairs(call)
    return _count_pairs(call, both & (after < before))


def _lost(call: RangeCall) -> Floats:
    """Return what a counter had counted before its resets."""
    before, after, both = _pairs(call)
    return sum_rows(np.where(both & (after < before), before, 0.0))


def _extrapolated(call: RangeCall, *, counter: bool) -> Floats:
    """Return the difference over the whole window, guessed from the samples inside, as Prometheus does.

    The line through them goes on to the window's bounds, or by half a sample spacing where the bound is more
    than 1.1 spacings away; a counter does not go below zero on the way back.
    """
    t_first, v_first, t_last, v_last = call.ends()
    rise = v_last - v_first + (_lost(call) if counter else 0.0)
    sampled = whole_milliseconds(t_last - t_first)
    spacing = sampled / (call.counts - 1)
    before, after = whole_milliseconds(t_first - call.start), whole_milliseconds(call.end - t_last)
    zero = np.where((rise > 0) & (v_first >= 0), sampled * (v_first / rise), np.inf) if counter else np.inf
    if call.version < 3:
        before = np.minimum(before, zero)
    before = np.where(before >= spacing * 1.1, spacing / 2, before)
    if call.version >= 3:
        before = np.minimum(before, zero)
    after = np.where(after >= spacing * 1.1, spacing / 2, after)
    return np.asarray(rise * ((sampled + before + after) / sampled))


def _delta(call: RangeCall) -> Floats:
    return _extrapolated(call, counter=False)


def _increase(call: RangeCall) -> Floats:
    return _extrapolated(call, counter=True)


def _rate(call: RangeCall) -> Floats:
    return _increase(call) / round(call.end - call.start, 3)


def _last_two(call: RangeCall) -> tuple[Floats, Floats, Floats]:
    """Return the last sample but one, the last one, and the seconds between them."""
    window, columns = call.window, np.arange(call.window.values.shape[1])
    before, last = (-2, -1) if window.complete else _packed(call.present)[-2:]
    seconds = whole_milliseconds(window.at(last, columns) - window.at(before, columns))
    return window.values[before, columns], window.values[last, columns], seconds


def _idelta(call: RangeCall) -> Floats:
    before, after, _ = _last_two(call)
    return after - before


def _irate(call: RangeCall) -> Floats:
    before, after, seconds = _last_two(call)
    return np.where(after < before, after, after - before) / seconds


def _line(call: RangeCall) -> tuple[Floats, Floats]:
    """Return slope and value at the evaluation time of the least-squares line; a flat one has exactly no slope.

    Distances are taken from the mean time and the first value, where nothing large cancels out.
    """
    t_first, v_first, _, _ = call.ends()
    x, y = call.window.since(t_first), call.window.values - v_first
    if not call.window.complete:
        x, y = np.where(call.present, x, 0.0), np.where(call.present, y, 0.0)
    flat = np.asarray((y == 0.0).all(axis=0)) & np.isfinite(v_first)
    n = call.counts
    mean_x, mean_y = x.sum(axis=0) / n, y.sum(axis=0) / n
    x = x - mean_x
    if not call.window.complete:
        x = np.where(call.present, x, 0.0)
    slope = np.where(flat, 0.0, (x * y).sum(axis=0) / (x * x).sum(axis=0))
    slope = np.where(np.isfinite(mean_y), slope, np.nan)  # no line goes through infinity
    return slope, v_first + np.where(flat, 0.0, mean_y + slope * (whole_milliseconds(call.at - t_first) - mean_x))


def _deriv(call: RangeCall) -> Floats:
    return _line(call)[0]


def _predict_linear(call: RangeCall) -> Floats:
    slope, now = _line(call)
    return now + slope * call.arguments[0]


RANGE_FUNCTIONS: Mapping[str, RangeFunction] = {
    **SUMMARIES,
    "changes": RangeFunction(_changes),
    "resets": RangeFunction(_resets),
    "delta": RangeFunction(_delta, needs=2),
    "increase": RangeFunction(_increase, needs=2),
    "rate": RangeFunction(_rate, needs=2),
    "idelta": RangeFunction(_idelta, needs=2),
    "irate": RangeFunction(_irate, needs=2),
    "deriv": RangeFunction(_deriv, needs=2),
    "predict_linear": RangeFunction(_predict_linear, needs=2),
}
"""All range functions by name. Adding one is a function and a line here."""
