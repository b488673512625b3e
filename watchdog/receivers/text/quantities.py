"""Numbers and times as people read them: values in the unit of their metric, durations, clock times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from watchdog.vocabulary import METRICS

_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_CHANGES_UNIT = re.compile(
    r"\b(absent|absent_over_time|changes|count|count_over_time|count_values|deriv|group|irate|rate|resets"
    r"|stddev|stddev_over_time|stdvar|stdvar_over_time|timestamp)\b"
)
"""Functions of PromQL whose result is not in the unit of their argument."""
_BOUNDS = re.compile(r"[(){}]|[<>]|[=!]=|\b(?:and|or|unless)\b")
_STEPS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def unit_of(expr: str) -> str:
    """Return the unit of a rule's value: that of the first metric its expression names.

    What the value is compared with does not count. Empty (a plain number) when the expression names none of
    the vocabulary, or calculates: a wrong unit would be a false word.
    """
    without_texts = _value_of(re.sub(r"\"[^\"]*\"|'[^']*'|\[[^\]]*\]", "", expr))
    if re.search(r"[*/^%]", without_texts) or _CHANGES_UNIT.search(without_texts):
        return ""
    return next((METRICS[word].unit for word in _WORD.findall(without_texts) if word in METRICS), "")


def quantity(value: float, unit: str) -> str:
    """Return ``value`` (base units) with its unit: ``3.4 %``, ``71.5 GiB``, ``2h 5m``, ``83 °C``."""
    if not math.isfinite(value):
        return "not a number"
    value += 0.0  # minus zero becomes zero
    if unit == "ratio":
        return f"{_short(value * 100)} %"
    if unit == "bytes":
        return _bytes(value)
    if unit == "seconds":
        return duration(value)
    suffix = {"watts": " W", "celsius": " °C", "cores": " cores", "usd_per_hour": " USD/h"}
    return _short(value) + suffix.get(unit, "")


def span(values: Sequence[float | None], unit: str) -> str:
    """Return what several alerts read: one quantity or ``2 % to 4 %``; empty if nothing is known."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return ""
    low, high = quantity(min(known), unit), quantity(max(known), unit)
    return low if low == high else f"{low} to {high}"


def duration(seconds: float) -> str:
    """Return the two largest parts: ``45s``, ``12m``, ``2h 5m``, ``3d 4h``. Below one second: ``0s``."""
    left = round(abs(seconds))
    parts = []
    for size, letter in _STEPS:
        count, left = divmod(left, size)
        parts.append(f"{count}{letter}" if count else "")
    first = next((index for index, part in enumerate(parts) if part), 3)
    text = " ".join(part for part in parts[first : first + 2] if part) or "0s"
    return f"-{text}" if seconds <= -0.5 else text


def usd(amount: float) -> str:
    """Return ``$0.42``, ``$1,234``; cents are left out where they do not matter."""
    if 0 < amount < 0.01:
        return "less than $0.01"
    return f"${amount:,.2f}" if amount < 100 else f"${amount:,.0f}"


def gpu_hours(hours: float) -> str:
    """Return ``1.5 GPU-hours``."""
    text = "less than 0.01" if 0 < hours < 0.01 else _short(round(hours, 2))
    return f"{text} GPU-hour" if text == "1" else f"{text} GPU-hours"


def utc(at: float) -> str:
    """Return a time as ``2026-03-02 09:01 UTC``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _value_of(expr: str) -> str:
    """Return the part in front of the first comparison, ``and``, ``or`` or ``unless`` outside of brackets."""
    depth = 0
    for found in _BOUNDS.finditer(expr):
        depth += (found[0] in "({") - (found[0] in ")}")
        if depth == 0 and found[0] not in ")}":
            left = expr[: found.start()]
            return left if any(word in METRICS for word in _WORD.findall(left)) else expr
    return expr


def _short(value: float) -> str:
    """Return three significant digits, without an exponent where that stays readable."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
        text = f"{value:.{digits}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.3g}"


def _bytes(value: float) -> str:
    power = 0
    while abs(value) >= 1024 and power < len(_BINARY) - 1:
        value /= 1024
        power += 1
    return f"{_short(value)} {_BINARY[power]}"
