"""What an evaluation is told and what it gives beside the value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from watchdog.errors import EvaluationError
from watchdog.labels import LabelColumns
from watchdog.promql.nodes import Node
from watchdog.promql.parse import LOOKBACK
from watchdog.promql.storage import Floats
from watchdog.promql.values import Value

MOST_SAMPLES = 50_000_000
"""Samples that one evaluation may read; Prometheus's default as well."""
MOST_STEPS = 11_000
"""Times at which the inner expressions of subqueries may be evaluated, in all."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to evaluate."""

    lookback: float = LOOKBACK
    """Seconds; how old a sample an instant selector takes."""
    min_coverage: float = 0.0
    """Share of the expected samples that a window must hold; 0 is plain PromQL."""
    version: int = 3
    """Which Prometheus to follow where they differ. In 2, a sample exactly on a window's left edge is inside."""
    span: tuple[float, float] | None = None
    """First and last time of a range query: what ``@ start()`` and ``@ end()`` mean; None: the time itself."""
    subquery_step: float = 60.0
    """Seconds between the steps of a subquery that names none."""
    most_samples: int = MOST_SAMPLES


class Budget:
    """Counts the samples that an evaluation reads, those of subqueries included."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._steps = MOST_STEPS

    def spend(self, samples: int) -> None:
        """Raise EvaluationError when too many samples were read in all."""
        self._left -= samples
        if self._left < 0:
            raise EvaluationError(
                f"it reads more than {self._most} samples; take fewer series, a shorter window or a longer step"
            )

    def step(self, times: int) -> None:
        """Raise EvaluationError when subqueries ask for too many evaluations in all."""
        self._steps -= times
        if self._steps < 0:
            raise EvaluationError(f"its subqueries have more than {MOST_STEPS} steps; take longer steps")


@dataclass(frozen=True, slots=True)
class RangeView:
    """What a range selector or subquery gave, for explanations."""

    labels: LabelColumns
    counts: Floats
    expected: float


@dataclass(frozen=True, slots=True)
class Result:
    """The value, and the series that it could not speak of."""

    value: Value
    uncovered: LabelColumns | None = None
    """Series (without metric names) whose windows hold too few samples; None when there are none."""


Observe = Callable[[Node, Value | RangeView], None]
