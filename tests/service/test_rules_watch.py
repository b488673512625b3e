from __future__ import annotations

import pytest

from watchdog.service.rules_watch import RulesWatch


@pytest.mark.parametrize(
    ("looks", "loads"),
    [
        ("aaa", "..."),
        ("abb", "..L"),
        ("abbbb", "..L.."),
        ("abcc", "...L"),  # it holds still only now
        ("abaa", "...."),  # it was put back
        ("abbaa", "..L.L"),
        ("ababab", "......"),
        ("bb", ".L"),
    ],
)
def test_a_change_is_loaded_once_it_holds_still(looks: str, loads: str) -> None:
    watch = RulesWatch("a")
    assert "".join(".L"[watch.look(checksum)] for checksum in looks) == loads


def test_who_asks_gets_it_at_once_and_nothing_is_loaded_twice() -> None:
    watch = RulesWatch("a")
    assert watch.look("a", asked=True)
    assert watch.look("b", asked=True)
    assert not watch.look("b")
    assert not watch.look("b")
