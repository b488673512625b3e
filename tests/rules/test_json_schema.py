"""The JSON Schema of a rules file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from watchdog.rules import schema


def test_the_schema_knows_every_kind_and_refuses_the_rest(models: tuple[Any, Any]) -> None:
    found: Any = schema(*models)
    json.dumps(found)
    properties = found["properties"]
    assert found["additionalProperties"] is False
    assert set(properties) == {
        *("poll", "sources", "receivers", "routes", "rules", "mute_times", "inhibit", "flapping")
    }
    kinds = [shape["properties"]["type"] for shape in properties["receivers"]["items"]["anyOf"]]
    assert kinds == [{"const": "console"}, {"const": "slack"}, {"const": "webhook"}]
    assert "EnvRef" in found["$defs"]
    rule = properties["rules"]["items"]
    assert rule["additionalProperties"] is False
    assert rule["required"] == ["alert"]
    assert {"for", "below", "severity"} <= set(rule["properties"])
    assert rule["properties"]["for"]["type"] == "string"
    assert (rule["properties"]["for"]["default"], rule["properties"]["grace"]["default"]) == ("0s", "0s")
    interval = properties["poll"]["properties"]["interval"]
    assert interval["default"] == "1m"
    assert not {"ge", "gt"} & set(interval)
    assert "continue" in properties["routes"]["items"]["properties"]


@pytest.mark.parametrize("table", ["poll", "routes", "rules", "mute_times", "inhibit", "flapping"])
def test_every_key_is_described(models: tuple[Any, Any], table: str) -> None:
    found: Any = schema(*models)
    shape = found["properties"][table]
    properties = shape.get("items", shape)["properties"]
    assert [name for name, key in properties.items() if not key.get("description")] == []
