"""``watchdog backtest`` over files: figures, comparison, mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from watchdog.cli import main

T = 1_772_442_000
RULES = """
[[sources]]
name = "baseten"
type = "baseten"
[[receivers]]
name = "here"
type = "console"
[[routes]]
receivers = ["here"]
[[rules]]
alert = "Idle"
metric = "gpu_utilization"
below = "5%"
window = "{window}"
[[rules]]
alert = "Cache"
metric = "cache_utilization"
above = "90%"
window = "5m"
"""


def history(levels: list[tuple[int, float]]) -> str:
    """One GPU that is so busy for so many minutes, and so on."""
    values = [busy for minutes, busy in levels for _ in range(minutes)]
    lines = [f'gpu_utilization{{job="j1",node="n",gpu="0"}} {busy} {T + 60 * n}' for n, busy in enumerate(values)]
    return "\n".join(["# TYPE gpu_utilization gauge", *lines, "# EOF", ""])


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    (tmp_path / "rules.toml").write_text(RULES.format(window="10m"), encoding="utf-8")
    (tmp_path / "slow.toml").write_text(RULES.format(window="40m"), encoding="utf-8")
    (tmp_path / "h.om").write_text(history([(20, 0.9), (30, 0.0), (20, 0.9)]), encoding="utf-8")

    def go(*words: str) -> tuple[int, str, str]:
        given = [
            "backtest",
            "-c",
            str(tmp_path / "rules.toml"),
            *(word.replace("DIR", str(tmp_path)) for word in words),
        ]
        try:
            status = main(given)
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        return status, *capsys.readouterr()

    return go


def test_the_figures_of_each_rule(say: Any) -> None:
    status, out, err = say("--history", "DIR/h.om")
    assert (status, err) == (0, "")
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert lines["Idle"] == ["Idle", "warning", "1", "1", "1", "9m", "9m", "0", "21m", "1"]
    assert lines["Cache"][2] == "?"
    assert "? Cache: the history has no cache_utilization" in out


def test_for_programs(say: Any) -> None:
    status, out, _ = say("--history", "DIR/h.om", "--format", "json")
    assert status == 0
    found = json.loads(out)
    [rule] = [one for one in found["rules"] if one["rule"] == "Idle"]
    assert (rule["firings"], rule["pings"], rule["jobs"], rule["missing"]) == (1, 1, 1, [])
    assert found["errors"] == []


def test_two_files_side_by_side(say: Any) -> None:
    status, out, _ = say("--history", "DIR/h.om", "--against", "DIR/slow.toml")
    assert status == 0
    assert "1 → 0" in out
    assert "rules.toml: 1 alerts" in out
    assert "slow.toml: 0 alerts" in out


@pytest.mark.parametrize(("lag", "firings"), [("2m", "1"), ("3m", "0")])
def test_samples_that_come_late_may_leave_windows_too_empty(say: Any, lag: str, firings: str) -> None:
    """Of ten minutes eight samples are enough for ``min_coverage``, seven are not."""
    _, out, _ = say("--history", "DIR/h.om", "--lag", lag)
    assert next(line for line in out.splitlines() if line.startswith("Idle")).split()[2] == firings


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--history", "DIR/none.om"], "cannot be read"),
        (["--history", "DIR"], "DIR"),
        (["--history", "DIR/h.om", "--since", "7d"], "not allowed with"),
        ([], "required"),
        (["--since", "0s"], "above 0"),
        (["--history", "DIR/h.om", "--timezone", "Moon/Crater"], "no time zone"),
        (["--history", "DIR/h.om", "--against", "DIR/none.toml"], "none.toml"),
    ],
)
def test_mistakes_have_a_reason(say: Any, tmp_path: Path, words: list[str], reason: str) -> None:
    status, out, err = say(*words)
    assert status == 2
    assert out == ""
    assert reason.replace("DIR", str(tmp_path)) in err
    assert "Traceback" not in err


def test_a_file_without_samples_is_a_mistake(say: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.om").write_text("", encoding="utf-8")
    (tmp_path / "odd.om").write_text(
        history([(3, 0.9)]).replace("gpu_utilization", "gpu_utilisation"), encoding="utf-8"
    )
    assert "empty.om:1: the file is empty" in say("--history", "DIR/empty.om")[2]
    status, _, err = say("--history", "DIR/odd.om")
    assert status == 2
    assert "gpu_utilization" in err, "the nearest right name"
