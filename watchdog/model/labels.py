"""Label sets as values."""

from __future__ import annotations

from collections.abc import Mapping

Labels = tuple[tuple[str, str], ...]
"""A label set: (name, value) pairs sorted by name, no empty value."""


def labels_of(mapping: Mapping[str, str]) -> Labels:
    """Return ``mapping`` as a label set: sorted, empty values left out (as Prometheus does)."""
    return tuple(sorted((name, value) for name, value in mapping.items() if value))
