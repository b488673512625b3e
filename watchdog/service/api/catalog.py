"""Which series, labels and label values there are. Pure: everything is read off a storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from watchdog.labels import LabelColumns
from watchdog.promql.storage import Matcher, Storage

Selectors = Sequence[tuple[Matcher, ...]]
"""Matchers of each ``match[]``; a series counts that fits one of them. None at all: every series."""
Span = tuple[float, float]
"""Only series with a sample in ``start <= t <= end`` count."""


def series(storage: Storage, selectors: Selectors, span: Span, most: int | None) -> list[dict[str, str]]:
    """Return the labels of the series, each once, at most ``most`` of them."""
    found = list(_labels(storage, selectors, span))
    if not found:
        return []
    labels = LabelColumns.concat(found)
    rows = labels.take(labels.group()[1][:most]).rows()
    return sorted(rows, key=lambda row: sorted(row.items()))


def label_names(storage: Storage, selectors: Selectors, span: Span) -> list[str]:
    """Return the names of all labels, in order."""
    found = _labels(storage, selectors, span)
    return sorted({name for labels in found for name, codes in labels.columns.items() if codes.any()})


def label_values(storage: Storage, selectors: Selectors, span: Span, name: str) -> list[str]:
    """Return the values of one label, in order."""
    codes = {code for labels in _labels(storage, selectors, span) for code in np.unique(labels.column(name)).tolist()}
    return sorted(storage.table.text(code) for code in codes - {0})


def _labels(storage: Storage, selectors: Selectors, span: Span) -> Iterator[LabelColumns]:
    after, until = float(np.nextafter(span[0], -np.inf)), span[1]
    for matchers in selectors or [()]:
        for selection in storage.select(matchers):
            times, _ = selection.latest(after, until)
            there = ~np.isnan(times)
            if there.any():
                yield selection.labels.take(there)
