from typing import Any

import pytest

from watchdog.model import JobStatus, Reason, labels_of
from watchdog.receivers.text.wording import Look, change, facts, headline, lateness, look, subject


def test_an_incident_looks_like_its_alerts(make: Any) -> None:
    event = make.alert(event=True)
    assert look(make.view(make.alert())) is Look.FIRING
    assert look(make.view(make.alert(unknown=True))) is Look.UNKNOWN
    assert look(make.view(make.alert("0", unknown=True), make.alert("1"))) is Look.FIRING
    assert look(make.view(make.ended(make.alert()))) is Look.RESOLVED
    assert look(make.view(event)) is Look.EVENT
    assert look(make.view(event, make.ended(make.alert("1")))) is Look.EVENT
    assert look(make.view(event, make.alert("1", unknown=True))) is Look.UNKNOWN
    assert look(make.view(make.alert()).__class__(**{**_fields(make.view()), "alerts": ()})) is Look.FIRING


def _fields(view: Any) -> dict[str, Any]:
    return {name: getattr(view, name) for name in view.__slots__}


@pytest.mark.parametrize(
    ("group", "labels", "text"),
    [
        ({"job": "j1"}, {"job": "j1", "job_name": "train"}, "train"),
        ({"job": "j1"}, {"job": "j1"}, "j1"),
        ({"project": "p1", "source": "s"}, {"project_name": "llm"}, "project llm"),
        ({"project": "p1"}, {}, "project p1"),
        ({"source": "alaya"}, {}, "source alaya"),
        ({"node": "n1", "zone": "z"}, {}, "node n1, zone z"),
        ({}, {}, "all jobs"),
    ],
)
def test_the_subject_is_what_the_group_is_about(
    make: Any, group: dict[str, str], labels: dict[str, str], text: str
) -> None:
    alert = make.alert(labels=labels_of(labels))
    assert subject(make.view(alert, job=None, group_labels=labels_of(group))) == text


def test_the_subject_of_a_job_is_its_name_else_its_id(make: Any) -> None:
    assert subject(make.view()) == "train-7b"
    assert subject(make.view(job=make.job(job_name=""))) == "abc123"


def test_headlines(make: Any) -> None:
    three = [make.alert(str(gpu)) for gpu in range(3)]
    hot = make.alert("0", name="GPUHot", summary="GPU 0 is hot")
    over = make.ended(make.alert(), "job completed")
    cases = [
        (make.view(), "Warning: GPU 3 of train-7b has been idle for 20m"),
        (make.view(make.alert(summary="")), "Warning: GPUIdle, GPU 3 of node-1 on train-7b"),
        (make.view(make.alert(severity="")), "Alert: GPU 3 of train-7b has been idle for 20m"),
        (
            make.view(*three),
            "Warning: GPUIdle: 3 of 8 GPUs of node-1, such as: GPU 0 of train-7b has been idle for 20m",
        ),
        (make.view(make.alert(), hot), "Warning: GPU 3 of train-7b has been idle for 20m (and 1 more rule: GPUHot)"),
        (make.view(make.alert(unknown=True)), "Warning, data missing: GPU 3 of train-7b has been idle for 20m"),
        (make.view(over), "Resolved after 30m: GPUIdle, GPU 3 of node-1 on train-7b (job completed)"),
        (make.view(make.ended(make.alert())), "Resolved after 30m: GPUIdle, GPU 3 of node-1 on train-7b"),
        (make.view(make.alert(event=True, summary="The job failed")), "Warning: The job failed"),
        (make.view(make.ended(make.alert()), closed_at=None), "Resolved: GPUIdle, GPU 3 of node-1 on train-7b"),
        (make.view(make.alert(), alerts=()), "Warning: train-7b"),
        (make.view(make.ended(make.alert()), alerts=()), "Resolved after 10m: all alerts on train-7b"),
    ]
    for view, text in cases:
        assert headline(view) == text


def test_facts_are_those_that_are_known(make: Any) -> None:
    found = {fact.name: fact for fact in facts(make.view(), make.noon + 600)}
    assert found["Job"].text == "train-7b"
    assert found["Job"].url == "https://provider.example/jobs/abc123"
    assert found["Provider"].text == "baseten · llm"
    assert found["Owner"].text == "ada"
    assert found["GPUs"].text == "8 × H100"
    assert found["Status"].text == "running"
    assert found["Since"].at == make.noon - 1200
    assert found["Cost of the job since"].text == "about $10.00 at 20 USD/h (list price)"
    assert "Until" not in found
    assert "Error" not in found
    bare = make.job(owner="", gpus=None, gpu_type="", cost_usd_per_hour=None, provider_status="", provider="")
    names = [fact.name for fact in facts(make.view(job=bare), make.noon)]
    assert names == ["Job", "Provider", "Status", "Since"]
    assert [fact.name for fact in facts(make.view(job=None), make.noon)] == ["Since"]


