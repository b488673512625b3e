"""What evaluating gives: instant vectors as columns, and scalars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from watchdog.errors import EvaluationError
from watchdog.labels import METRIC_NAME, LabelColumns, StringTable
from watchdog.promql.storage import Floats


@dataclass(frozen=True, slots=True)
class Vector:
    """n series with one value each."""

    labels: LabelColumns
    values: Floats

    @property
    def size(self) -> int:
        """How many series there are."""
        return self.labels.size

    def where(self, mask: np.ndarray) -> Vector:
        """Return the series that the mask picks."""
        return Vector(self.labels.take(mask), self.values[mask])

    def without_name(self) -> Vector:
        """Return the same values without the metric's name. Raises EvaluationError if labels then repeat."""
        codes = self.labels.column(METRIC_NAME)
        labels = self.labels.drop([METRIC_NAME])
        if self.size > 1 and (codes != codes[0]).any():
            refuse_repeats(labels)
        return Vector(labels, self.values)


@dataclass(frozen=True, slots=True)
class Scalar:
    """One number."""

    value: float


Value = Vector | Scalar


def empty(table: StringTable) -> Vector:
    """Return a vector without series."""
    return Vector(LabelColumns(table, {}, 0), np.zeros(0))


def refuse_repeats(labels: LabelColumns) -> None:
    """Raise EvaluationError when two series have the same labels."""
    _, first = labels.group()
    if len(first) != labels.size:
        raise EvaluationError("two series of the result have the same labels; keep more labels apart")
