"""``watchdog export``: the file, and what it does not carry over, each in its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml


def test_the_rule_file_is_printed_and_the_notes_go_to_standard_error(desk: Any) -> None:
    status, out, err = desk.type("export", "prometheus", "-c", str(desk.rules))
    assert status == 0
    (group,) = yaml.safe_load(out)["groups"]
    assert (group["interval"], [rule["alert"] for rule in group["rules"]]) == ("1m", ["GPUIdle"])
    assert err == ('note: No counterpart of no_data = "keep": when their data is missing, these resolve: GPUIdle.\n')


def test_the_rule_file_goes_where_it_is_asked_to(desk: Any) -> None:
    desk.rules.write_text(desk.rules.read_text().replace("is idle", "is idle {{ job.error }}"))
    target = desk.folder / "prometheus.yml"
    status, out, err = desk.type("export", "prometheus", "-c", str(desk.rules), "-o", str(target), "--interval", "15s")
    assert (status, out) == (0, "")
    assert yaml.safe_load(target.read_text(encoding="utf-8"))["groups"][0]["interval"] == "15s"
    assert "note: GPUIdle: summary: job.error is no metric" in err


def test_a_file_that_cannot_be_written_is_wrong_usage(desk: Any) -> None:
    target = desk.folder / "none" / "x.yml"
    status, _, err = desk.type("export", "prometheus", "-c", str(desk.rules), "-o", str(target))
    assert (status, f"error: {target} cannot be written" in err) == (2, True)


@pytest.mark.parametrize(("given", "reason"), [("soon", "is not a duration"), ("999ms", "or more"), ("1s", "")])
def test_an_interval_is_a_duration_of_a_second_or_more(desk: Any, given: str, reason: str) -> None:
    status, _, err = desk.type("export", "prometheus", "-c", str(desk.rules), "--interval", given)
    assert (status, reason in err) == (2 if reason else 0, True)
