"""What identifies an owner of series, and what of it may change."""

from __future__ import annotations

import numpy as np
import pytest

from watchdog.history.block import Block
from watchdog.history.owners import Owners
from watchdog.labels import StringTable
from watchdog.model import Labels, labels_of


def labels(**pairs: str) -> Labels:
    return labels_of(pairs)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (labels(source="s", job="j", owner="a"), labels(source="s", job="j"), True),
        (labels(source="s", job="j", project="p"), labels(source="s", job="j", project="q"), True),
        (labels(source="s", job="j"), labels(source="s", job="k"), False),
        (labels(source="s", job="j"), labels(source="t", job="j"), False),
        (labels(source="s", project="p", project_name="a"), labels(source="s", project="p", project_name="b"), True),
        (labels(source="s", project="p"), labels(source="s", project="q"), False),
        (labels(source="s", project="p"), labels(source="s", job="p"), False),
        (labels(source="s", provider="x"), labels(source="s"), True),
        (labels(source="s"), labels(source="t"), False),
        (labels(job="j"), labels(job="j", owner="a"), True),
        (labels(), labels(provider="x"), True),
    ],
)
def test_an_owner_is_known_by_its_identifying_labels(one: Labels, other: Labels, same: bool) -> None:
    owners = Owners()
    assert (owners.get(one) is owners.get(other)) is same
    assert owners.get(one) is owners.get(one)
    assert len(owners) == (1 if same else 2)


def test_attributes_of_a_series_own_are_not_overwritten() -> None:
    owners, table = Owners(), StringTable()
    owner = owners.get(labels(source="s", job="j", node="of the job", owner="a"))
    block = Block("gpu_utilization", 60.0, table)
    plain = block.add(owner, ("gpu_utilization", labels(gpu="0")))
    own = block.add(owner, ("gpu_utilization", labels(node="n1")))
    owner.series.update({plain.key: plain, own.key: own})
    owners.get(labels(source="s", job="j", node="moved"))
    node = block.codes("node")
    assert node is not None
    assert [table.text(int(code)) for code in node] == ["moved", "n1"]
    former = block.codes("owner")
    assert former is not None
    assert not former.any()


def test_an_owner_goes_with_its_last_series() -> None:
    owners = Owners()
    owner = owners.get(labels(source="s", job="j"))
    block = Block("gpu_utilization", 60.0, StringTable())
    for gpu in "01":
        series = block.add(owner, ("gpu_utilization", labels(gpu=gpu)))
        owner.series[series.key] = series
    owners.discard(block.remove(np.array([0])))
    assert owners.get(labels(source="s", job="j")) is owner
    owners.discard(block.remove(np.array([0])))
    assert len(owners) == 0
    assert owners.get(labels(source="s", job="j")) is not owner
