"""What the log says of a tick."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from watchdog.engine.engine import Engine, TickResult
from watchdog.model import Alert, AlertState, Changes, Notification, Reason, labels_of
from watchdog.service import report

NOW = 600.0
ENGINE = cast("Engine", SimpleNamespace(registry=SimpleNamespace(active=list), judge=SimpleNamespace(alerts={})))


def alert(gpu: str, job: str = "j1", **changes: Any) -> Alert:
    instance = labels_of({"job": job, "source": "s", "node": "n0", "gpu": gpu})
    fields = {"state": AlertState.FIRING, "active_at": 0.0, "fired_at": NOW, "summary": f"GPU {gpu} idles", **changes}
    return Alert("Idle", job + gpu, instance, instance, **fields)


def lines(caplog: pytest.LogCaptureFixture, alerts: list[Alert], *, dry: bool = False) -> list[dict[str, Any]]:
    row = SimpleNamespace(receiver="slack", incident="i", reason=Reason.FIRST, ping=True)
    result = SimpleNamespace(
        started=(), ended=(), failures={}, dropped={}, changes=Changes(NOW, alerts=tuple(alerts)),
        notifications=(cast("Notification", row),),
    )  # fmt: skip
    with caplog.at_level("INFO", logger="watchdog"):
        report.tick(cast("TickResult", result), [], ENGINE, dry=dry)
    return [vars(record) | {"said": record.getMessage()} for record in caplog.records]


def test_alerts_of_one_rule_and_job_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    over = alert("8", state=AlertState.INACTIVE, end_reason="resolved", fired_at=0.0)
    old, lost = alert("9", fired_at=0.0), alert("7", fired_at=0.0, unknown_since=NOW)
    told = lines(caplog, [alert("0"), alert("1"), alert("0", "j2"), over, old, lost], dry=True)
    assert [(line["said"], line["labels"], line.get("count")) for line in told] == [
        ("alert firing", "job=j1,node=n0,source=s", 2),
        ("alert firing", "gpu=0,job=j2,node=n0,source=s", None),
        ("alert resolved", "gpu=8,job=j1,node=n0,source=s", None),
        ("alert unknown: its data is missing", "gpu=7,job=j1,node=n0,source=s", None),
    ]
    assert told[0]["text"] == "GPU 0 idles"


@pytest.mark.parametrize(("dry", "said"), [(False, ["to be told"]), (True, [])])
def test_a_dry_run_tells_nobody(caplog: pytest.LogCaptureFixture, dry: bool, said: list[str]) -> None:
    assert [line["said"] for line in lines(caplog, [], dry=dry)] == said
