"""What the evaluator asks of whatever holds samples. ``history`` implements it; so do files and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from watchdog.labels import LabelColumns, StringTable

Floats = npt.NDArray[np.float64]


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

    ``times`` and ``values`` have shape (rows, n). Where a row holds no sample of a series, its time is
    NaN (a hole); the value there is undefined. A sample whose *value* is NaN is a real sample.
    """

    times: Floats
    values: Floats
    complete: bool
    """True when no entry is a hole: plain reductions are enough."""


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
