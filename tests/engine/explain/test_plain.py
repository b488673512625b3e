from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from watchdog.engine.explain import as_json


def test_an_explanation_is_json(world: Any, tell: Callable[..., Any]) -> None:
    world.run(12, g0=0.0, g1=0.9)
    found = json.loads(json.dumps(as_json(tell(world)), allow_nan=False))
    assert (found["rule"], found["job"], found["job_name"], found["at"]) == ("GPUIdle", "j1", "sft", 1_772_442_660.0)
    assert found["verdict"] == {"reason": "firing", "text": "node=n0 gpu=0: it has held for 4m"}
    step = found["expr"]["steps"][0]
    assert (step["text"], step["start"], step["end"]) == ("max_over_time(gpu_utilization[10m]) < 0.05", 36, 37)
    assert [(one["name"], one["left"], one["right"], one["holds"]) for one in step["readings"]] == [
        ("node=n0 gpu=0", 0.0, 0.05, True),
        ("node=n0 gpu=1", 0.9, 0.05, False),
    ]
    assert found["expr"]["steps"][2]["readings"][0]["samples"] == 10
    assert found["alerts"][0]["labels"]["gpu"] == "0"
    assert [one["firing"] for one in found["evaluations"]] == [0] * 7 + [1] * 5


def test_what_json_has_no_number_for_is_a_text(
    make_world: Callable[..., Any], rules: Any, tell: Callable[..., Any]
) -> None:
    world = make_world(rules(replace_expr="gpu_utilization / 0 < -Inf"))
    world.run(1, g0=0.0, g1=0.9)
    found = json.loads(json.dumps(as_json(tell(world)), allow_nan=False))
    assert [(one["left"], one["right"]) for one in found["expr"]["steps"][0]["readings"]] == [
        ("+Inf", "-Inf"),
        ("NaN", "-Inf"),
    ]
