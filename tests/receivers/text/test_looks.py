from typing import Any

import pytest

from watchdog.receivers.text.looks import Look, is_over, last_ends, look


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
    ("reason", "text"),
    [
        ("job completed", "the job completed"),
        ("job failed", "the job failed"),
        ("stopped by its user", "its user stopped the job"),
        ("rule removed", "its rule was removed"),
        ("a reason of tomorrow", "a reason of tomorrow"),
    ],
)
def test_only_what_is_fine_again_is_resolved(make: Any, reason: str, text: str) -> None:
    view = make.view(make.ended(make.alert(), reason))
    assert look(view) is Look.ENDED
    assert is_over(view)
    assert last_ends(view) == [text]


def test_the_last_alert_says_how_an_incident_ended(make: Any) -> None:
    fine, closed = make.ended(make.alert("0")), make.ended(make.alert("1"), "job completed", make.noon + 60)
    assert look(make.view(fine, closed)) is Look.ENDED
    later = make.ended(make.alert("0"), at=make.noon + 120)
    assert look(make.view(later, closed)) is Look.RESOLVED
    together = make.ended(make.alert("0"), at=make.noon + 60)
    assert look(make.view(together, closed)) is Look.RESOLVED
