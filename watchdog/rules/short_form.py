"""The short form of a rule, a threshold on one metric, and the PromQL that it stands for."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from watchdog.config import parse_duration
from watchdog.promql.storage import Matcher
from watchdog.promql.write import duration, number
from watchdog.rules.matchers import written

Side = Literal["below", "above"]
Reduce = Literal["avg", "min", "max", "median", "p95", "p05", "last"]

_BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(%|[KMGT]?i?B)?", re.ASCII)
_NUMBER_ONLY = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_KIND = {"ratio": "%", "bytes": "B", "seconds": "s"}
"""Which suffix fits the unit of a metric."""
_EXAMPLE = {"ratio": '"5%"', "bytes": '"8GiB"', "seconds": '"20m"'}
_QUANTILES = {"median": "0.5", "p95": "0.95", "p05": "0.05"}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit on one metric, in the metric's own unit; ``window`` in seconds."""

    metric: str
    side: Side
    limit: float
    window: float | None = None
    reduce: Reduce | None = None
    """None: every sample of the window is beyond the limit."""
    clear: float | None = None
    matchers: tuple[Matcher, ...] = ()
    """Which series of the metric; all without any."""

    @property
    def expr(self) -> str:
        """When the alert holds."""
        return f"{self._value} {'<' if self.side == 'below' else '>'} {number(self.limit)}"

    @property
    def clear_expr(self) -> str | None:
        """When a firing alert clears; None without hysteresis."""
        if self.clear is None:
            return None
        return f"{self._value} {'>=' if self.side == 'below' else '<='} {number(self.clear)}"

    @property
    def _value(self) -> str:
        series = self.metric
        if self.matchers:
            series += "{" + ", ".join(written(matcher) for matcher in self.matchers) + "}"
        if self.window is None:
            return series
        reduce = self.reduce or ("max" if self.side == "below" else "min")
        series += f"[{duration(self.window)}]"
        if reduce in _QUANTILES:
            return f"quantile_over_time({_QUANTILES[reduce]}, {series})"
        return f"{reduce}_over_time({series})"


def parse_quantity(value: float | str, unit: str) -> float:
    """Return a limit in ``unit``: ``"5%"`` of a ratio is 0.05, ``"2KiB"`` is 2048, ``"20m"`` is 1200 seconds.

    Raises ValueError with a remedy for another unit's suffix and for a plain number above 1 on a ratio:
    whoever writes 5 for a utilization means 5 %.
    """
    example = _EXAMPLE.get(unit, "a plain number")
    text = str(value).strip()
    if unit == "seconds" and not _NUMBER_ONLY.fullmatch(text):
        return parse_duration(value)
    found = _QUANTITY.fullmatch(text)
    if isinstance(value, bool) or found is None:
        raise ValueError(f'"{text}" is not a quantity; write {example}')
    amount, suffix = Decimal(found[1]), found[2] or ""
    if suffix and suffix[-1] != _KIND.get(unit):
        raise ValueError(f'"{text}" does not fit a metric in {unit}; write {example}')
    if unit == "ratio" and not suffix and abs(amount) > 1:
        text = text.removesuffix(".0")  # TOML's 50 arrives here as 50.0
        raise ValueError(f'{text} is more than all of a ratio, which goes from 0 to 1; write "{text}%"')
    scaled = _scaled(amount, suffix)
    if not math.isfinite(scaled):
        raise ValueError(f'"{text}" is too large; write {example}')
    return scaled


def _scaled(amount: Decimal, suffix: str) -> float:
    # Decimal, so that 0.7 % is 0.007 and reads so in PromQL.
    if suffix == "%":
        return float(amount / 100)
    if suffix.endswith("iB") or suffix in ("", "B"):
        return float(amount * _BYTES[suffix.rstrip("iB")])
    raise ValueError(f'the unit {suffix} is decimal to some and binary to others; write "{suffix[0]}iB"')
