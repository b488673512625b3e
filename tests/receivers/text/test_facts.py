from typing import Any

import pytest

from watchdog.model import JobStatus, labels_of
from watchdog.receivers.text.facts import facts
from watchdog.receivers.text.wording import headline


def test_facts_are_those_that_are_known(make: Any) -> None:
    found = {fact.name: fact for fact in facts(make.view(), make.noon + 600)}
    assert found["Job"].text == "train-7b"
    assert found["Job"].url == "https://provider.example/jobs/abc123"
    assert found["Provider"].text == "baseten · llm"
    assert found["Owner"].text == "ada"
    assert found["Job"].more == "8 × H100 · running"
    assert found["Since"].at == make.noon - 1200
    assert "Until" not in found
    assert "Error" not in found
    bare = make.job(owner="", gpus=None, gpu_type="", cost_usd_per_hour=None, provider_status="", provider="")
    names = [fact.name for fact in facts(make.view(job=bare), make.noon)]
    assert names == ["Job", "Provider", "Since"]
    assert [fact.name for fact in facts(make.view(job=None), make.noon)] == ["Since"]


def test_a_resolved_incident_says_how_long_and_what_was_wasted(make: Any) -> None:
    over = make.ended(make.alert(waste=True), at=make.noon + 600)
    found = {fact.name: fact for fact in facts(make.view(over), make.noon + 99999)}
    assert found["From"].at == make.noon - 1200
    assert found["Until"].at == make.noon + 600
    assert found["Wasted"].text == "about $1.25 at list price (0.5 GPU-hours)"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"gpus": 16, "nodes": 2}, "16 × H100 on 2 nodes"),
        ({"gpu_type": ""}, "8 GPUs"),
        ({"gpu_type": "", "gpus": 1}, "1 GPU"),
        ({"gpus": None}, "H100"),
        ({"gpus": 0, "gpu_type": ""}, "0 GPUs"),
    ],
)
def test_hardware(make: Any, changes: dict[str, Any], text: str) -> None:
    found = {fact.name: fact.more for fact in facts(make.view(job=make.job(**changes)), make.noon)}
    assert found["Job"] == f"{text} · running"


def test_a_job_that_waits_costs_nothing_and_a_failed_one_shows_its_error(make: Any) -> None:
    waiting = make.view(make.alert(waste=True), job=make.job(status=JobStatus.PENDING))
    failed = make.view(job=make.job(status=JobStatus.FAILED, error="exit 137\n(OOM)"))
    assert "Wasted so far" not in [fact.name for fact in facts(waiting, make.noon)]
    assert {fact.name: fact.text for fact in facts(failed, make.noon)}["Error"] == "exit 137 (OOM)"


def test_no_events_but_ongoing_alerts_last(make: Any) -> None:
    event = make.view(make.alert(event=True), closed_at=make.noon)
    assert "Until" not in [fact.name for fact in facts(event, make.noon)]


def test_times_and_cost_count_what_the_expression_proves(make: Any) -> None:
    view = make.view(make.ended(make.alert(proves=600.0, waste=True), at=make.noon + 600))
    found = {fact.name: fact for fact in facts(view, make.noon + 99999)}
    assert found["From"].at == make.noon - 1800
    assert found["Wasted"].text == "about $1.67 at list price (0.67 GPU-hours)"
    assert headline(view).startswith("Resolved after 40m: ")


def test_an_event_has_a_time_and_no_cost(make: Any) -> None:
    names = [fact.name for fact in facts(make.view(make.alert(event=True, waste=True)), make.noon)]
    assert names == ["Job", "Provider", "Owner", "When"]


def test_a_status_that_nobody_knows_is_shown_as_the_provider_says_it(make: Any) -> None:
    for said, text in (("TRAINING_JOB_DREAMING", "TRAINING_JOB_DREAMING"), ("", "unknown")):
        view = make.view(job=make.job(status=JobStatus.UNKNOWN, provider_status=said))
        assert {fact.name: fact.more for fact in facts(view, make.noon)}["Job"] == f"8 × H100 · {text}"


def test_a_message_about_no_single_job_says_where_it_is(make: Any) -> None:
    labels = {"provider": "baseten", "project": "p1", "project_name": "llm", "source": "s"}
    one, two = make.alert(labels=labels_of(labels)), make.alert(labels=labels_of({**labels, "project_name": "x"}))
    assert facts(make.view(one, job=None), make.noon)[0].text == "baseten · llm"
    assert facts(make.view(one, two, job=None), make.noon)[0].text == "baseten · p1"
    assert [fact.name for fact in facts(make.view(job=None, alerts=()), make.noon)] == ["Since"]


def test_an_incident_without_data_says_since_when(make: Any) -> None:
    view = make.view(make.alert(unknown=True, unknown_since=make.noon - 300))
    assert {fact.name: fact.at for fact in facts(view, make.noon)}["No data since"] == make.noon - 300


def test_what_is_wasted_grows_by_the_gpus_that_still_idle(make: Any) -> None:
    found = facts(make.view(make.alert("0", waste=True), make.alert("1", waste=True)), make.noon)
    assert found[-1].text == "about $1.67 at list price (0.67 GPU-hours), $5.00 more each hour"
    unpriced = facts(make.view(make.alert(waste=True), job=make.job(cost_usd_per_hour=None)), make.noon)
    assert unpriced[-1].text == "0.33 GPU-hours"
