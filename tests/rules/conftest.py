"""Source models and a loader for texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from watchdog.config import EnvRef, ReceiverConfig, SourceConfig
from watchdog.errors import Problem, RulesError
from watchdog.receivers import RECEIVER_TYPES
from watchdog.rules import load
from watchdog.rules.model import Ruleset

Load = Callable[[str], Ruleset]
Problems = Callable[[str], list[Problem]]


class CloudConfig(SourceConfig):
    projects: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    api_key: EnvRef = EnvRef(env="CLOUD_KEY")


SOURCES: dict[str, type[SourceConfig]] = {"baseten": CloudConfig, "alayanew": CloudConfig}
RECEIVERS: dict[str, type[ReceiverConfig]] = {name: kind.config for name, kind in RECEIVER_TYPES.items()}


@pytest.fixture
def load_path() -> Callable[[Path], Ruleset]:
    return lambda path: load(path, SOURCES, RECEIVERS)


@pytest.fixture
def models() -> tuple[dict[str, type[SourceConfig]], dict[str, type[ReceiverConfig]]]:
    return SOURCES, RECEIVERS


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    def run(text: str) -> Ruleset:
        file = tmp_path / "rules.toml"
        file.write_text(text, encoding="utf-8")
        return load(file, SOURCES, RECEIVERS)

    return run


@pytest.fixture
def problems_of(load_text: Load) -> Problems:
    def run(text: str) -> list[Problem]:
        with pytest.raises(RulesError) as caught:
            load_text(text)
        return list(caught.value.problems)

    return run
