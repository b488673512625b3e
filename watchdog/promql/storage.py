"""What the evaluator asks of whatever holds samples. ``history`` implements it; so do files and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from watchdog.labels import Index, LabelColumns, StringTable

Floats = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.floating]
"""Whole milliseconds after the start of a row; NaN is a hole. As narrow as holds them exactly."""
Places = int | slice | Index
"""Of rows or of columns."""


def seconds(starts: Floats, offsets: Offsets) -> Floats:
    """Return the unix seconds of offsets from starts in milliseconds, exact: the number nearest to each millisecond."""
    return np.asarray(np.add(starts, offsets, dtype=np.float64) / 1000.0)


class MatchOp(StrEnum):
    """The four label matchers of Prometheus; regular expressions are anchored at both ends."""

    EQUAL = "="
    NOT_EQUAL = "!="
    REGEX = "=~"
    NOT_REGEX = "!~"


@dataclass(frozen=True, slots=True)
class Matcher:
    """``name op "value"``. An absent label matches like an empty one."""

    name: str
    op: MatchOp
    value: str


@dataclass(frozen=True, slots=True)
class Window:
    """Samples of n series, oldest row first; for each series times ascend down its column.

    ``offsets``, ``values`` and ``times`` have shape (rows, n). Where a row holds no sample of a series, its
    offset and time are NaN (a hole); the value there is undefined. A sample whose *value* is NaN is a real sample.
    """

    starts: Floats
    """Of each row: whole milliseconds that its offsets are counted from."""
    offsets: Offsets
    values: Floats
    complete: bool
    """True when no entry is a hole: plain reductions are enough."""

    @property
    def times(self) -> Floats:
        """Unix seconds of all samples, made anew at each call; most functions need only some, or none."""
        return seconds(self.starts[:, None], self.offsets)

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Where there is a sample."""
        return ~np.isnan(self.offsets)

    def at(self, rows: Places, columns: Places) -> Floats:
        """Return the times of the samples at these places."""
        return seconds(self.starts[rows], self.offsets[rows, columns])

    def since(self, times: Floats) -> Floats:
        """Return the seconds from a time per series to each of its samples, exact to the millisecond."""
        passed = self.starts[:, None] - np.rint(times * 1000.0)
        passed += self.offsets
        passed /= 1000.0
        return np.asarray(passed)

    def part(self, columns: slice) -> Window:
        """Return the same rows of some of the series."""
        return Window(self.starts, self.offsets[:, columns], self.values[:, columns], self.complete)


class Selection(Protocol):
    """The series that a selector matched and that share a step. Stays valid until the next ingest."""

    @property
    def labels(self) -> LabelColumns:
        """Labels of the n series, ``__name__`` among them."""
        ...

    @property
    def step(self) -> float:
        """Expected seconds between samples."""
        ...

    def window(self, after: float, until: float) -> Window:
        """Return the samples with ``after < t <= until``. May return read-only views."""
        ...

    def latest(self, after: float, until: float) -> tuple[Floats, Floats]:
        """Return ``(times, values)`` of the newest sample with ``after < t <= until``; NaN time if none."""
        ...


class Storage(Protocol):
    """A set of series."""

    @property
    def table(self) -> StringTable:
        """The strings of all its label columns."""
        ...

    def select(self, matchers: Sequence[Matcher]) -> Sequence[Selection]:
        """Return the matching series, grouped by step. A matcher on ``__name__`` names the metric."""
        ...
