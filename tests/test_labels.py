"""Label sets as columns of codes, against dictionaries."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchdog.labels import LabelColumns, StringTable, group_codes

ROWS = [{"job": "a", "gpu": "0"}, {"job": "a", "gpu": "1"}, {"job": "b"}]


@pytest.fixture
def columns() -> LabelColumns:
    return LabelColumns.from_rows(StringTable(), ROWS)


def test_a_string_keeps_its_number() -> None:
    table = StringTable()
    assert table.code("") == 0
    assert [table.code(text) for text in ("a", "b", "a")] == [1, 2, 1]
    assert [table.text(code) for code in (0, 1, 2)] == ["", "a", "b"]
    assert len(table) == 3


def test_looking_for_a_string_does_not_add_it() -> None:
    table = StringTable()
    assert table.find("a") is None
    assert len(table) == 1
    code = table.code("a")
    assert (table.find("a"), table.find("")) == (code, 0)


def test_absent_and_empty_labels_are_the_same() -> None:
    columns = LabelColumns.from_rows(StringTable(), [{"a": "1", "b": ""}, {"a": ""}])
    assert columns.rows() == [{"a": "1"}, {}]
    assert columns.column("b").tolist() == [0, 0]
    assert columns.column("never").tolist() == [0, 0]


def test_rows_come_back_sorted_by_name(columns: LabelColumns) -> None:
    assert columns.rows() == ROWS
    assert list(columns.row(0)) == ["gpu", "job"]


@pytest.mark.parametrize(
    "index", [np.array([2, 0]), np.array([True, False, True]), np.array([], dtype=np.intp), np.zeros(3, dtype=np.bool_)]
)
def test_take_by_position_or_mask(columns: LabelColumns, index: np.ndarray) -> None:
    taken = columns.take(index)
    wanted = [ROWS[position] for position in np.arange(3)[index].tolist()]
    assert taken.rows() == wanted
    assert taken.size == len(wanted)


@pytest.mark.parametrize("names", [["job"], ["job", "never"], [], iter(["gpu"])])
def test_keep_and_drop_are_each_others_rest(columns: LabelColumns, names: Iterable[str]) -> None:
    chosen = list(names)
    assert columns.keep(iter(chosen)).rows() == [{n: v for n, v in row.items() if n in chosen} for row in ROWS]
    assert columns.drop(iter(chosen)).rows() == [{n: v for n, v in row.items() if n not in chosen} for row in ROWS]
    assert columns.rows() == ROWS, "the original stays as it is"


def test_labels_are_set_and_removed_by_column(columns: LabelColumns) -> None:
    code = columns.table.code("x")
    changed = columns.with_columns(
        {"job": np.zeros(3, dtype=np.int32), "new": np.array([code, 0, code], dtype=np.int32)}
    )
    assert changed.rows() == [{"gpu": "0", "new": "x"}, {"gpu": "1"}, {"new": "x"}]
    assert columns.rows() == ROWS


def test_parts_of_one_table_are_put_together(columns: LabelColumns) -> None:
    other = LabelColumns.from_rows(columns.table, [{"node": "n"}])
    joined = LabelColumns.concat([other, columns, other.take(np.array([], dtype=np.intp))])
    assert joined.rows() == [{"node": "n"}, *ROWS]
    assert joined.size == 4


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2"]))


@given(st.lists(LABELS, max_size=12), st.sets(st.sampled_from("abcd")))
def test_groups_are_those_of_equal_labels(rows: list[dict[str, str]], names: set[str]) -> None:
    group, first = LabelColumns.from_rows(StringTable(), rows).keep(names).group()
    keys = [tuple(sorted((n, v) for n, v in row.items() if v and n in names)) for row in rows]
    distinct = list(dict.fromkeys(keys))
    assert [distinct.index(key) for key in keys] == group.tolist()
    assert [keys.index(key) for key in distinct] == first.tolist()


@pytest.mark.parametrize("differing", range(5))
def test_groups_over_more_combinations_than_a_number_holds(differing: int) -> None:
    """Five labels of 2^16 values: in 64 bits the first would count for nothing."""
    columns = [np.array([65535, 65535, 65535, 1], dtype=np.int32) for _ in range(5)]
    columns[differing][1] = 0
    group, first = group_codes(columns, 4)
    assert (group.tolist(), first.tolist()) == ([0, 1, 0, 2], [0, 1, 3])


def test_no_rows_make_no_groups() -> None:
    group, first = group_codes([], 0)
    assert (len(group), len(first)) == (0, 0)
    group, first = group_codes([], 3)
    assert (group.tolist(), first.tolist()) == ([0, 0, 0], [0])
