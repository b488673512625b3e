"""Label sets of many series at once, as columns of integers.

A ``StringTable`` gives each distinct string a small number; a ``LabelColumns`` holds one ``int32`` array
per label name, one entry per series. Matching, grouping and joining 100,000 series is then array work.
Code 0 is the empty string, which is how an absent label reads in Prometheus.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Index = npt.NDArray[np.intp]

METRIC_NAME = "__name__"


class StringTable:
    """Strings and their numbers; grows only. One per history, shared by all its label columns."""

    __slots__ = ("_codes", "_strings")

    def __init__(self) -> None:
        self._codes: dict[str, int] = {"": 0}
        self._strings: list[str] = [""]

    def __len__(self) -> int:
        return len(self._strings)

    def code(self, text: str) -> int:
        """Return the number of ``text``, giving it one if it is new."""
        found = self._codes.get(text)
        if found is None:
            found = self._codes[text] = len(self._strings)
            self._strings.append(text)
        return found

    def find(self, text: str) -> int | None:
        """Return the number of ``text`` if it has one; looking never makes the table grow."""
        return self._codes.get(text)

    def text(self, code: int) -> str:
        """Return the string with this number."""
        return self._strings[code]


class LabelColumns:
    """The labels of ``size`` series, by column. Immutable by convention: methods return new objects."""

    __slots__ = ("columns", "size", "table")

    def __init__(self, table: StringTable, columns: Mapping[str, Codes], size: int) -> None:
        self.table = table
        self.columns = dict(columns)
        self.size = size

    @classmethod
    def from_rows(cls, table: StringTable, rows: Sequence[Mapping[str, str]]) -> LabelColumns:
        """Build from one mapping per series."""
        names = sorted({name for row in rows for name in row})
        columns = {
            name: np.fromiter((table.code(row.get(name, "")) for row in rows), dtype=np.int32, count=len(rows))
            for name in names
        }
        return cls(table, columns, len(rows))

    def column(self, name: str) -> Codes:
        """Return the codes of label ``name``; zeros where no series has it."""
        found = self.columns.get(name)
        return found if found is not None else np.zeros(self.size, dtype=np.int32)

    def row(self, index: int) -> dict[str, str]:
        """Return the labels of one series; absent ones are left out."""
        text = self.table.text
        found = {name: text(int(codes[index])) for name, codes in self.columns.items() if codes[index]}
        return dict(sorted(found.items()))

    def rows(self) -> list[dict[str, str]]:
        """Return the labels of every series."""
        return [self.row(index) for index in range(self.size)]

    def take(self, index: Index | npt.NDArray[np.bool_]) -> LabelColumns:
        """Return the series at ``index`` (positions or a mask)."""
        columns = {name: codes[index] for name, codes in self.columns.items()}
        size = int(np.count_nonzero(index)) if index.dtype == np.bool_ else len(index)
        return LabelColumns(self.table, columns, size)

    def keep(self, names: Iterable[str]) -> LabelColumns:
        """Return the same series with only these labels."""
        wanted = set(names)
        return LabelColumns(self.table, {n: c for n, c in self.columns.items() if n in wanted}, self.size)

    def drop(self, names: Iterable[str]) -> LabelColumns:
        """Return the same series without these labels."""
        unwanted = set(names)
        return LabelColumns(self.table, {n: c for n, c in self.columns.items() if n not in unwanted}, self.size)

    def with_columns(self, columns: Mapping[str, Codes]) -> LabelColumns:
        """Return the same series with these labels set (code 0 removes one)."""
        return LabelColumns(self.table, {**self.columns, **columns}, self.size)

    def group(self) -> tuple[Index, Index]:
        """Group series with equal labels.

        Returns ``(group, first)``: the group number of each series, and for each group the position of
        its first series. Groups are numbered in the order of their first series.
        """
        return group_codes([self.columns[name] for name in sorted(self.columns)], self.size)

    @staticmethod
    def concat(parts: Sequence[LabelColumns]) -> LabelColumns:
        """Put the series of several columns (of one table) one after the other. ``parts`` is not empty."""
        names = sorted({name for part in parts for name in part.columns})
        columns = {name: np.concatenate([part.column(name) for part in parts]) for name in names}
        return LabelColumns(parts[0].table, columns, sum(part.size for part in parts))


def group_codes(columns: Sequence[Codes], size: int) -> tuple[Index, Index]:
    """Group rows that are equal in every column; see ``LabelColumns.group``."""
    if size == 0:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    key = np.zeros(size, dtype=np.int64)
    high = 1
    for codes in columns:
        width = int(codes.max()) + 1
        if high * width >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            high = int(key.max()) + 1
        key = key * width + codes
        high *= width
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[inverse], first[order]
