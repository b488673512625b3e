"""rules.example.toml: it loads, it names every key, its expressions are right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from watchdog import templates
from watchdog.bootstrap import load_rules
from watchdog.promql import parse
from watchdog.rules import schema
from watchdog.rules.checks import SAMPLE
from watchdog.rules.model import Ruleset

EXAMPLE = Path(__file__).parents[2] / "rules.example.toml"


@pytest.fixture
def example(load_path: Callable[[Path], Ruleset]) -> Ruleset:
    return load_path(EXAMPLE)


def test_the_example_loads(example: Ruleset) -> None:
    assert [rule.name for rule in example.rules] == [
        "GPUIdle",
        "JobPartlyIdle",
        "VRAMHeldWhileIdle",
        "VRAMNearLimit",
        "MemoryNearLimit",
        "EphemeralStorageNearlyFull",
        "EphemeralStorageFilling",
        "CacheNearlyFull",
        "CacheFilling",
        "GPULagging",
        "NodeLagging",
        "JobFailed",
        "JobPendingTooLong",
        "JobMetricsMissing",
        "SourceDown",
    ]
    assert [source.name for source in example.sources] == ["baseten"]
    assert [receiver.name for receiver in example.receivers] == ["ml-alerts"]


def test_what_is_commented_out_is_right_too(tmp_path: Path) -> None:
    """All but the keys that exclude one another, and those that only some of the tables above them take."""
    text = EXAMPLE.read_text(encoding="utf-8")
    head, mark, rules = text.partition("# Waste ---")
    tables = re.sub(r"^# (?=\[|\w+ = )", "", head, flags=re.MULTILINE)
    file = tmp_path / "rules.toml"
    file.write_text(tables + mark + rules, encoding="utf-8")
    found = load_rules(file)
    assert [source.name for source in found.sources] == ["baseten", "alaya"]
    assert [receiver.name for receiver in found.receivers] == ["ml-alerts", "pager"]
    assert [len(found.routes), len(found.mute_times), len(found.inhibits)] == [2, 1, 1]
    assert found.routes[1].mute_times == ("nights",)


def test_every_rule_has_words_of_its_own_and_a_known_severity(example: Ruleset) -> None:
    for rule in example.rules:
        text = templates.render(templates.compile_template(rule.summary), SAMPLE)
        assert 20 < len(text) < 160, rule.name
        assert rule.name not in text
        assert rule.labels["severity"] in ("info", "warning", "critical")


def test_every_expression_parses_and_says_which_side_is_bad(example: Ruleset) -> None:
    directions = {rule.name: parse(rule.expr).direction for rule in example.rules}
    assert directions["GPUIdle"] == "below"
    assert directions["GPULagging"] == "below"
    assert directions["VRAMNearLimit"] == "above"
    assert {name for name, side in directions.items() if side is None} == {"JobFailed", "SourceDown"}


def test_every_key_appears(models: tuple[Any, Any]) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    written = set(re.findall(r"^(?:# )?(\w+) = ", text, re.MULTILINE))
    shapes = list(schema(*models)["properties"].values())  # type: ignore[attr-defined]
    keys: set[str] = set()
    while shapes:
        shape = shapes.pop()
        shapes += [shape["items"]] if "items" in shape else shape.get("anyOf", [])
        keys |= set(shape.get("properties", ()))
    assert keys - written == set()
