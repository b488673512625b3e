"""Pydantic's errors of real sections, as problems."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from watchdog.errors import RulesError
from watchdog.rules.locate import lines_of
from watchdog.rules.problems import Report, Table
from watchdog.rules.validate import validate
from watchdog.sources.alayanew import AlayaNewConfig
from watchdog.sources.baseten import BasetenConfig


@pytest.mark.parametrize(
    ("model", "lines", "key", "reason"),
    [
        (BasetenConfig, 'type = "baseten"\nprojects = []', "sources[0]", "nothing to watch"),
        (BasetenConfig, 'type = "baseten"\nprojects = ["*", "a"]', "sources[0]", 'projects holds "*", which'),
        (AlayaNewConfig, 'type = "alayanew"', "sources[0]", "nothing to watch"),
        (AlayaNewConfig, 'type = "alayanew"\njobs = ["1"]\naccess_key = { env = "A" }', "sources[0]", "access_key and"),
        (BasetenConfig, 'type = "baseten"\nstep = "31d"', "sources[0].step", "is longer than 30 days"),
    ],
)
def test_a_mistake_of_a_whole_table_names_the_table(model: Any, lines: str, key: str, reason: str) -> None:
    text = f'[[sources]]\nname = "a"\n{lines}\n'
    report = Report()
    table = Table("rules.toml", ("sources", 0), tomllib.loads(text)["sources"][0], lines_of(text))
    assert validate(table, model, report) is None
    with pytest.raises(RulesError) as caught:
        report.raise_if_any()
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == (key, 1 if key == "sources[0]" else 4)
    assert problem.reason.startswith(reason)
    assert problem.remedy
