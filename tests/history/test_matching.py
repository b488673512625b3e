"""Label matchers on columns of codes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from watchdog.errors import EvaluationError
from watchdog.history import History, SeriesPoints
from watchdog.history.matching import MOST_PATTERNS, Matching, accepts
from watchdog.labels import METRIC_NAME, StringTable
from watchdog.model import Labels
from watchdog.promql.storage import Matcher, MatchOp

T0 = 1_772_442_000.0
EQUAL, NOT_EQUAL, REGEX, NOT_REGEX = MatchOp.EQUAL, MatchOp.NOT_EQUAL, MatchOp.REGEX, MatchOp.NOT_REGEX

CASES = [
    ("node", EQUAL, "n1", ["0"]),
    ("node", EQUAL, "", ["2"]),
    ("node", EQUAL, "never seen", []),
    ("node", NOT_EQUAL, "n1", ["1", "2"]),
    ("node", NOT_EQUAL, "", ["0", "1"]),
    ("node", NOT_EQUAL, "never seen", ["0", "1", "2"]),
    ("node", REGEX, "n", []),
    ("node", REGEX, "n.", ["0", "1"]),
    ("node", REGEX, "n1|", ["0", "2"]),
    ("node", REGEX, "", ["2"]),
    ("node", NOT_REGEX, "n.", ["2"]),
    ("node", NOT_REGEX, ".+", ["2"]),
    ("rack", EQUAL, "", ["0", "1", "2"]),
    ("rack", EQUAL, "r", []),
    ("rack", NOT_EQUAL, "", []),
    ("rack", NOT_EQUAL, "r", ["0", "1", "2"]),
    ("rack", REGEX, ".*", ["0", "1", "2"]),
    ("rack", REGEX, ".+", []),
    ("rack", NOT_REGEX, ".+", ["0", "1", "2"]),
    ("rack", NOT_REGEX, ".*", []),
]


@pytest.fixture
def three(history: History, series: Callable[..., SeriesPoints]) -> History:
    """GPU 0 on n1, GPU 1 on n2, GPU 2 on no node; no series has a rack."""
    history.ingest([series([0], gpu="0", node="n1"), series([0], gpu="1", node="n2"), series([0], gpu="2")], 60.0, T0)
    return history


def gpus(history: History, *matchers: Matcher) -> list[str]:
    return sorted(row["gpu"] for selection in history.select(matchers) for row in selection.labels.rows())


@pytest.mark.parametrize(("name", "op", "value", "found"), CASES)
def test_matchers_are_anchored_and_absent_reads_as_empty(
    three: History, name: str, op: MatchOp, value: str, found: list[str]
) -> None:
    assert gpus(three, Matcher(name, op, value)) == found
    assert (
        gpus(three, Matcher("job", EQUAL, "j1"), Matcher("source", EQUAL, "cloud"), Matcher(name, op, value)) == found
    )


def test_every_matcher_must_pass(three: History) -> None:
    assert gpus(three, Matcher("node", NOT_EQUAL, ""), Matcher("gpu", NOT_EQUAL, "0")) == ["1"]
    assert gpus(three, Matcher("source", EQUAL, "cloud"), Matcher("job", EQUAL, "other")) == []
    assert gpus(three, Matcher("gpu", EQUAL, "0"), Matcher("gpu", EQUAL, "1")) == []


def test_a_dot_matches_a_new_line_as_in_prometheus() -> None:
    assert accepts(Matcher("error", REGEX, "a.*b"), "a\nb")


@pytest.mark.parametrize("name", [METRIC_NAME, "node", "rack"])
def test_a_bad_regular_expression_is_named(three: History, name: str) -> None:
    with pytest.raises(EvaluationError, match=r'"\(" is not a regular expression'):
        three.select([Matcher(name, REGEX, "(")])


def test_strings_that_came_later_are_matched_too(
    three: History, series: Callable[..., SeriesPoints], base: Callable[..., Labels]
) -> None:
    matcher = Matcher("node", REGEX, "n[13]")
    assert gpus(three, matcher) == ["0"]
    three.ingest([series([0], gpu="3", node="n3")], 60.0, T0)
    assert gpus(three, matcher) == ["0", "3"]


def test_what_is_remembered_of_patterns_is_bounded() -> None:
    table = StringTable()
    codes = np.array([table.code("a1"), table.code("b")], dtype=np.int32)
    matching = Matching(table)
    for number in range(2 * MOST_PATTERNS + 3):
        assert matching.mask(Matcher("x", REGEX, f"a{number}"), codes).tolist() == [number == 1, False]
    assert len(matching._verdicts) <= MOST_PATTERNS
