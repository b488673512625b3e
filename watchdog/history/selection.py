"""The series of one block that a selector matched."""

from __future__ import annotations

import numpy as np

from watchdog.history.block import Block
from watchdog.history.read import Columns, latest, window
from watchdog.labels import LabelColumns, StringTable
from watchdog.promql.storage import Floats, Window


class BlockSelection:
    """Implements ``watchdog.promql.storage.Selection`` on columns of a block."""

    __slots__ = ("_block", "_columns", "_labels", "_table")

    def __init__(self, block: Block, columns: Columns, table: StringTable) -> None:
        self._block = block
        self._columns = columns
        self._table = table
        self._labels: LabelColumns | None = None

    @property
    def labels(self) -> LabelColumns:
        """Labels of the series, ``__name__`` among them."""
        if self._labels is None:
            size = len(np.arange(self._block.matrix.count)[self._columns])
            columns = {name: codes[self._columns] for name, codes in self._block.label_columns.items()}
            self._labels = LabelColumns(self._table, columns, size)
        return self._labels

    @property
    def step(self) -> float:
        """Expected seconds between samples."""
        return self._block.matrix.step

    def window(self, after: float, until: float) -> Window:
        """Return the samples with ``after < t <= until``; views if the series lie side by side."""
        return window(self._block.matrix, self._columns, after, until)

    def latest(self, after: float, until: float) -> tuple[Floats, Floats]:
        """Return ``(times, values)`` of the newest sample with ``after < t <= until``; NaN time if none."""
        return latest(self._block.matrix, self._columns, after, until)
