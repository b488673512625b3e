"""What could not be written yet is kept as one change, however many ticks go by."""

from __future__ import annotations

from dataclasses import replace

from watchdog.model import Alert, AlertState, Changes, Job, JobRecord, JobStatus

A = Alert("A", "a", (), (), AlertState.FIRING, 0.0)
B = Alert("B", "b", (), (), AlertState.PENDING, 0.0)
JOB = JobRecord(Job("s", "p", "j", JobStatus.RUNNING), 0.0)


def test_of_what_changed_twice_the_later_form_is_kept() -> None:
    ended = replace(JOB, ended_at=5.0)
    first = Changes(1.0, jobs=(JOB,), alerts=(A, B), meta={"x": "1", "y": "1"})
    second = Changes(2.0, jobs=(ended,), alerts=(replace(A, value=2.0),), meta={"x": "2"})
    both = first.then(second)
    assert (both.at, both.jobs, both.alerts) == (2.0, (ended,), (replace(A, value=2.0), B))
    assert both.meta == {"x": "2", "y": "1"}


def test_what_was_forgotten_is_gone_unless_it_came_again() -> None:
    first = Changes(1.0, alerts=(A, B))
    gone = first.then(Changes(2.0, forgotten_alerts=("b",)))
    assert (gone.alerts, gone.forgotten_alerts) == ((A,), ("b",))
    again = gone.then(Changes(3.0, alerts=(replace(B, active_at=3.0),)))
    assert (again.alerts, again.forgotten_alerts) == ((A, replace(B, active_at=3.0)), ())


def test_many_ticks_are_no_more_than_one() -> None:
    kept = Changes(0.0)
    for number in range(1000):
        kept = kept.then(Changes(float(number), alerts=(replace(A, value=float(number)),)))
    assert kept.alerts == (replace(A, value=999.0),)
    assert Changes(0.0).then(Changes(1.0)).empty
