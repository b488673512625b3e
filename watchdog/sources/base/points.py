"""Reads the points of a series: a fast way for what is as it should be, a careful one for the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import ge
from typing import Any

from watchdog.sources.base.numbers import Reason, number, within
from watchdog.sources.base.times import Stamps

Series = tuple[Sequence[float], Sequence[float]]
"""Times (ascending, each once) and values, of equal length."""

EMPTY: Series = ((), ())
FUTURE_SLACK = 300.0
"""Seconds by which a provider's clock may be ahead of ours."""
_NUMBERS = frozenset({float, int})


class PointReader:
    """Reads the series of one reply and counts what had to be left out.

    ``oldest`` and ``newest`` are the times (unix seconds) between which points are believed: one far in
    the future would make its series look fresh for ever.
    """

    def __init__(self, parse: Callable[[object], float | None], oldest: float, newest: float) -> None:
        self._stamps = Stamps(parse)
        self._oldest = oldest
        self._newest = newest
        self.dropped: dict[str, int] = {}

    def drop(self, reason: Reason, count: int = 1) -> None:
        """Count points that were left out."""
        self.dropped[reason.value] = self.dropped.get(reason.value, 0) + count

    def read(self, raw: Sequence[Any], most: float) -> Series:
        """Return the points of a list of ``{"value", "timestamp"}`` whose values go from 0 to ``most``.

        Points may come in any order; of two with the same time the later one counts.
        """
        if not raw:
            return EMPTY
        stamps = self._stamps
        try:
            values = [point["value"] for point in raw]
            times = [stamps[point["timestamp"]] for point in raw]
            if (
                set(map(type, values)) <= _NUMBERS
                and None not in times
                and 0 <= min(values) <= max(values) <= most
                and self._oldest <= min(times) <= max(times) <= self._newest  # type: ignore[type-var]
                and math.isfinite(sum(values))
            ):
                return _in_order(times, values)  # type: ignore[arg-type]
        except (KeyError, TypeError, OverflowError):
            pass  # something is not as it should be: look at each point by itself
        return _in_order(*self._carefully(raw, most))

    def ratios(self, series: Series, limit: float, most: float) -> Series:
        """Return ``series / limit``, without the points whose ratio is above ``most``."""
        times, values = series
        ratios = [value / limit for value in values]
        if not ratios or max(ratios) <= most:
            return times, ratios
        kept = [pair for pair in zip(times, ratios, strict=True) if pair[1] <= most]
        self.drop(Reason.UNIT, len(ratios) - len(kept))
        return [time for time, _ in kept], [ratio for _, ratio in kept]

    def _carefully(self, raw: Iterable[object], most: float) -> tuple[list[float], list[float]]:
        times: list[float] = []
        values: list[float] = []
        for point in raw:
            found = self._point(point, most)
            if isinstance(found, Reason):
                self.drop(found)
            else:
                times.append(found[0])
                values.append(found[1])
        return times, values

    def _point(self, point: object, most: float) -> tuple[float, float] | Reason:
        if not isinstance(point, dict):
            return Reason.POINT
        value = number(point.get("value"))
        if isinstance(value, Reason):
            return value
        stamp = point.get("timestamp")
        time = self._stamps[stamp] if isinstance(stamp, str | int | float) else None
        if time is None:
            return Reason.TIMESTAMP
        if time > self._newest:
            return Reason.FUTURE
        return Reason.OLD if time < self._oldest else within(value, most) or (time, value)


def _in_order(times: list[float], values: Sequence[float]) -> Series:
    if any(map(ge, times, times[1:])):
        pairs = sorted(dict(zip(times, values, strict=True)).items())
        times, values = [time for time, _ in pairs], [value for _, value in pairs]
    return times, list(map(float, values))
