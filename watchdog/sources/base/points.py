"""Reads the points of a series: a fast way for what is as it should be, a careful one for the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, cast

from watchdog.sources.base.numbers import Reason, number, within
from watchdog.sources.base.times import Stamps

Series = tuple[Sequence[float], Sequence[float]]
"""Times (ascending, each once) and values, of equal length."""

_Axis = tuple[list[float], list[int] | None]

EMPTY: Series = ((), ())
FUTURE_SLACK = 300.0
"""Seconds by which a provider's clock may be ahead of ours."""
_VALUE, _TIMESTAMP = itemgetter("value"), itemgetter("timestamp")
_NUMBERS = frozenset({float, int})


class PointReader:
    """Reads the series of one reply and counts what had to be left out.

    ``oldest`` and ``newest`` are the times (unix seconds) between which points are believed: one far in
    the future would make its series look fresh for ever.
    """

    def __init__(self, parse: Callable[[object], float | None], oldest: float, newest: float) -> None:
        self._stamps = Stamps(parse)
        self._axes: dict[tuple[Any, ...], _Axis] = {}
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
        try:
            values = list(map(_VALUE, raw))
            stamps = tuple(map(_TIMESTAMP, raw))
            axis = self._axes.get(stamps) or self._new_axis(stamps)
            if (
                axis is not None
                and (kinds := set(map(type, values))) <= _NUMBERS
                and 0 <= min(values) <= max(values) <= most
                and math.isfinite(sum(values))
            ):
                times, order = axis
                if order is not None:
                    values = [values[index] for index in order]
                return times, list(map(float, values)) if int in kinds else values
        except (KeyError, TypeError, OverflowError):
            pass  # something is not as it should be: look at each point by itself
        return self._carefully(raw, most)

    def _new_axis(self, stamps: tuple[Any, ...]) -> _Axis | None:
        """Keep and return the times that series of a reply share, with the order in which to take the points.

        The order is None where they are in order. None if one of the times cannot be believed.
        """
        times = [self._stamps[stamp] for stamp in stamps]
        if not all(time is not None and self._oldest <= time <= self._newest for time in times):
            return None
        last = {time: index for index, time in enumerate(cast("list[float]", times))}
        ordered = sorted(last)
        found = self._axes[stamps] = (ordered, None if ordered == times else [last[time] for time in ordered])
        return found

    def ratios(self, series: Series, limit: float, most: float) -> Series:
        """Return ``series / limit``, without the points whose ratio is above ``most``."""
        times, values = series
        ratios = [value / limit for value in values]
        if not ratios or max(ratios) <= most:
            return times, ratios
        kept = [pair for pair in zip(times, ratios, strict=True) if pair[1] <= most]
        self.drop(Reason.UNIT, len(ratios) - len(kept))
        return [time for time, _ in kept], [ratio for _, ratio in kept]

    def _carefully(self, raw: Iterable[object], most: float) -> Series:
        kept: dict[float, float] = {}
        for point in raw:
            found = self._point(point, most)
            if isinstance(found, Reason):
                self.drop(found)
            else:
                kept[found[0]] = found[1]
        times = sorted(kept)
        return times, [kept[time] for time in times]

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
