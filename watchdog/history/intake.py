"""Turns the samples of a batch into arrays, block by block, and leaves out what does not belong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np

from watchdog.history.block import Series
from watchdog.history.matrix import FARTHEST
from watchdog.history.write import Samples
from watchdog.model import Points


def flat_points(pairs: Sequence[tuple[Series, Points]]) -> Samples:
    """Return the points of some series of one block, one after the other."""
    counts = np.fromiter((len(points.times) for _, points in pairs), np.intp, len(pairs))
    total = int(counts.sum())
    columns = np.repeat(np.fromiter((series.column for series, _ in pairs), np.intp, len(pairs)), counts)
    times = np.fromiter(chain.from_iterable(points.times for _, points in pairs), np.float64, total)
    values = np.fromiter(chain.from_iterable(points.values for _, points in pairs), np.float64, total)
    return columns, times, values


def flat_values(pairs: Sequence[tuple[Series, float]], time: float) -> Samples:
    """Return one sample at ``time`` of each of some series of one block."""
    columns = np.fromiter((series.column for series, _ in pairs), np.intp, len(pairs))
    return columns, np.full(len(pairs), time), np.fromiter((value for _, value in pairs), np.float64, len(pairs))


def acceptable(samples: Samples, oldest: float, newest: float, dropped: Counter[str]) -> Samples:
    """Return the samples with ``oldest <= time <= newest`` that are finite; count the others, old ones not.

    A time that is too far away to have milliseconds counts as not finite.
    """
    columns, times, values = samples
    finite = (np.abs(times) <= FARTHEST) & np.isfinite(values)
    ahead = finite & (times > newest)
    keep = finite & ~ahead & (times >= oldest)
    if keep.all():
        return samples
    dropped["nan"] += int(np.count_nonzero(~finite))
    dropped["future"] += int(np.count_nonzero(ahead))
    return columns[keep], times[keep], values[keep]
