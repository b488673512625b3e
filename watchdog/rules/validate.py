"""Pydantic's errors as problems of a rules file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from watchdog.rules.locate import Part
from watchdog.rules.problems import Report, Table, nearest
from watchdog.rules.sections import (
    FlappingSection,
    InhibitSection,
    MuteTimeSection,
    PollSection,
    RouteSection,
    RuleSection,
)

Model = TypeVar("Model", bound=BaseModel)
Detail = Mapping[str, Any]
"""One of pydantic's errors: ``type``, ``loc``, ``msg``, ``input``."""


def validate(table: Table, model: type[Model], report: Report) -> Model | None:
    """Return the section, or None with every mistake in it reported, one per key."""
    try:
        return model.model_validate(table.data)
    except ValidationError as error:
        by_key: dict[tuple[Part, ...], list[Detail]] = {}
        for detail in error.errors():
            by_key.setdefault(_place(table.data, detail), []).append(detail)
        for keys, details in by_key.items():
            # Of a union's members the one that got further is what was meant.
            if not any(other[: len(keys)] == keys and other != keys for other in by_key):
                reason, remedy = _explain(details, _names(model) if len(keys) == 1 else ())
                if details[0]["type"] == "extra_forbidden" and len(keys) == 1:
                    remedy = _home_of(keys[0]) or remedy
                report.add(table, keys, reason, remedy)
        return None


def _place(table: Mapping[str, Any], detail: Detail) -> tuple[Part, ...]:
    """Return the keys of an error as the file has them, without pydantic's names of union members."""
    keys: tuple[Part, ...] = ()
    data: Any = table
    for part in detail["loc"]:
        index = isinstance(data, list) and isinstance(part, int)
        if index or (isinstance(data, Mapping) and part in data):
            data = data[part]
            keys = (*keys, part)
    # Of a whole table's error ``loc`` is empty.
    return (*keys, detail["loc"][-1]) if detail["type"] == "missing" else keys


def _explain(details: list[Detail], known: Iterable[str]) -> tuple[str, str]:
    first = details[0]
    if first["type"] == "extra_forbidden":
        return "unknown key", nearest(str(first["loc"][-1]), known) if known else "remove it"
    if first["type"] == "missing":
        return "is missing", "add it"
    texts = dict.fromkeys(detail["msg"].removeprefix("Value error, ") for detail in details)
    reason, _, remedy = next(iter(texts)).partition("; ")
    if remedy:
        return reason, remedy
    if any(detail["type"] == "model_type" for detail in details):
        # The key may hold a secret: its value is not for the log.
        return _lower(next(iter(texts))), 'correct it; a secret is written as { env = "NAME" }'
    return " or ".join(_lower(text) for text in texts), f"the value is {_short(first['input'])}; correct it"


def _home_of(key: Part) -> str:
    """Return a remedy when one other table has this key; a name is no such key, since most tables have one."""
    tables: dict[str, type[BaseModel]] = {
        "[poll]": PollSection,
        "[[routes]]": RouteSection,
        "[[rules]]": RuleSection,
        "[[mute_times]]": MuteTimeSection,
        "[[inhibit]]": InhibitSection,
        "[flapping]": FlappingSection,
    }
    homes = [name for name, model in tables.items() if key in _names(model) and key != "name"]
    return f"it belongs in {homes[0]}" if len(homes) == 1 else ""


def _lower(text: str) -> str:
    return text.removeprefix("Input ").replace("String should", "should")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]
