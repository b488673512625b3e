"""Numbers as Prometheus writes them, and sums that do not lose small terms beside large ones."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from watchdog.promql.storage import Floats


def format_float(value: float) -> str:
    """Return the shortest text that reads back as the same number, never with an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value)
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def whole_milliseconds(seconds: Floats) -> Floats:
    """Return differences of times rounded to the millisecond.

    Unix times are only exact to a quarter of a microsecond in floating point; samples have milliseconds.
    """
    return np.asarray(np.rint(seconds * 1000.0) / 1000.0)


def sum_rows(values: Floats) -> Floats:
    """Return the sum of each column of ``values`` (rows, n), as exact as one rounding allows.

    Without negative terms nothing can cancel out, and a plain sum is exact enough; else Neumaier's
    compensated sum, which is also what Prometheus uses.
    """
    if not values.size or values.min() >= 0:
        return np.asarray(values.sum(axis=0))
    total, lost = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for row in values:
        grown = total + row
        lost += np.where(np.abs(total) >= np.abs(row), (total - grown) + row, (row - grown) + total)
        total = grown
    return np.where(np.isfinite(total), total + lost, total)
