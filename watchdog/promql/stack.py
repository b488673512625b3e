"""The values of a subquery: vectors of many times, put together as a window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from watchdog.labels import LabelColumns, StringTable
from watchdog.promql.storage import Window
from watchdog.promql.values import Vector


def stack(table: StringTable, times: Sequence[float], vectors: Sequence[Vector]) -> tuple[LabelColumns, Window]:
    """Put vectors (one per time) side by side; series are told apart by their labels."""
    full = [(row, vector) for row, vector in enumerate(vectors) if vector.size]
    if not full:
        return LabelColumns(table, {}, 0), Window(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)), complete=False)
    labels = LabelColumns.concat([vector.labels for _, vector in full])
    group, first = labels.group()
    rows = np.repeat([row for row, _ in full], [vector.size for _, vector in full])
    shape = (len(times), len(first))
    offsets, values = np.full(shape, np.nan, dtype=np.float32), np.full(shape, np.nan)
    offsets[rows, group] = 0.0
    values[rows, group] = np.concatenate([vector.values for _, vector in full])
    starts = np.rint(np.asarray(times) * 1000.0)
    return labels.take(first), Window(starts, offsets, values, complete=not np.isnan(offsets).any())
