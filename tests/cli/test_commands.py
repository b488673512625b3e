"""What a person types and what comes back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from watchdog.model import Alert, AlertState, Changes, labels_of
from watchdog.simulated import faults
from watchdog.simulated.slack import Fault
from watchdog.store import SqlStore


def test_check_finds_nothing_wrong(desk: Any) -> None:
    status, out, _ = desk.type("check", str(desk.rules))
    assert (status, out.strip()) == (0, f"{desk.rules} is fine: 1 sources, 1 receivers, 1 routes, 1 rules")
    status, out, _ = desk.type("check", str(desk.rules), "--format", "json")
    assert (status, json.loads(out)["ok"], json.loads(out)["rules"]) == (0, True, 1)


def test_ten_mistakes_are_ten_errors_with_line_key_reason_and_remedy(desk: Any, mistakes: Callable[[], Path]) -> None:
    file = mistakes()
    status, out, err = desk.type("check", str(file))
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (status, out) == (2, "")
    assert len(lines) >= 10
    for line in lines:
        place, _, rest = line.removeprefix("error: ").partition(": ")
        assert place.startswith(f"{file}:")
        assert place.rpartition(":")[2].isdigit()
        assert ": " in rest, "the key"
        assert "; " in rest, "the remedy"
    for word in (
        "intervall",
        "basetn",
        "chanel",
        "slak",
        "gpu_utilisation",
        "mad_over_time",
        "1m",
        "10s",
        "humanise",
        "below",
    ):
        assert word in err, word
    status, out, _ = desk.type("check", str(file), "--format", "json")
    problems = json.loads(out)["problems"]
    assert (status, len(problems)) == (2, len(lines))
    assert set(problems[0]) == {"file", "line", "key", "reason", "remedy", "excerpt"}


def test_the_place_in_an_expression_is_pointed_to(desk: Any) -> None:
    text = desk.rules.read_text().partition("[[rules]]")[0]
    rules = [
        "avg by (jbo) (gpu_utilization) < 1",
        "max(gpu_utilisation) > 1",
        "sum(avg_over_time(gpu_utilization[5m]) < 1",
    ]
    text += "".join(f"[[rules]]\nalert = 'R{n}'\nexpr = '{expr}'\n" for n, expr in enumerate(rules))
    desk.rules.write_text(text)
    status, _, err = desk.type("check", str(desk.rules))
    assert status == 2
    assert [line for line in err.splitlines() if line.startswith("    ")] == [
        "    avg by (jbo) (gpu_utilization) < 1",
        "    ^^^",
        "    max(gpu_utilisation) > 1",
        "        ^^^^^^^^^^^^^^^",
        "    sum(avg_over_time(gpu_utilization[5m]) < 1",
        "       ^",
    ]
    problems = json.loads(desk.type("check", str(desk.rules), "--format", "json")[1])["problems"]
    assert problems[1]["excerpt"] == "max(gpu_utilisation) > 1\n    ^^^^^^^^^^^^^^^"


@pytest.mark.parametrize("words", [["run"], ["once"], ["explain"], ["send-test", "slack"], ["check"]])
def test_a_rules_file_is_needed(desk: Any, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATCHDOG_RULES", raising=False)
    status, _, err = desk.type(*words)
    assert status == 2
    assert "no rules file" in err


@pytest.mark.parametrize("command", ["run", "once", "explain"])
def test_a_wrong_rules_file_is_refused(desk: Any, mistakes: Callable[[], Path], command: str) -> None:
    assert desk.type(command, "-c", str(mistakes()))[0] == 2


def test_a_missing_secret_is_named(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BASETEN_API_KEY")
    status, _, err = desk.type("once", "-c", str(desk.rules))
    assert status == 2
    assert "BASETEN_API_KEY" in err
    assert "Traceback" not in err


def test_once_tells_and_remembers(desk: Any) -> None:
    status, _, err = desk.type("once", "-c", str(desk.rules))
    assert status == 0, err
    (parent,) = desk.slack.workspace.parents()
    assert "GPU 5 of rm-train is idle" in parent.words
    assert desk.type("once", "-c", str(desk.rules))[0] == 0
    assert len(desk.slack.workspace.parents()) == 1
    status, out, _ = desk.type("alerts")
    assert status == 0
    assert "firing" in out
    assert "GPU 5 of rm-train is idle" in out
    assert out.split("\n")[0].split() == ["SEVERITY", "STATE", "ALERT", "SOURCE", "JOB", "SINCE", "FOR", "SUMMARY"]
    assert out.split("\n")[1].split()[:5] == ["warning", "firing", "GPUIdle", "baseten", "rm-train"]
    (alert,) = json.loads(desk.type("alerts", "--format", "json")[1])
    assert (alert["rule"], alert["instance"]["gpu"], alert["state"]) == ("GPUIdle", "5", "firing")
    status, out, _ = desk.type("jobs")
    assert "rm-train" in out
    assert "8 x H100" in out
    assert {job["job"]["job_name"] for job in json.loads(desk.type("jobs", "--format", "json")[1])} >= {"rm-train"}


def test_a_dry_run_prints_and_leaves_no_trace(desk: Any) -> None:
    status, out, _ = desk.type("once", "-c", str(desk.rules), "--dry-run")
    assert status == 0
    assert "1 message would be sent" in out
    assert "GPU 5 of rm-train is idle" in out
    assert desk.slack.workspace.parents() == []
    assert not (desk.folder / "watchdog.db").exists()


def test_a_dry_run_knows_what_was_said(desk: Any) -> None:
    desk.type("once", "-c", str(desk.rules))
    assert "0 messages would be sent" in desk.type("once", "-c", str(desk.rules), "--dry-run")[1]


def test_once_says_no_when_a_source_cannot_be_read(desk: Any) -> None:
    desk.faults.plan(faults.status(403))
    status, _, err = desk.type("once", "-c", str(desk.rules))
    assert status == 1
    assert "source cannot be read" in err
    assert desk.type("once", "-c", str(desk.rules), "--dry-run")[0] == 1
    assert desk.type("explain", "-c", str(desk.rules))[0] == 1


def test_send_test_sends_one_message(desk: Any) -> None:
    status, out, _ = desk.type("send-test", "slack", "-c", str(desk.rules))
    assert (status, out.strip()) == (0, "slack took the test message")
    (parent,) = desk.slack.workspace.parents()
    assert "test message of watchdog" in parent.words
    status, _, err = desk.type("send-test", "pager", "-c", str(desk.rules))
    assert (status, "it has: slack" in err) == (2, True)


def test_send_test_says_why_it_was_refused(desk: Any) -> None:
    desk.slack.fail(Fault(code="not_in_channel"))
    status, _, err = desk.type("send-test", "slack", "-c", str(desk.rules))
    assert status == 1
    assert "not_in_channel" in err


@pytest.mark.parametrize("command", ["alerts", "jobs"])
def test_a_store_that_is_not_there_is_no_all_clear(desk: Any, command: str) -> None:
    status, out, err = desk.type(command)
    assert (status, out) == (2, "")
    assert "there is no store at" in err
    assert not (desk.folder / "watchdog.db").exists()


def test_empty_stores_have_nothing_to_show(desk: Any) -> None:
    with SqlStore(f"sqlite:///{desk.folder}/watchdog.db") as store:
        store.load()
    assert desk.type("alerts")[1].strip() == "no alert is pending or firing"
    assert desk.type("jobs")[1].strip() == "no job is being watched"


def test_a_store_that_is_none_is_named(desk: Any) -> None:
    (desk.folder / "watchdog.db").write_text("not a database, but long enough to look like something else entirely")
    status, _, err = desk.type("alerts")
    assert status == 1
    assert "is not a database" in err


def test_a_newer_store_is_refused(desk: Any) -> None:
    desk.type("once", "-c", str(desk.rules))
    with sqlite3.connect(desk.folder / "watchdog.db") as database:
        database.execute("update meta set value = '999' where key = 'store.schema'")
    database.close()
    status, _, err = desk.type("alerts")
    assert status == 1
    assert "999" in err


def test_the_schema_is_json_schema(desk: Any) -> None:
    status, out, _ = desk.type("schema")
    assert status == 0
    assert "rules" in json.loads(out)["properties"]


def test_usage(desk: Any) -> None:
    assert desk.type("--version")[0] == 0
    assert desk.type()[0] == 2
    assert desk.type("nonsense")[0] == 2
    status, out, _ = desk.type("--help")
    assert status == 0
    for command in ("run", "once", "check", "demo", "explain", "alerts", "jobs", "send-test", "schema"):
        assert command in out


def test_alerts_are_listed_by_severity_then_state_then_age(desk: Any) -> None:
    def made(key: str, severity: str, state: AlertState, at: float) -> Alert:
        labels = labels_of({"severity": severity, "source": "s", "job": key})
        return Alert(key, key, labels, labels, state, active_at=at, fired_at=at, summary=key)

    firing, pending = AlertState.FIRING, AlertState.PENDING
    alerts = (made("c", "warning", pending, 1), made("b", "warning", firing, 9), made("a", "critical", pending, 9),
              made("d", "warning", pending, 2), made("e", "info", firing, 0))  # fmt: skip
    with SqlStore(f"sqlite:///{desk.folder}/watchdog.db") as store:
        store.load()
        store.commit(Changes(10.0, alerts=alerts))
    rows = desk.type("alerts")[1].splitlines()[1:]
    assert [row.split()[2] for row in rows] == ["a", "b", "c", "d", "e"]
