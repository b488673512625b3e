"""The JSON Schema of a rules file."""

from __future__ import annotations

import json
from typing import Any

from watchdog.rules import schema


def test_the_schema_knows_every_kind_and_refuses_the_rest(models: tuple[Any, Any]) -> None:
    found: Any = schema(*models)
    json.dumps(found)
    properties = found["properties"]
    assert found["additionalProperties"] is False
    assert set(properties) == {"poll", "sources", "receivers", "routes", "rules"}
    kinds = [shape["properties"]["type"] for shape in properties["receivers"]["items"]["anyOf"]]
    assert kinds == [{"const": "console"}, {"const": "slack"}, {"const": "webhook"}]
    assert "EnvRef" in found["$defs"]
    rule = properties["rules"]["items"]
    assert rule["additionalProperties"] is False
    assert rule["required"] == ["alert"]
    assert {"for", "below", "severity"} <= set(rule["properties"])
    assert rule["properties"]["for"]["type"] == "string"
    assert "continue" in properties["routes"]["items"]["properties"]
