"""The series of one metric that share a step: their labels, their samples, and which jobs they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from watchdog.history.matrix import NEVER, Matrix
from watchdog.history.read import Columns, scan
from watchdog.labels import METRIC_NAME, Codes, Index, StringTable
from watchdog.model import Labels

SeriesKey = tuple[str, Labels]
"""Metric and the labels beside the base: the identity of a series of an owner."""
Place = tuple[str, str]
"""The ``source`` and ``job`` labels of a series; empty where it has none."""


@dataclass(slots=True, eq=False)
class Owner:
    """The job, project or source that a set of series belongs to."""

    key: tuple[str, ...]
    base: Labels
    series: dict[SeriesKey, Series] = field(default_factory=dict)
    place: Place = ("", "")
    """Where its series lie; theirs are the same object."""

    def __post_init__(self) -> None:
        self.place = _place(dict(self.base))


@dataclass(slots=True, eq=False)
class Series:
    """Where one series lies. ``column`` changes when others are removed."""

    owner: Owner
    key: SeriesKey
    place: Place
    block: Block
    column: int


def _place(labels: Mapping[str, str]) -> Place:
    return labels.get("source", ""), labels.get("job", "")


class Block:
    """Columns of labels beside the columns of a matrix. A label column is made when a series first has it."""

    def __init__(self, metric: str, step: float, table: StringTable) -> None:
        self.metric = metric
        self.matrix = Matrix(step)
        self.members: list[Series] = []
        """By column."""
        self._places: dict[Place, list[Series]] = {}
        """Lists: most places have a few series only, and sets of those take five times the room."""
        self._table = table
        self._codes: dict[str, Codes] = {}
        self._width = 0
        """Length of every label column: the matrix's room for series."""

    @property
    def label_columns(self) -> dict[str, Codes]:
        """The codes of each label by its name: live views."""
        return {name: codes[: self.matrix.count] for name, codes in self._codes.items()}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.matrix.nbytes + sum(codes.nbytes for codes in self._codes.values())

    def codes(self, name: str) -> Codes | None:
        """Return the codes of one label (a live view); None where no series ever had it."""
        found = self._codes.get(name)
        return None if found is None else found[: self.matrix.count]

    def add(self, owner: Owner, key: SeriesKey) -> Series:
        """Make a series without samples."""
        labels = {**dict(owner.base), **dict(key[1]), METRIC_NAME: self.metric}
        place = owner.place if owner.place == _place(labels) else _place(labels)
        series = Series(owner, key, place, self, self.matrix.add_column())
        self.members.append(series)
        self._places.setdefault(place, []).append(series)
        self._fit()
        for codes in self._codes.values():
            codes[series.column] = 0
        self.set_labels(series.column, labels)
        return series

    def set_labels(self, column: int, labels: Mapping[str, str]) -> None:
        """Set labels of one series; an empty value takes one away."""
        for name, value in labels.items():
            codes = self._codes.get(name)
            if codes is None:
                codes = self._codes[name] = np.zeros(self._width, dtype=np.int32)
            codes[column] = self._table.code(value)

    def remove(self, columns: Index) -> list[Series]:
        """Remove series (ascending columns) and return them."""
        removed = [self.members[column] for column in columns.tolist()]
        gone = set(removed)
        for place in {series.place for series in removed}:
            left = [series for series in self._places.pop(place) if series not in gone]
            if left:
                self._places[place] = left
        to, came_from = self.matrix.remove_columns(columns)
        for codes in self._codes.values():
            codes[to] = codes[came_from]
        self._fit()
        for column, source in zip(to.tolist(), came_from.tolist(), strict=True):
            self.members[column] = self.members[source]
            self.members[column].column = column
        del self.members[self.matrix.count :]
        return removed

    def at(self, place: Place) -> Index:
        """Return the columns of one job's series, ascending."""
        there = self._places.get(place, ())
        return np.sort(np.fromiter((series.column for series in there), np.intp, len(there)))

    def compatible(self, labels: Mapping[str, str]) -> Columns:
        """Return the columns of the series that agree with ``labels`` in every label that both have."""
        columns: Columns = slice(0, self.matrix.count)
        if "source" in labels and "job" in labels:
            places = {(source, job) for source in (labels["source"], "") for job in (labels["job"], "")}
            columns = np.concatenate([self.at(place) for place in places])
        agrees = np.ones(self.matrix.count, dtype=np.bool_)[columns]
        for name, value in labels.items():
            codes = self._codes.get(name)
            if codes is not None and value:
                mine, code = codes[: self.matrix.count][columns], self._table.find(value)
                agrees &= (mine == 0) | (mine == (-1 if code is None else code))
        return np.arange(self.matrix.count)[columns][agrees]

    def newest(self, columns: Columns) -> float:
        """Return the time of the newest sample of some series; ``NEVER`` without one."""
        return float(self.matrix.newest[columns].max(initial=NEVER))

    def newest_at(self, place: Place) -> float:
        """Return the time of the newest sample of one job; ``NEVER`` without one."""
        newest = self.matrix.newest
        return max((float(newest[series.column]) for series in self._places.get(place, ())), default=NEVER)

    def without_samples(self) -> Index:
        """Return the columns of the series that have no sample."""
        return np.flatnonzero(self.matrix.newest == NEVER)

    def trim(self, oldest: float, newest: float) -> Index:
        """Drop the slots before that of ``oldest`` and after that of ``newest``.

        Returns the columns of the series that have no sample left.
        """
        matrix = self.matrix
        low, high = np.floor(np.array([oldest, newest]) / matrix.step)
        first = int(np.searchsorted(matrix.slots, low, side="left"))
        last = int(np.searchsorted(matrix.slots, high, side="right"))
        if first == 0 and last == len(matrix.slots):
            return np.empty(0, dtype=np.intp)
        matrix.keep_rows(first, max(first, last))
        ahead = np.flatnonzero(np.floor(matrix.newest / matrix.step) > high)
        if len(ahead):
            times, values = scan(matrix, ahead, -np.inf, np.inf)
            matrix.newest[ahead] = np.where(np.isnan(times), NEVER, times)
            matrix.newest_values[ahead] = values
        return np.flatnonzero((matrix.newest == NEVER) | (np.floor(matrix.newest / matrix.step) < low))

    def recode(self, table: StringTable, numbers: Codes) -> None:
        """Change to another table; ``numbers`` gives the new number of every old one."""
        self._table = table
        self._codes = {name: numbers[codes] for name, codes in self._codes.items()}

    def _fit(self) -> None:
        """Keep the label columns as long as the matrix has room for."""
        width = self.matrix.capacity[1]
        if width != self._width:
            for name, codes in self._codes.items():
                fitted = np.zeros(width, dtype=np.int32)
                kept = min(width, len(codes))
                fitted[:kept] = codes[:kept]
                self._codes[name] = fitted
            self._width = width
