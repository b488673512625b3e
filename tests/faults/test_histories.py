"""Whatever goes wrong: thousands of simulated histories of the whole service, each from its seed.

A seed that is printed here is run again with ``python -m faultsim --first SEED --seeds 1`` in this folder.
``WATCHDOG_SEEDS`` runs more (or fewer) than the usual number.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from faultsim.explore import explore
from faultsim.run import History, Run

SEEDS = int(os.environ.get("WATCHDOG_SEEDS", "2000"))
CHUNK = 100


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_is_lost_and_nothing_is_said_twice(first: int, record_property: Callable[[str, object], None]) -> None:
    tally = explore(range(first, min(first + CHUNK, SEEDS)))
    record_property("figure", f"histories: {tally}")
    assert tally.broken == ()
    assert tally.crashes > tally.seeds // 4, "processes must die, or it proves nothing"
    assert tally.faults > 5 * tally.seeds


def test_one_seed_is_one_history(tmp_path_factory: pytest.TempPathFactory) -> None:
    def history() -> tuple[object, ...]:
        found: History = Run(7, tmp_path_factory.mktemp("seed"))()
        said = [(message.ts, message.words.rpartition("incident ")[0]) for message in found.slack.workspace.messages]
        return found.dice.drawn, found.crashes, said, [(item.at, item.reason) for item in found.hook]

    assert history() == history()
