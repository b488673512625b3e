"""What goes into a history, and what it reports. Tuples where a tick makes thousands of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from watchdog.model import Labels, OwnRow, Points

__all__ = ["HistoryStats", "IngestReport", "OwnRow", "SeriesPoints"]


class SeriesPoints(NamedTuple):
    """Samples of one series of a poll. ``base`` are the labels of the job, project or source it belongs to."""

    base: Labels
    points: Points


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one batch changed."""

    new: int = 0
    """Samples that were not there before."""
    revised: int = 0
    """Samples that were there with another value."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Samples left out, by reason: ``nan`` (value or time not finite), ``future``. Too old ones do not count."""


@dataclass(frozen=True, slots=True)
class HistoryStats:
    """How much a history holds."""

    series: int
    samples: int
    bytes: int
    """Of the arrays, unused capacity included; strings and Python objects are not counted."""
