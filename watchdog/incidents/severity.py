"""How severe is severe: an order of the usual words."""

from __future__ import annotations

from collections.abc import Iterable

_RANK = {"info": 1, "warning": 2, "error": 3, "critical": 4, "page": 4}


def rank(severity: str) -> int:
    """Return 1 (info) to 4 (critical); 0 for a word of the team's own."""
    return _RANK.get(severity.lower(), 0)


def highest(severities: Iterable[str]) -> str:
    """Return the most severe of these words; an empty string for none."""
    return max(severities, key=rank, default="")
