from typing import Any

import pytest

from watchdog.model import labels_of
from watchdog.receivers.text.findings import clean, findings, where


def test_text_is_one_line_without_controls_or_direction_changes() -> None:
    assert clean(" a\n\tb\x00\x1b[31m \u202ec\u2066 d\ud800 ", 50) == "a b[31m c d"


@pytest.mark.parametrize(("size", "text"), [(9, "x" * 9), (10, "x" * 10), (11, "x" * 9 + "…")])
def test_text_is_cut_only_above_its_limit(size: int, text: str) -> None:
    assert clean("x" * size, 10) == text


def test_right_to_left_letters_and_emoji_stay() -> None:
    assert clean("אימון 🚀", 50) == "אימון 🚀"


@pytest.mark.parametrize(
    ("gpus", "job", "text"),
    [
        ([("3", "node-1")], {}, "GPU 3 of node-1"),
        ([("3", "")], {}, "GPU 3"),
        ([("0", "node-1"), ("1", "node-1"), ("2", "node-1")], {}, "3 of 8 GPUs of node-1"),
        ([("0", ""), ("1", "")], {}, "2 of 8 GPUs"),
        ([("0", "a"), ("1", "a")], {"gpus": 16, "nodes": 2}, "2 of 8 GPUs of a"),
        ([("0", "a"), ("1", "a")], {"gpus": 16, "nodes": None}, "2 GPUs of a"),
        ([("0", "a"), ("1", "a")], {"gpus": 15, "nodes": 2}, "2 GPUs of a"),
        ([("0", "a"), ("1", "a")], {"gpus": None}, "2 GPUs of a"),
        ([("0", "a"), ("1", "a")], {"gpus": 1}, "2 GPUs of a"),
        ([("0", "a"), ("0", "b")], {"gpus": 16, "nodes": 2}, "2 of 16 GPUs on 2 nodes"),
        ([("0", "a"), ("0", "b")], {"gpus": None}, "2 GPUs on 2 nodes"),
        ([("", "a")], {}, "node a"),
        ([("", "a"), ("", "b")], {"nodes": 4}, "2 of 4 nodes"),
        ([("", "")], {}, ""),
        ([("", ""), ("", "")], {}, "2 alerts"),
    ],
)
def test_places_are_summed_up(make: Any, gpus: list[tuple[str, str]], job: dict[str, Any], text: str) -> None:
    alerts = [make.alert(gpu, node) for gpu, node in gpus]
    assert where(alerts, make.job(**job)) == text


def test_without_a_job_totals_are_not_guessed(make: Any) -> None:
    assert where([make.alert("0"), make.alert("1")], None) == "2 GPUs of node-1"
    assert where([make.alert("", "a"), make.alert("", "b")], None) == "2 nodes"
    assert where([make.alert("0", "a"), make.alert("1", "b")], None) == "2 GPUs on 2 nodes"


def test_gpus_of_two_jobs_are_not_taken_for_one(make: Any) -> None:
    alerts = [make.alert(labels=labels_of({"job": job, "gpu": "0"})) for job in ("a", "b")]
    assert where(alerts, None) == "2 GPUs"


def test_64_gpus_are_one_finding(make: Any) -> None:
    alerts = [make.alert(str(gpu), f"n{node}", value=gpu / 100) for node in range(8) for gpu in range(8)]
    [found] = findings(alerts, make.job(gpus=64, nodes=8))
    assert found.where == "64 of 64 GPUs on 8 nodes"
    assert found.summary == "GPUIdle: 64 of 64 GPUs on 8 nodes, such as: GPU 0 of train-7b has been idle for 20m"
    assert found.reading == "now 0 % to 7 %, worst 0 %"


def test_rules_states_and_severities_are_told_apart(make: Any) -> None:
    alerts = [
        make.alert("0"),
        make.alert("1", severity="critical"),
        make.ended(make.alert("2"), "job completed"),
        make.alert("3", name="Hot"),
    ]
    found = findings(alerts, None)
    assert [(item.rule, item.severity, item.firing, item.state) for item in found] == [
        ("GPUIdle", "warning", True, ""),
        ("GPUIdle", "critical", True, ""),
        ("GPUIdle", "warning", False, "closed: the job completed"),
        ("Hot", "warning", True, ""),
    ]


def test_a_resolved_alert_shows_its_worst_value_but_no_current_one(make: Any) -> None:
    assert findings([make.ended(make.alert())], None)[0].reading == "worst 0 %"
    assert findings([make.ended(make.alert(value_at_fire=0.04))], None)[0].reading == "at fire 4 %, worst 0 %"


