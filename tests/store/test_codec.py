from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchdog.errors import StoreError
from watchdog.model import (
    Alert,
    AlertView,
    Incident,
    IncidentView,
    Job,
    JobRecord,
    JobStatus,
    Notification,
    Reason,
    Receipt,
)
from watchdog.store import codec

CALM = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])


@CALM
@given(st.from_type(JobRecord))
def test_a_job_comes_back_as_it_was(record: JobRecord) -> None:
    assert repr(codec.JOB.decode(codec.encode(record))) == repr(record)


@CALM
@given(st.from_type(Alert))
def test_an_alert_comes_back_as_it_was(alert: Alert) -> None:
    """By repr, which tells NaN, the infinities, -0.0, 1 and 1.0 apart and calls two NaN equal."""
    assert repr(codec.ALERT.decode(codec.encode(alert))) == repr(alert)


@CALM
@given(st.from_type(Incident))
def test_an_incident_comes_back_as_it_was(incident: Incident) -> None:
    assert repr(codec.INCIDENT.decode(codec.encode(incident))) == repr(incident)


@CALM
@given(st.from_type(Notification))
def test_a_notification_comes_back_as_it_was(notification: Notification) -> None:
    assert repr(codec.NOTIFICATION.decode(codec.encode(notification))) == repr(notification)


@CALM
@given(st.dictionaries(st.text(), st.text()))
def test_a_receipt_comes_back_as_it_was(receipt: Receipt) -> None:
    assert codec.RECEIPT.decode(codec.encode(receipt)) == receipt


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, None, 0.0])
def test_no_value_turns_into_another_and_the_text_stays_json(value: float | None, alert: Callable[..., Alert]) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    text = codec.encode(alert("f", value=value))

    json.loads(text, parse_constant=refuse)
    assert repr(codec.ALERT.decode(text).value) == repr(value)


def test_half_a_character_of_a_provider_does_not_stop_the_store() -> None:
    record = JobRecord(Job("s", "p", "j", JobStatus.RUNNING, job_name="run \ud83d", cost_usd_per_hour=math.inf), 1.0)

    found = codec.JOB.decode(codec.encode(record))

    assert found.job.job_name == "run ?"
    assert found.job.cost_usd_per_hour == math.inf


def test_a_notification_of_an_older_version_can_still_be_read() -> None:
    """Its alerts lack what was added since; a missing mark is no mark."""
    shown = AlertView("f", "GPUIdle", "firing", "warning", (), "", "", "", 1.0, None, 0.0, 0.0, True, False, "", "",
                      waste=True, unknown_since=7.0)  # fmt: skip
    view = IncidentView("i", "{}", (), "firing", "warning", 1.0, None, (shown,), None)
    row = json.loads(codec.encode(Notification("n", "i", "r", 1, Reason.FIRST, True, 1.0, ("f",), view)))
    for name in ("waste", "unknown_since", "forecast", "held", "proves", "flips", "muted"):
        del row["view"]["alerts"][0][name]

    [found] = codec.NOTIFICATION.decode(json.dumps(row)).view.alerts

    assert (found.waste, found.unknown_since, found.unknown) == (False, None, True)


@pytest.mark.parametrize(
    ("body", "place"), [('{"secret":', "its text"), ('{"job": {"source": "secret"}}', "job.provider")]
)
def test_what_cannot_be_read_is_said_with_its_place_and_without_its_text(body: str, place: str) -> None:
    with pytest.raises(StoreError, match=place) as caught:
        codec.JOB.decode(body)
    assert "a job" in str(caught.value)
    assert "secret" not in str(caught.value)
