"""Which job is meant, and which series speak of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from watchdog.engine.explain import Subject, subjects
from watchdog.errors import UsageError
from watchdog.labels import LabelColumns, StringTable
from watchdog.model import JobRecord, JobStatus


def ids(world: Any, job: str | None) -> list[str | None]:
    return [one.record.job.job if one.record else None for one in subjects(world.engine, job)]


def test_a_job_is_named_by_its_id_or_its_name(world: Any) -> None:
    world.run(1, g0=0.9)
    assert ids(world, "j1") == ["j1"]
    assert ids(world, "sft") == ["j1"]
    assert ids(world, None) == [None]


def test_a_name_means_the_jobs_that_live(world: Any) -> None:
    for number, status in enumerate([JobStatus.FAILED, JobStatus.RUNNING, JobStatus.COMPLETED, JobStatus.RUNNING]):
        world.tick(world.reading({}, job=replace(world.job, job=f"j{number}")))
        world.tick(world.reading({}, job=replace(world.job, job=f"j{number}", status=status)))
    assert ids(world, "sft") == ["j1", "j3"]
    assert ids(world, "j0") == ["j0"]


def test_of_jobs_that_have_ended_the_last_is_meant(world: Any) -> None:
    for number in range(3):
        world.tick(world.reading({}, job=replace(world.job, job=f"j{number}")))
        world.tick(world.reading({}, job=replace(world.job, job=f"j{number}", status=JobStatus.FAILED)))
    assert ids(world, "sft") == ["j2"]


def test_no_such_job(world: Any) -> None:
    world.run(1, g0=0.9)
    with pytest.raises(UsageError) as caught:
        subjects(world.engine, "nobody")
    assert str(caught.value) == 'there is no job "nobody"; watched are: sft'


def test_no_such_job_among_many(world: Any) -> None:
    world.tick(*(world.reading({}, job=replace(world.job, job=f"j{n}", job_name=f"run{n}")) for n in range(9)))
    with pytest.raises(UsageError, match=r"watched are: run0, run1, run2, run3, run4, run5, run6, run7 and 1 more$"):
        subjects(world.engine, "nobody")


def test_no_job_is_known_while_its_source_is_down(world: Any) -> None:
    world.silent(1, error="HTTP 503")
    with pytest.raises(UsageError, match=r"no job is being watched \(source cloud is down\)$"):
        subjects(world.engine, "sft")


def test_series_of_others_are_left_out(world: Any) -> None:
    rows = [
        {"source": "cloud", "project": "p1", "job": "j1", "gpu": "0"},
        {"source": "cloud", "project": "p1", "job": "j2"},
        {"source": "other", "project": "p1", "job": "j1"},
        {"source": "cloud", "project": "p2"},
        {"source": "cloud", "project": "p1"},
        {"source": "cloud"},
        {},
    ]
    one = Subject.of(JobRecord(world.job, 0.0))
    wanted = [True, False, False, False, True, True, True]
    assert one.mask(LabelColumns.from_rows(StringTable(), rows)).tolist() == wanted
    assert [one.about(row) for row in rows] == wanted
    assert Subject().mask(LabelColumns.from_rows(StringTable(), rows)).tolist() == [True] * len(rows)


def test_labels_that_no_series_has_leave_all_out(world: Any) -> None:
    one = Subject.of(JobRecord(world.job, 0.0))
    assert one.mask(LabelColumns.from_rows(StringTable(), [{"job": "j9"}, {"gpu": "0"}])).tolist() == [False, True]


def test_names_of_series(world: Any) -> None:
    labels = {**dict(world.job.labels), "__name__": "x", "gpu": "0", "node": "n0", "status": "failed"}
    one = Subject.of(JobRecord(world.job, 0.0))
    assert one.name(labels) == "node=n0 gpu=0 status=failed"
    assert one.narrowed((("gpu", "0"), ("node", "n0"))).name(labels) == "status=failed"
    assert Subject().name(labels) == "job=sft node=n0 gpu=0 status=failed"
    assert Subject().name({"job": "j1"}) == "job=j1"
    assert Subject().name({"source": "cloud", "project": "p1", "project_name": "llama"}) == (
        "project_name=llama source=cloud"
    )
    assert Subject().name({}) == ""
