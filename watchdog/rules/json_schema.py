"""The JSON Schema of a rules file, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchdog.config import ReceiverConfig, Section, SourceConfig
from watchdog.promql.write import duration
from watchdog.rules.sections import (
    FlappingSection,
    InhibitSection,
    MuteTimeSection,
    PollSection,
    RouteSection,
    RuleSection,
)


def schema(
    source_models: Mapping[str, type[SourceConfig]], receiver_models: Mapping[str, type[ReceiverConfig]]
) -> dict[str, object]:
    """Return the JSON Schema (2020-12) of a rules file with these kinds of sources and receivers."""
    definitions: dict[str, Any] = {}

    def of(model: type[Section], kind: str | None = None) -> dict[str, Any]:
        shape = model.model_json_schema(by_alias=True)
        _write_durations(shape["properties"])
        definitions.update(shape.pop("$defs", {}))
        if kind is not None:
            shape["properties"]["type"] = {"const": kind}
        return shape

    def any_of(models: Mapping[str, type[Any]]) -> dict[str, Any]:
        return {"type": "array", "items": {"anyOf": [of(model, kind) for kind, model in sorted(models.items())]}}

    properties = {
        "poll": of(PollSection),
        "sources": any_of(source_models),
        "receivers": any_of(receiver_models),
        "routes": {"type": "array", "items": of(RouteSection)},
        "mute_times": {"type": "array", "items": of(MuteTimeSection)},
        "inhibit": {"type": "array", "items": of(InhibitSection)},
        "flapping": of(FlappingSection),
        "rules": {"type": "array", "items": of(RuleSection)},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "watchdog rules",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": definitions,
    }


def _write_durations(properties: dict[str, dict[str, Any]]) -> None:
    """Write the defaults of durations as in the file, without limits on a number that is text there."""
    for shape in properties.values():
        default = shape.get("default")
        if shape.get("type") == "string" and isinstance(default, float):
            shape["default"] = duration(default) if default else "0s"
            for limit in ("ge", "gt"):
                shape.pop(limit, None)
