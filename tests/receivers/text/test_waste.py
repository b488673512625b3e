from typing import Any

import pytest

from watchdog.model import JobStatus, labels_of
from watchdog.receivers.text.waste import Waste, gpu_hours, wasted

HOUR = 3600.0


def test_only_rules_of_waste_have_a_sum(make: Any) -> None:
    idle = make.alert("0", waste=True, starts_at=make.noon)
    hot = make.alert("1", name="GPUHot", starts_at=make.noon)
    assert wasted(make.view(idle, hot), make.noon + HOUR) == Waste(1.0, 2.5, 2.5)
    assert wasted(make.view(hot), make.noon + HOUR) is None


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"cost_usd_per_hour": None}, Waste(1.0, None, None)),
        ({"cost_usd_per_hour": float("inf")}, Waste(1.0, None, None)),
        ({"gpus": None}, None),
        ({"gpus": 0}, None),
        ({"status": JobStatus.PENDING}, None),
        ({"status": JobStatus.STARTING}, None),
    ],
)
def test_what_is_not_known_or_not_billed_has_no_money(make: Any, changes: Any, found: Waste | None) -> None:
    idle = make.alert(waste=True, starts_at=make.noon)
    assert wasted(make.view(idle, job=make.job(**changes)), make.noon + HOUR) == found
    assert wasted(make.view(idle, job=None), make.noon + HOUR) is None


def test_time_that_two_rules_share_counts_once_for_a_gpu(make: Any) -> None:
    one = make.alert("0", starts_at=make.noon)
    other = make.alert("0", name="Held", starts_at=make.noon + HOUR, ends_at=make.noon + 3 * HOUR)
    assert gpu_hours([one, other], make.job(), make.noon + 2 * HOUR) == 3.0
    apart = make.alert("0", name="Held", starts_at=make.noon - 3 * HOUR, ends_at=make.noon - 2 * HOUR)
    assert gpu_hours([one, apart], make.job(), make.noon + 2 * HOUR) == 3.0


@pytest.mark.parametrize(
    ("labels", "job", "hours"),
    [
        ({"node": "n1", "gpu": "0"}, {"gpus": 16, "nodes": 2}, 1.0),
        ({"node": "n1"}, {"gpus": 16, "nodes": 2}, 8.0),
        ({"node": "n1"}, {"gpus": 8, "nodes": 1}, 8.0),
        ({"node": "n1"}, {"gpus": 8, "nodes": None}, None),
        ({"node": "n1"}, {"gpus": 8, "nodes": 3}, None),
        ({}, {"gpus": 16, "nodes": 2}, 16.0),
    ],
)
def test_an_alert_is_about_a_gpu_a_node_or_the_job(make: Any, labels: Any, job: Any, hours: float | None) -> None:
    alert = make.alert(labels=labels_of(labels), starts_at=make.noon)
    assert gpu_hours([alert], make.job(**job), make.noon + HOUR) == hours


def test_a_job_never_wastes_more_than_it_has(make: Any) -> None:
    whole = make.alert(labels=(), starts_at=make.noon)
    one = make.alert("0", starts_at=make.noon)
    assert gpu_hours([whole, one], make.job(), make.noon + HOUR) == 8.0
    view = make.view(*(make.alert(labels=(), waste=True, starts_at=make.noon), make.alert("0", waste=True)))
    found = wasted(view, make.noon)
    assert found is not None
    assert found.usd_per_hour == 20.0


def test_time_without_data_is_not_counted_and_adds_nothing(make: Any) -> None:
    lost = make.alert(waste=True, starts_at=make.noon, unknown=True, unknown_since=make.noon + HOUR)
    assert wasted(make.view(lost), make.noon + 9 * HOUR) == Waste(1.0, 2.5, None)


def test_a_clock_that_went_back_gives_no_negative_waste(make: Any) -> None:
    assert gpu_hours([make.alert(starts_at=make.noon)], make.job(), make.noon - HOUR) == 0.0


def test_where_the_gpus_of_a_node_are_not_known_there_is_no_sum(make: Any) -> None:
    alert = make.alert(waste=True, labels=labels_of({"node": "n1"}))
    assert wasted(make.view(alert, job=make.job(gpus=8, nodes=3)), make.noon) is None
