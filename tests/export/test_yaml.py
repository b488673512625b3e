"""What is written is what every reader of YAML reads back, and what fits reads like a text."""

from __future__ import annotations

import pytest
import yaml as reader
from hypothesis import example, given
from hypothesis import strategies as st

from watchdog.export import yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def read(lines: list[str]) -> object:
    return reader.safe_load("\n".join(lines) + "\n")


@given(st.dictionaries(TEXTS, TEXTS | st.dictionaries(TEXTS, TEXTS, min_size=1), min_size=1))
@example({"a": "x\ny", "b": {"c": "é × 😀"}, "": ""})
@example({"a": " x\ny", "b": "x\n", "c": "\n", "d": "a\n\n b", "e": "x \n y"})
@example({"a": "\x85", "b": "\u2028\n", "c": "\x00\t", "d": "\ufeff", "e": "a\r\nb"})
@example({"yes": "no", "null": "1", "1m": "0x1f", "1e3": "5m", "2026-01-01": "~", "a": "- b: c # d"})
def test_texts_and_mappings_read_back(items: dict[str, object]) -> None:
    assert read(list(yaml.mapping(items, 4))) == items


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("warning", "warning"),
        ("5m", "5m"),
        ("1h30m", "1h30m"),
        ("a/b-c.d", "a/b-c.d"),
        ("true", "'true'"),
        ("Off", "'Off'"),
        ("1e3", "'1e3'"),
        ("12", "'12'"),
        ("", "''"),
        ("it's {{ $labels.x }}", "'it''s {{ $labels.x }}'"),
        ("a\nb", "|-\n    a\n    b"),
        ("a\n\n  b", "|-\n    a\n\n      b"),
        ("a\n", r'"a\n"'),
        (" a\nb", r'" a\nb"'),
        ("a\tb", r'"a\tb"'),
    ],
)
def test_the_plainest_form_is_chosen(text: str, written: str) -> None:
    assert yaml.scalar(text, 4) == written


def test_numbers_are_numbers() -> None:
    assert read(list(yaml.mapping({"limit": 5, "b": {"c": 0.5}}, 0))) == {"limit": 5, "b": {"c": 0.5}}


@given(TEXTS)
@example("a: b\nc\r\n\u2028d")
def test_comments_never_become_data(text: str) -> None:
    assert read([*yaml.comment([text], 2), "a: b"]) == {"a": "b"}


def test_a_comment_has_a_line_for_each_of_its_own() -> None:
    assert list(yaml.comment(["a", "", "b\nc"], 2)) == ["  # a", "  #", "  # b", "  # c"]
