"""Calendar functions: of unix seconds, in UTC. What is not a time (NaN, beyond year 9999) gives NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from watchdog.promql.storage import Floats

_LAST = 253_402_300_799.0
"""The last second of the year 9999."""
_DAY = 86400.0
Whole = npt.NDArray[np.int64]
Days = npt.NDArray[np.datetime64]


def _on_times(function: Callable[[Floats], Whole]) -> Callable[[Floats], Floats]:
    """Apply to whole seconds that a calendar knows."""

    def apply(values: Floats) -> Floats:
        known = np.abs(values) <= _LAST
        seconds = np.trunc(np.where(known, values, 0.0))
        return np.where(known, function(seconds).astype(float), np.nan)

    return apply


def _days(seconds: Floats) -> Days:
    return np.floor(seconds / _DAY).astype("datetime64[D]")


def _within(days: Days, unit: str) -> Whole:
    """Return how many days of its month or year a day comes after the first."""
    first: Days = days.astype(f"datetime64[{unit}]").astype("datetime64[D]")
    return np.asarray((days - first).astype(np.int64))


def _days_in_month(seconds: Floats) -> Whole:
    months = _days(seconds).astype("datetime64[M]")
    length = (months + 1).astype("datetime64[D]") - months.astype("datetime64[D]")
    return np.asarray(length.astype(np.int64))


CALENDAR: Mapping[str, Callable[[Floats], Floats]] = {
    name: _on_times(function)
    for name, function in {
        "minute": lambda s: (np.floor(s / 60) % 60).astype(np.int64),
        "hour": lambda s: (np.floor(s / 3600) % 24).astype(np.int64),
        "day_of_week": lambda s: ((np.floor(s / _DAY) + 4) % 7).astype(np.int64),  # 1970 began on a Thursday
        "day_of_month": lambda s: _within(_days(s), "M") + 1,
        "day_of_year": lambda s: _within(_days(s), "Y") + 1,
        "days_in_month": _days_in_month,
        "month": lambda s: _days(s).astype("datetime64[M]").astype(np.int64) % 12 + 1,
        "year": lambda s: _days(s).astype("datetime64[Y]").astype(np.int64) + 1970,
    }.items()
}
"""By name; without an argument they are asked about the evaluation time."""