def test_a_resolved_incident_says_how_long_and_what_it_cost(make: Any) -> None:
    found = {fact.name: fact for fact in facts(make.view(make.ended(make.alert())), make.noon + 99999)}
    assert found["Until"].at == make.noon + 600
    assert found["Lasted"].text == "30m"
    assert found["Cost of the job since"].text == "about $10.00 at 20 USD/h (list price)"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"gpus": 16, "nodes": 2}, "16 × H100 on 2 nodes"),
        ({"gpu_type": ""}, "8"),
        ({"gpus": None}, "H100"),
        ({"gpus": 0, "gpu_type": ""}, "0"),
    ],
)
def test_hardware(make: Any, changes: dict[str, Any], text: str) -> None:
    found = {fact.name: fact.text for fact in facts(make.view(job=make.job(**changes)), make.noon)}
    assert found["GPUs"] == text


def test_a_job_that_waits_costs_nothing_and_a_failed_one_shows_its_error(make: Any) -> None:
    waiting = make.view(job=make.job(status=JobStatus.PENDING))
    failed = make.view(job=make.job(status=JobStatus.FAILED, error="exit 137\n(OOM)"))
    assert "Cost of the job since" not in [fact.name for fact in facts(waiting, make.noon)]
    assert {fact.name: fact.text for fact in facts(failed, make.noon)}["Error"] == "exit 137 (OOM)"


def test_no_events_but_ongoing_alerts_last(make: Any) -> None:
    event = make.view(make.alert(event=True), closed_at=make.noon)
    assert "Until" not in [fact.name for fact in facts(event, make.noon)]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Reason.FIRST, "Warning: "),
        (Reason.NEW_ALERTS, "New alerts: "),
        (Reason.SOME_RESOLVED, "Some alerts resolved: "),
        (Reason.REPEAT, "Still firing after 20m: "),
        (Reason.SEVERITY, "Severity raised to warning: "),
        (Reason.REFIRED, "Fired again: "),
        (Reason.EVENT, "Warning: "),
        (Reason.UNKNOWN, "Data lost, so this is not judged until data is back: "),
        (Reason.KNOWN, "Data is back: "),
        (Reason.CHANGED, "Details changed: "),
        (Reason.ALL_RESOLVED, "Resolved: "),
    ],
)
def test_every_reason_has_its_words(make: Any, reason: Reason, text: str) -> None:
    found = change(make.note(reason=reason), make.noon)
    assert found.what == text + "GPU 3 of train-7b has been idle for 20m"
    assert found.at == make.noon


def test_a_change_names_only_what_changed(make: Any) -> None:
    done = make.ended(make.alert("0"), "job completed")
    view = make.view(make.alert("1"), done)
    note = make.note(view, Reason.SOME_RESOLVED, changed=(done.fingerprint,))
    assert change(note, make.noon).what == "Some alerts resolved: GPUIdle, GPU 0 of node-1 (job completed)"


def test_a_change_of_nothing_known_names_the_subject(make: Any) -> None:
    assert change(make.note(changed=("gone",)), make.noon).what == "Warning: train-7b"


def test_a_change_of_many_rules_is_summed_up(make: Any) -> None:
    view = make.view(*(make.alert(name=f"Rule{n}", summary="") for n in range(6)))
    text = change(make.note(view, Reason.NEW_ALERTS), make.noon).what
    assert text.endswith("Rule3, GPU 3 of node-1 and 2 more")


def test_the_end_says_how_long_it_lasted(make: Any) -> None:
    found = change(make.resolved(end_reason="job completed"), make.noon + 600)
    assert found.what == "Resolved after 30m: GPUIdle, GPU 3 of node-1 (job completed)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, ""), (119, ""), (120, ""), (121, "late by 2 min"), (720, "late by 12 min"), (3599, "late by 59 min"),
     (3600, "late by 1h"), (7500, "late by 2h 5m")],
)  # fmt: skip
def test_late_is_more_than_two_minutes(make: Any, seconds: float, text: str) -> None:
    assert lateness(make.note(), make.noon + seconds) == text


def test_times_and_cost_count_what_the_expression_proves(make: Any) -> None:
    view = make.view(make.ended(make.alert(proves=600.0)))
    found = {fact.name: fact for fact in facts(view, make.noon + 99999)}
    assert found["Since"].at == make.noon - 1800
    assert found["Lasted"].text == "40m"
    assert found["Cost of the job since"].text == "about $13.33 at 20 USD/h (list price)"
    assert headline(view).startswith("Resolved after 40m: ")


def test_an_event_has_no_cost(make: Any) -> None:
    assert "Cost of the job since" not in [fact.name for fact in facts(make.view(make.alert(event=True)), make.noon)]


def test_a_status_that_nobody_knows_is_shown_as_the_provider_says_it(make: Any) -> None:
    for said, text in (("TRAINING_JOB_DREAMING", "TRAINING_JOB_DREAMING"), ("", "unknown")):
        view = make.view(job=make.job(status=JobStatus.UNKNOWN, provider_status=said))
        assert {fact.name: fact.text for fact in facts(view, make.noon)}["Status"] == text


def test_a_message_about_no_single_job_says_where_it_is(make: Any) -> None:
    labels = {"provider": "baseten", "project": "p1", "project_name": "llm", "source": "s"}
    one, two = make.alert(labels=labels_of(labels)), make.alert(labels=labels_of({**labels, "project_name": "x"}))
    assert facts(make.view(one, job=None), make.noon)[0].text == "baseten · llm"
    assert facts(make.view(one, two, job=None), make.noon)[0].text == "baseten · p1"
    assert [fact.name for fact in facts(make.view(job=None, alerts=()), make.noon)] == ["Since"]
