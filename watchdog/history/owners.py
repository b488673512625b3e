"""Finds a series by what identifies it, and keeps the labels that do not identify it up to date."""

from __future__ import annotations

from collections.abc import Iterable

from watchdog.history.block import Owner, Series
from watchdog.model import Labels


class Owners:
    """Jobs, projects and sources by their identifying labels."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, ...], Owner] = {}
        self._by_base: dict[Labels, Owner] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, base: Labels) -> Owner:
        """Return the owner with these labels. Attributes that changed change in its series as well."""
        found = self._by_base.get(base)
        if found is not None:
            return found
        key = _identity(base)
        owner = self._by_key.get(key)
        if owner is None:
            owner = self._by_key[key] = Owner(key, base)
        else:
            del self._by_base[owner.base]
            _relabel(owner, base)
        self._by_base[base] = owner
        return owner

    def discard(self, removed: Iterable[Series]) -> None:
        """Forget series that were removed, and owners without any left."""
        for series in removed:
            owner = series.owner
            if owner.series.get(series.key) is series:
                del owner.series[series.key]
                if not owner.series:
                    del self._by_key[owner.key]
                    del self._by_base[owner.base]


def _identity(base: Labels) -> tuple[str, ...]:
    """Return what identifies an owner: source and job, else source and project, else source (design, section 2)."""
    labels = dict(base)
    for scope in ("job", "project"):
        if scope in labels:
            return scope, labels.get("source", ""), labels[scope]
    return "source", labels.get("source", "")


def _relabel(owner: Owner, base: Labels) -> None:
    before, after = dict(owner.base), dict(base)
    changed = {
        name: after.get(name, "") for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    }
    for series in owner.series.values():
        own = dict(series.key[1])
        series.block.set_labels(series.column, {name: changed[name] for name in sorted(changed) if name not in own})
    owner.base = base
