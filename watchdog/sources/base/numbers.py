"""Reads one value of a sample as providers write it, or says why it cannot be used."""

from __future__ import annotations

import math
import re
from enum import StrEnum

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+,(\d{1,2}|\d{4,})|0,\d+)", re.ASCII)
_NOT_FINITE = frozenset({"nan", "inf", "infinity"})

RATIO_MOST = 1.5
"""A ratio above this is probably a percentage (reference, section 2.3): left out, never rescaled."""


class Reason(StrEnum):
    """Why a point was left out; the keys of ``JobReading.dropped``."""

    NULL = "null"
    """No value: null, an empty text, ``-``."""
    NAN = "nan"
    """Not a number, or infinite."""
    VALUE = "bad_value"
    """A boolean, a word, or a number that can be read in two ways."""
    NEGATIVE = "negative"
    UNIT = "unit"
    """A ratio so large that its unit is in doubt."""
    TIMESTAMP = "bad_timestamp"
    """No time, or one without a zone."""
    POINT = "bad_point"
    """Not an object with a time and a value."""
    FUTURE = "future"
    OLD = "too_old"
    """Older than what was asked for."""
    GPU = "ambiguous_gpu"
    """Two GPUs of one pod share a name and were told apart by their order (the points are kept)."""


def number(raw: object) -> float | Reason:
    """Return the value of a JSON number or of a text that holds one, else the reason why there is none.

    Texts may have spaces around them, a percent sign (``95%`` is 0.95), an exponent, thousands with a
    decimal point (``1,234.5``) or a decimal comma (``0,95``). ``1,234`` could be either and is refused.
    """
    if isinstance(raw, bool):
        return Reason.VALUE
    if isinstance(raw, int | float):
        try:
            value = float(raw)
        except OverflowError:
            return Reason.NAN
    elif isinstance(raw, str):
        return _of_text(raw.strip())
    else:
        return Reason.NULL if raw is None else Reason.VALUE
    return value if math.isfinite(value) else Reason.NAN


def _of_text(text: str) -> float | Reason:
    if text in ("", "-"):
        return Reason.NULL
    if text.lstrip("+-").lower() in _NOT_FINITE:
        return Reason.NAN
    scale = 1.0
    if text.endswith("%"):
        text, scale = text[:-1].rstrip(), 0.01
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    elif _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if not _NUMBER.fullmatch(text):
        return Reason.VALUE
    value = float(text) if scale == 1.0 else float(text) / 100.0
    return value if math.isfinite(value) else Reason.NAN


def within(value: float, most: float) -> Reason | None:
    """Return why a finite ``value`` cannot be one of a metric that goes from 0 to ``most``; None if it can."""
    if value < 0:
        return Reason.NEGATIVE
    return Reason.UNIT if value > most else None
