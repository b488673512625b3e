"""An explanation as JSON has it."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from watchdog.engine.explain.blame import short
from watchdog.engine.explain.model import Explanation


def as_json(item: Explanation) -> dict[str, Any]:
    """Return objects, lists, texts and numbers; what is not a finite number is a text (``NaN``, ``+Inf``)."""
    return {name: _plain(value) for name, value in asdict(item).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return short(value) if isinstance(value, float) and not math.isfinite(value) else value
