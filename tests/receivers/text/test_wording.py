from typing import Any

import pytest

from watchdog.model import Reason, labels_of
from watchdog.receivers.text.wording import change, closing, headline, lateness, subject


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
        (make.view(over), "Closed after 30m because the job completed: GPUIdle, GPU 3 of node-1 on train-7b"),
        (make.view(make.ended(make.alert())), "Resolved after 30m: GPUIdle, GPU 3 of node-1 on train-7b"),
        (make.view(make.alert(event=True, summary="The job failed")), "Warning: The job failed"),
        (make.view(make.ended(make.alert()), closed_at=None), "Resolved: GPUIdle, GPU 3 of node-1 on train-7b"),
        (make.view(make.alert(), alerts=()), "Warning: train-7b"),
        (make.view(make.ended(make.alert()), alerts=()), "Resolved after 10m: all alerts on train-7b"),
    ]
    for view, text in cases:
        assert headline(view) == text


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
        (Reason.CHANGED, "Details changed: "),
        (Reason.ALL_RESOLVED, "Resolved: "),
    ],
)
def test_every_reason_has_its_words(make: Any, reason: Reason, text: str) -> None:
    found = change(make.note(reason=reason), make.noon)
    assert found.what == text + "GPU 3 of train-7b has been idle for 20m"
    assert found.at == make.noon


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Reason.UNKNOWN, "Data lost, so this is not judged until data is back: "),
        (Reason.KNOWN, "Data is back: "),
        (Reason.MUTED, "Silenced: "),
        (Reason.UNMUTED, "No longer silenced, and still firing: "),
        (Reason.FLAPPING, "Flapping, so single changes are not said until it is steady: "),
        (Reason.STEADY, "Steady again, and firing: "),
    ],
)
def test_changes_beside_the_matter_name_the_rule(make: Any, reason: Reason, text: str) -> None:
    assert change(make.note(reason=reason), make.noon).what == text + "GPUIdle, GPU 3 of node-1"


def test_a_change_says_what_is_to_be_noted(make: Any) -> None:
    lost = make.view(make.alert(unknown=True))
    assert not change(make.note(lost, Reason.UNKNOWN), make.noon).what.endswith(")")
    assert change(make.note(lost, Reason.KNOWN), make.noon).what.endswith(" (data missing)")
    muted = make.view(make.alert(muted="silence by ana"))
    assert change(make.note(muted, Reason.MUTED), make.noon).what.endswith(" (silence by ana)")


def test_a_change_names_only_what_changed(make: Any) -> None:
    done = make.ended(make.alert("0"), "job completed")
    view = make.view(make.alert("1"), done)
    note = make.note(view, Reason.SOME_RESOLVED, changed=(done.fingerprint,))
    assert change(note, make.noon).what == "Some alerts closed because the job completed: GPUIdle, GPU 0 of node-1"


def test_a_change_of_nothing_known_names_the_subject(make: Any) -> None:
    assert change(make.note(changed=("gone",)), make.noon).what == "Warning: train-7b"


def test_a_change_of_many_rules_is_summed_up(make: Any) -> None:
    view = make.view(*(make.alert(name=f"Rule{n}", summary="") for n in range(6)))
    text = change(make.note(view, Reason.NEW_ALERTS), make.noon).what
    assert text.endswith("Rule3, GPU 3 of node-1 and 2 more")


def test_the_end_says_how_long_it_lasted(make: Any) -> None:
    found = change(make.resolved(end_reason="job completed"), make.noon + 600)
    assert found.what == "Closed after 30m because the job completed: GPUIdle, GPU 3 of node-1"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, ""), (119, ""), (120, ""), (121, "late by 2 min"), (720, "late by 12 min"), (3599, "late by 59 min"),
     (3600, "late by 1h"), (7500, "late by 2h 5m")],
)  # fmt: skip
def test_late_is_more_than_two_minutes(make: Any, seconds: float, text: str) -> None:
    assert lateness(make.note(), make.noon + seconds) == text


def test_the_sum_of_what_is_over(make: Any) -> None:
    over = make.view(make.ended(make.alert()))
    assert closing(over) == "In all: 30m, worst 0 %, 0.33 GPU-hours affected."
    assert closing(make.view()) == ""
    idle = make.view(make.ended(make.alert(waste=True), at=make.noon + 600))
    assert closing(idle) == "In all: 30m, worst 0 %, 0.5 GPU-hours wasted (about $1.25 at list price)."
    free = make.view(make.ended(make.alert(waste=True)), job=make.job(cost_usd_per_hour=None))
    assert closing(free) == "In all: 30m, worst 0 %, 0.33 GPU-hours wasted."
    assert closing(make.view(make.ended(make.alert(worst=None)), job=None)) == "In all: 30m."


def test_the_sum_of_several_rules_names_each(make: Any) -> None:
    hot = make.alert("0", name="GPUHot", expr="gpu_temperature_celsius > 85", worst=91.0)
    view = make.view(make.ended(make.alert()), make.ended(hot))
    assert "worst GPUIdle 0 %, GPUHot 91 °C" in closing(view)
