from __future__ import annotations

import pytest

from watchdog.incidents.routing import Destination, route
from watchdog.incidents.severity import highest, rank
from watchdog.promql.storage import Matcher, MatchOp
from watchdog.rules.model import Route

CRITICAL = (Matcher("severity", MatchOp.EQUAL, "critical"),)
ALL = Route(receivers=("all",), place="r.toml:9")


def names(labels: dict[str, str], *routes: Route) -> list[str]:
    return [item.receiver for item in route(labels, routes).destinations]


def test_the_first_match_wins() -> None:
    page = Route(receivers=("pager",), matchers=CRITICAL)
    assert names({"severity": "critical"}, page, ALL) == ["pager"]
    assert names({"severity": "warning"}, page, ALL) == ["all"]


def test_continue_goes_on_and_tells_each_receiver_once() -> None:
    page = Route(receivers=("pager", "all"), matchers=CRITICAL, continue_=True, repeat_interval=60.0)
    routed = route({"severity": "critical"}, (page, ALL))
    assert routed.destinations == (Destination("pager", 60.0, 0.0), Destination("all", 60.0, 0.0))
    assert routed.places == ("", "r.toml:9")


def test_no_match_goes_nowhere() -> None:
    assert names({"severity": "info"}, Route(receivers=("pager",), matchers=CRITICAL)) == []


@pytest.mark.parametrize(
    ("severity", "own", "expected"),
    [("warning", None, 10.0), ("critical", None, 0.0), ("page", None, 0.0), ("critical", 30.0, 30.0), ("", 0.0, 0.0)],
)
def test_group_wait(severity: str, own: float | None, expected: float) -> None:
    routed = route({"severity": severity}, (Route(receivers=("all",), group_wait=own),))
    assert routed.destinations[0].group_wait == expected


def test_group_by_of_the_rule_then_of_the_route_then_the_default() -> None:
    own = Route(receivers=("all",), group_by=("owner",))
    assert route({}, (own,), ("gpu",)).group_by == ("gpu",)
    assert route({}, (own,)).group_by == ("owner",)
    assert route({}, (ALL,)).group_by == ("source", "project", "job")
    assert route({}, ()).group_by == ("source", "project", "job")


def test_severities_have_an_order() -> None:
    assert [rank(word) for word in ("info", "WARNING", "error", "critical", "page", "ours", "")] == [
        1,
        2,
        3,
        4,
        4,
        0,
        0,
    ]
    assert highest(["info", "critical", "warning"]) == "critical"
    assert highest([]) == ""
