"""Explains the rules of a small world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from watchdog.engine.explain import Explanation, as_text, explain, rules_named, subjects

Tell = Callable[..., Explanation]


@pytest.fixture
def tell() -> Tell:
    """Explain one rule to a job (None: to all)."""

    def go(world: Any, job: str | None = "j1", rule: str = "GPUIdle") -> Explanation:
        (compiled,) = rules_named(world.engine, rule)
        (subject,) = subjects(world.engine, job)
        return explain(world.engine, compiled, subject)

    return go


@pytest.fixture
def headline(tell: Tell) -> Callable[..., str]:
    """The first line of an explanation."""

    def go(world: Any, job: str | None = "j1", rule: str = "GPUIdle") -> str:
        return as_text(tell(world, job, rule)).splitlines()[0]

    return go


@pytest.fixture
def seen(tell: Tell) -> Callable[..., str]:
    """The text of an explanation without the table of evaluations."""

    def go(world: Any, job: str | None = "j1", rule: str = "GPUIdle") -> str:
        return as_text(tell(world, job, rule)).partition("\n\n  last evaluations")[0]

    return go