def test_values_that_are_not_known_are_left_out(make: Any) -> None:
    assert findings([make.alert(value=None, worst=None)], None)[0].reading == ""
    assert findings([make.alert(value=None)], None)[0].reading == "worst 0 %"


def test_a_status_has_no_value_to_show(make: Any) -> None:
    alert = make.alert(expr='job_status{status="failed"} == 1', value=1.0, event=True)
    assert findings([alert], None)[0].reading == ""


def test_lost_data_is_said_and_the_value_is_the_last_known(make: Any) -> None:
    [lost] = findings([make.alert(unknown=True)], None)
    assert (lost.note, lost.reading) == ("data missing", "last known 2 %, worst 0 %")
    [partly] = findings([make.alert("0", unknown=True), make.alert("1")], None)
    assert (partly.note, partly.reading) == ("data missing for 1 of 2", "now 2 %, worst 0 %")


def test_of_many_end_reasons_three_are_named(make: Any) -> None:
    alerts = [make.ended(make.alert(str(n)), f"reason {n}") for n in range(5)]
    assert findings(alerts, None)[0].state == "closed: reason 0, reason 1, reason 2"


def test_an_alert_without_a_summary_still_has_a_name(make: Any) -> None:
    [one] = findings([make.alert(summary="")], None)
    [two] = findings([make.alert("0", summary=""), make.alert("1", summary="")], None)
    assert (one.summary, two.summary) == ("", "GPUIdle: 2 GPUs of node-1")


def test_the_value_of_an_alert_that_is_only_held_is_not_now(make: Any) -> None:
    held, fresh = make.alert("0", held=True, value=0.01), make.alert("1")
    assert findings([held], None)[0].reading == "last 1 %, worst 0 %"
    assert findings([held, fresh], None)[0].reading == "now 2 %, worst 0 %"
    assert findings([held, make.alert("1", unknown=True)], None)[0].reading == "last 1 % to 2 %, worst 0 %"


def test_a_forecast_is_not_now_and_has_no_worst(make: Any) -> None:
    expr = "predict_linear(cache_utilization[2h], 43200) > 1 and cache_utilization > 0.7"
    alert = make.alert(expr=expr, value=1.82, worst=1.9, forecast=True)
    assert findings([alert], None)[0].reading == "forecast 182 %"
    assert findings([make.alert(expr=expr, value=1.82, forecast=True, unknown=True)], None)[0].reading == (
        "last known forecast 182 %"
    )


@pytest.mark.parametrize(
    ("texts", "summary", "detail"),
    [
        (["sft idles (peak 0% on GPU 0)", "sft idles (peak 1% on GPU 1)"], "sft idles · 2 GPUs of node-1", "sft idles"),
        (["sft idles", "sft idles"], "sft idles · 2 GPUs of node-1", "sft idles"),
        (["sft (7b) idles", "sft (7b) idles"], "sft (7b) idles · 2 GPUs of node-1", "sft (7b) idles"),
        (["GPU 0 idles", "GPU 1 idles"], "GPUIdle: 2 GPUs of node-1, such as: GPU 0 idles", "such as: GPU 0 idles"),
        (["(a)", "(b)"], "GPUIdle: 2 GPUs of node-1, such as: (a)", "such as: (a)"),
    ],
)
def test_what_all_say_is_said_once(make: Any, texts: list[str], summary: str, detail: str) -> None:
    [found] = findings([make.alert(str(gpu), summary=text) for gpu, text in enumerate(texts)], None)
    assert (found.summary, found.detail) == (summary, detail)


@pytest.mark.parametrize(("second", "text"), [("Stop it.", "Stop it."), ("Look.", "")])
def test_a_description_that_all_share_is_kept(make: Any, second: str, text: str) -> None:
    [found] = findings([make.alert("0", description="Stop it."), make.alert("1", description=second)], None)
    assert found.description == text


def test_since_counts_what_the_expression_proves(make: Any) -> None:
    [found] = findings([make.alert("0", proves=900.0), make.alert("1")], None)
    assert found.since == make.noon - 1200 - 900


def test_nodes_whose_long_names_begin_alike_are_several(make: Any) -> None:
    alerts = [make.alert("0", "n" * 300 + str(number)) for number in range(3)]
    assert findings(alerts, make.job(gpus=24, nodes=3))[0].where == "3 of 24 GPUs on 3 nodes"
