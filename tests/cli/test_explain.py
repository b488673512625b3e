"""``watchdog explain`` on fresh data: one poll, on top of what is stored."""

from __future__ import annotations

import json
import re
from typing import Any

from watchdog.simulated import faults


def test_the_text_names_samples_state_and_route(desk: Any) -> None:
    status, out, err = desk.type("explain", "-c", str(desk.rules), "--alert", "GPUIdle", "--job", "rm-train")
    assert (status, "watchdog starts" in err) == (0, False)
    headline, _, rest = out.partition("\n\n")
    assert re.fullmatch(r"GPUIdle fires for rm-train \(\w+\): node=\S+ gpu=5: it has held for \w+", headline)
    place = f"{desk.rules}:15"
    assert re.search(
        rf"^  rule at {re.escape(place)}, judged [\d: -]+ UTC, with for 5m, min_coverage 0.8$", rest, re.MULTILINE
    )
    lines = rest.splitlines()
    top = next(line for line in lines if line.startswith("  max_over_time(gpu_utilization[15m]) < 0.05"))
    assert top.endswith("0 < 0.05 holds")
    window = next(line for line in lines if line.startswith("      gpu_utilization[15m]"))
    assert window.endswith("15 of 15 samples")
    assert "  it ends when clear_expr holds:" in lines
    (alert,) = [line for line in lines if line.startswith("  alert  ")]
    assert re.fullmatch(rf"  alert  node=\S+ gpu=5  firing, value 0 → slack by {desk.rules}:13", alert)
    assert lines[-2].split() == ["last", "evaluations", "times", "found", "pending", "firing", "frozen", "uncovered"]
    assert lines[-1].split()[1:4] == ["1", "1", "0"]


def test_a_rule_that_does_not_fire(desk: Any) -> None:
    status, out, _ = desk.type("explain", "-c", str(desk.rules), "--job", "nightly-sft")
    assert status == 0
    assert re.match(r"GPUIdle does not fire for nightly-sft \(\w+\): .* < 0.05 does not hold, [\d.]+ too high", out)


def test_json(desk: Any) -> None:
    status, out, _ = desk.type("explain", "-c", str(desk.rules), "--job", "rm-train", "--format", "json")
    (found,) = json.loads(out)
    assert (status, found["rule"], found["job_name"], found["verdict"]["reason"]) == (
        0,
        "GPUIdle",
        "rm-train",
        "firing",
    )
    assert found["expr"]["steps"][0]["text"] == "max_over_time(gpu_utilization[15m]) < 0.05"


def test_all_jobs(desk: Any) -> None:
    _, out, _ = desk.type("explain", "-c", str(desk.rules))
    assert re.match(r"GPUIdle fires: job=rm-train ", out)
    assert re.search(r"^  job  nightly-sft \(\w+\) does not fire: ", out, re.MULTILINE)


def test_wrong_names_are_wrong_usage(desk: Any) -> None:
    status, out, err = desk.type("explain", "-c", str(desk.rules), "--alert", "Nope")
    assert (status, out) == (2, "")
    assert 'there is no rule "Nope"; there are: GPUIdle' in err
    status, out, err = desk.type("explain", "-c", str(desk.rules), "--job", "nobody")
    assert (status, out) == (2, "")
    assert re.search(r'there is no job "nobody"; watched are: .*rm-train', err)


def test_a_source_that_is_down(desk: Any) -> None:
    desk.type("once", "-c", str(desk.rules))
    desk.faults.plan(faults.status(403))
    status, out, _ = desk.type("explain", "-c", str(desk.rules), "--job", "rm-train")
    assert status == 1
    assert re.match(r"GPUIdle is frozen for rm-train \(\w+\): node=\S+ gpu=5: source baseten is down \(", out)
