"""The lines of keys in a TOML text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from watchdog.rules.locate import lines_of

TEXT = '''\
# first
top = 1
[poll]   # a [bracket] and a "quote
interval = "60s"

[[sources]]
name = "a # no comment"
jobs = [
  "1",   # one, [two]
  "2]",
]
[sources.extra]
deep.er = 1
[[sources]]
'name' = 'b'
[[ rules ]]
expr = """
[[rules]]
not_a_key = 1 \\""" "quoted"
"""
raw = \'\'\'
x = {\'\'\'
labels = { severity = "warning", "two words" = '}' }
for = 5m
[[rules]]
urls = [{ env = "A" }, { env = "B" }]
"quoted.key" = 1979-05-27T07:32:00Z
[[rules.parts]]
x = 1
[[rules.parts]]
x = 2
last = true
[other.deep]
y = 1'''.replace("for = 5m", 'for = "5m"')


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("poll",), 3),
        (("poll", "interval"), 4),
        (("sources",), 6),
        (("sources", 0), 6),
        (("sources", 0, "name"), 7),
        (("sources", 0, "jobs"), 8),
        (("sources", 0, "jobs", 0), 9),
        (("sources", 0, "jobs", 1), 10),
        (("sources", 0, "extra"), 12),
        (("sources", 0, "extra", "deep"), 13),
        (("sources", 0, "extra", "deep", "er"), 13),
        (("sources", 1), 14),
        (("sources", 1, "name"), 15),
        (("rules", 0), 16),
        (("rules", 0, "expr"), 17),
        (("rules", 0, "raw"), 21),
        (("rules", 0, "labels"), 23),
        (("rules", 0, "labels", "two words"), 23),
        (("rules", 0, "for"), 24),
        (("rules", 1), 25),
        (("rules", 1, "urls", 1, "env"), 26),
        (("rules", 1, "quoted.key"), 27),
        (("rules", 1, "parts", 0, "x"), 29),
        (("rules", 1, "parts", 1, "x"), 31),
        (("rules", 1, "parts", 1, "last"), 32),
        (("other",), 33),
        (("other", "deep", "y"), 34),
        (("rules", 0, "absent"), 16),
        (("rules", 7), 16),
        (("nowhere",), 0),
        ((), 0),
    ],
)
def test_the_line_of_a_key(path: tuple[str | int, ...], line: int) -> None:
    assert lines_of(TEXT).of(path) == line


def paths(value: Any, at: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Every path of a parsed document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {at} - {()} | {path for key, child in children for path in paths(child, (*at, key))}


def test_every_key_that_tomllib_sees_has_a_line_and_no_other() -> None:
    assert set(lines_of(TEXT).known) == paths(tomllib.loads(TEXT))


def test_an_empty_text_has_no_lines() -> None:
    assert lines_of("# nothing\n").known == {}


def test_the_example_file_is_covered() -> None:
    text = (Path(__file__).parents[2] / "rules.example.toml").read_text(encoding="utf-8")
    assert set(lines_of(text).known) == paths(tomllib.loads(text))
