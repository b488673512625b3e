"""Label columns follow their series."""

from __future__ import annotations

import numpy as np

from watchdog.history.block import Block, Owner
from watchdog.labels import LabelColumns, StringTable
from watchdog.model import labels_of


def rows(block: Block, table: StringTable) -> list[dict[str, str]]:
    return LabelColumns(table, block.label_columns, block.matrix.count).rows()


def test_labels_survive_growth_moves_and_shrinking() -> None:
    table = StringTable()
    block = Block("m", 60.0, table)
    owner = Owner(("source", "s"), labels_of({"source": "s"}))
    made = [block.add(owner, ("m", labels_of({"gpu": str(n)} if n % 2 else {"node": str(n)}))) for n in range(200)]
    removed = block.remove(np.arange(0, 180))
    assert removed == made[:180]
    assert block.matrix.capacity[1] < 200
    assert [series.column for series in made[180:]] == [block.members.index(series) for series in made[180:]]
    late = block.add(owner, ("m", labels_of({"rack": "r"})))
    names = [dict(series.key[1]) for series in block.members]
    assert rows(block, table) == [dict(sorted({"__name__": "m", "source": "s", **own}.items())) for own in names]
    assert late.column == 20
    assert block.codes("zone") is None
    assert all(len(codes) == 21 for codes in block.label_columns.values())


def test_places_follow_series() -> None:
    block = Block("m", 60.0, StringTable())
    owners = [Owner(("job", "s", job), labels_of({"source": "s", "job": job})) for job in "ab"]
    for n in range(4):
        block.add(owners[n % 2], ("m", labels_of({"gpu": str(n)})))
    assert block.at(("s", "b")).tolist() == [1, 3]
    block.remove(np.array([0]))
    assert block.at(("s", "b")).tolist() == [0, 1]
    assert block.at(("s", "a")).tolist() == [2]
    block.remove(np.array([2]))
    assert block.at(("s", "a")).tolist() == []
