"""Alertmanager's table of inhibition, and its end-to-end case."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from watchdog.muting.inhibition import inhibitor
from watchdog.rules.matchers import parse_matcher
from watchdog.rules.model import Inhibit

Labels = Mapping[str, str]


def rule(source: str, target: str, *equal: str) -> Inhibit:
    return Inhibit((parse_matcher(source),), (parse_matcher(target),), equal)


ONE = rule('s="1"', 't="1"', "e")
TWO = (rule('s1="1"', 't1="1"', "e"), rule('s2="1"', 't2="1"', "e"))


@pytest.mark.parametrize(
    ("rules", "target", "firing", "muted"),
    [
        ((ONE,), {"t": "1", "e": "1"}, [], False),
        ((ONE,), {"t": "1", "e": "1"}, [{"s": "1", "e": "1"}], True),
        ((ONE,), {"s": "1", "e": "1"}, [{"s": "1", "e": "1"}], False),
        ((ONE,), {"t": "1", "e": "0"}, [{"s": "1", "e": "1"}], False),
        ((ONE,), {"t": "1"}, [{"s": "1"}], True),  # missing equals missing …
        ((ONE,), {"t": "1", "e": ""}, [{"s": "1"}], True),  # … and empty
        # On both sides of rule 1; the source only on the source side.
        (TWO, {"s1": "1", "t1": "1", "e": "1"}, [{"s1": "1", "e": "1"}], True),
        # On both sides of rule 2, and so is the source.
        (TWO, {"s2": "1", "t2": "1", "e": "1"}, [{"s2": "1", "t2": "1", "e": "1"}], False),
        # On the target side only; the source on both.
        (TWO, {"t1": "1", "e": "1"}, [{"s1": "1", "t1": "1", "e": "1"}], True),
        ((rule('s="1"', 't="1"'),), {"t": "1", "e": "0"}, [{"s": "1", "e": "1"}], True),
    ],
)
def test_who_is_muted(rules: tuple[Inhibit, ...], target: Labels, firing: list[Labels], muted: bool) -> None:
    found = inhibitor(target, firing, rules)
    assert (found is not None) is muted
    assert found in (None, *firing)


def test_an_alert_does_not_inhibit_itself() -> None:
    both = {"s": "1", "t": "1", "e": "1"}
    assert inhibitor(both, [both], [ONE]) is None
