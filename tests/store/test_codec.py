from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchdog.errors import StoreError
from watchdog.model import Alert, Incident, Job, JobRecord, JobStatus, Notification, Receipt
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


@pytest.mark.parametrize(
    ("body", "place"), [('{"secret":', "its text"), ('{"job": {"source": "secret"}}', "job.provider")]
)
def test_what_cannot_be_read_is_said_with_its_place_and_without_its_text(body: str, place: str) -> None:
    with pytest.raises(StoreError, match=place) as caught:
        codec.JOB.decode(body)
    assert "a job" in str(caught.value)
    assert "secret" not in str(caught.value)
